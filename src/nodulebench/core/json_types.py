"""Types of parsed JSON and TOML, and the digest of a JSON value."""

import hashlib
import json
from typing import Any, TypeAlias

JsonValue: TypeAlias = Any
"""A value of a JSON or TOML document before its schema has been checked."""
JsonObject: TypeAlias = dict[str, JsonValue]
"""An object of a JSON or TOML document before its schema has been checked."""


def json_digest(value: JsonValue) -> str:
    """SHA-256 of a JSON value; the order of keys does not count."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
