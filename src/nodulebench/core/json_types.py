"""Types of parsed JSON and TOML."""

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""An object of a JSON or TOML document before its schema has been checked."""
