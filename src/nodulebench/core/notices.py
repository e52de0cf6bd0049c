"""Notice: something to be told, as a code and its values; words are made where it is read.

Notices, remarks, reasons, methods and warnings travel so from where they arise to the door.
What a code says, in every language, stands in ``language/``; who may see which of its values is
decided there by its code, never by looking at a sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nodulebench.core.errors import UndefinedError
from nodulebench.core.json_types import JsonObject

AS_STATED = "as_stated"
"""The code of words that came from elsewhere, such as another program, and stay as they are."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A code and the values that its sentence names: numbers, names, lists, or other notices."""

    code: str
    """What is told; its sentences stand in ``language/``."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What the sentence names."""

    def __hash__(self) -> int:
        return hash((self.code, repr(sorted(self.values.items()))))

    def to_json(self) -> JsonObject:
        """The notice as it stands in a document."""
        return {"code": self.code, "values": {k: _as_json(v) for k, v in self.values.items()}}


def _as_json(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_as_json(one) for one in value]
    return value.to_json() if isinstance(value, Notice) else value


def stated_notice(text: str) -> Notice:
    """A sentence that came from elsewhere, as a notice."""
    return Notice(AS_STATED, {"text": text})


def read_notice(told: Any) -> Notice:
    """A notice, or one as a document holds it.

    Raises:
        ValueError: if it is neither.
    """
    if isinstance(told, Notice):
        return told
    if not is_notice(told):
        raise ValueError("not a code with values")
    return Notice(told["code"], {k: _from_json(v) for k, v in told["values"].items()})


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(one) for one in value]
    return read_notice(value) if is_notice(value) else value


def is_notice(told: Any) -> bool:
    """Whether a value of a document is a notice as JSON holds it."""
    return (
        isinstance(told, Mapping)
        and told.keys() == {"code", "values"}
        and isinstance(told["code"], str)
        and isinstance(told["values"], Mapping)
    )


def reason_of(error: UndefinedError) -> Notice:
    """Why a metric is undefined."""
    return Notice(error.code, error.values)
