"""Notice: a message as a code and its values; the text is made in the user interface.

Notices, remarks, reasons, methods and warnings travel in this form to the user interface.
The text of a code, in every language, is in ``i18n``; who may see which of its values is
decided there by its code, never by looking at a sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nodulebench.core.errors import UndefinedError
from nodulebench.core.json_types import JsonObject, JsonValue

AS_STATED = "as_stated"
"""The code of words that came from elsewhere, such as another program, and stay as they are."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A code and the values that its sentence names: numbers, names, lists, or other notices."""

    code: str
    """The message code; its texts are in ``i18n``."""
    values: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the sentence names."""

    def __hash__(self) -> int:
        return hash((self.code, repr(sorted(self.values.items()))))

    def to_json(self) -> JsonObject:
        return {"code": self.code, "values": {k: _as_json(v) for k, v in self.values.items()}}


def _as_json(value: JsonValue) -> JsonValue:
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return value.to_json() if isinstance(value, Notice) else value


def stated_notice(text: str) -> Notice:
    """A sentence that came from elsewhere, as a notice."""
    return Notice(AS_STATED, {"text": text})


def read_notice(value: JsonValue) -> Notice:
    """A notice, or one as a document holds it."""
    if isinstance(value, Notice):
        return value
    if not is_notice(value):
        raise ValueError("not a code with values")
    return Notice(value["code"], {k: _from_json(v) for k, v in value["values"].items()})


def _from_json(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    return read_notice(value) if is_notice(value) else value


def is_notice(value: JsonValue) -> bool:
    """Whether a value of a document is a notice as JSON holds it."""
    return (
        isinstance(value, Mapping)
        and value.keys() == {"code", "values"}
        and isinstance(value["code"], str)
        and isinstance(value["values"], Mapping)
    )


def reason_of(error: UndefinedError) -> Notice:
    """Why a metric is undefined."""
    return Notice(error.code, error.values)
