"""Notice: something to be told, as a code and its values; words are made where it is read.

Notices, remarks, reasons, methods and warnings travel so from where they arise to the door.
What a code says, in every language, stands in ``language/``; who may see which of its values is
decided there by its code, never by looking at a sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator

AS_TOLD = "as_told"
"""The code of words that came from outside (an older result, another program), kept as they are."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A code and the values that its sentence names: numbers, names, or lists of them."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.code, repr(sorted(self.values.items()))))

    def to_json(self) -> dict[str, Any]:
        """The notice as it stands in a document."""
        return {"code": self.code, "values": dict(self.values)}


def read_notice(told: Any) -> Notice:
    """A notice of a document; older documents have sentences instead."""
    if isinstance(told, str):
        return Notice(AS_TOLD, {"text": told})
    return Notice(told["code"], dict(told["values"]))


def _as_told(told: Any) -> Any:
    return read_notice(told) if isinstance(told, Mapping) else told


Told = Annotated[Any, BeforeValidator(_as_told)]
"""What a document tells: a notice, or the sentence of an older one."""
