"""TestProtocol and the published protocols -> two pages."""

import json
from typing import Any

from pydantic import BaseModel

from generate.markdown import allowed, code, docstring_body, fence, field_meanings, table
from nodulebench import TestProtocol, load_protocol
from nodulebench.core import protocol
from nodulebench.core.protocol import PROTOCOL_NAMES, protocol_text


def protocol_fields_page() -> str:
    """Every field of a protocol: what it means, what it may be, and its default."""
    schema = TestProtocol.model_json_schema()
    nested = [
        f"## {name}\n\n{fields_table(getattr(protocol, name), part)}"
        for name, part in schema["$defs"].items()
    ]
    return "\n\n".join(
        [
            "# Protocol fields",
            "A protocol is a TOML file. Every field that can change a number is here; a field "
            "that is not is refused, with its name. The digest of a protocol covers the "
            "effective values of all fields but `title` and `citation`.",
            "## TestProtocol",
            fields_table(TestProtocol, schema),
            *nested,
            "",
        ]
    )


def fields_table(model: type[BaseModel], schema: dict[str, Any]) -> str:
    """The fields of a model that people write: meaning, what is allowed, default."""
    meanings = field_meanings(model)
    required = schema.get("required", [])
    rows = [
        [
            code(name),
            meanings[name],
            allowed(part),
            "required" if name in required else _default(part),
        ]
        for name, part in schema["properties"].items()
    ]
    return f"{docstring_body(model)}\n\n{table(['field', 'meaning', 'allowed', 'default'], rows)}"


def _default(part: dict[str, Any]) -> str:
    value = part.get("default")
    if isinstance(value, dict):
        return "its defaults" if value else "none"
    return "none" if value is None else code(json.dumps(value))


def published_protocols_page() -> str:
    """Every published protocol: its source, its digest, its file."""
    return "\n\n".join(
        [
            "# Published protocols",
            "They come with the package and are never edited after release. Name one with "
            "`--protocol`, or copy its text into a file of your own and change it there. What a "
            "file does not say has the default of [the field](protocol-fields.md).",
            *(_published(name) for name in PROTOCOL_NAMES),
            "",
        ]
    )


def _published(name: str) -> str:
    protocol = load_protocol(name)
    text = protocol_text(name)
    return "\n\n".join(
        [
            f"## {name}",
            f"{protocol.title}. {protocol.citation}.",
            fence(text, "toml"),
            f"Digest: `{protocol.digest}`",
        ]
    )
