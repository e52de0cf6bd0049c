"""Types of parsed JSON and TOML."""

from typing import Any, TypeAlias

JsonValue: TypeAlias = Any
"""A value of a JSON or TOML document before its schema has been checked."""
JsonObject: TypeAlias = dict[str, JsonValue]
"""An object of a JSON or TOML document before its schema has been checked."""
