"""Readers of a study: which places they classify in which order, and their calls as events."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, Self, get_args

from pydantic import Field, FiniteFloat, model_validator

from nodulebench.annotation.people import Name
from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import InputError
from nodulebench.security.event_log.events import LogEvent

Call = Literal["nodule", "small_nodule", "non_nodule"]
"""Nodule of at least 3 mm, nodule below 3 mm, false positive."""
CALLS: tuple[Call, ...] = get_args(Call)
SMALLEST_MM = 3.0
"""The smallest nodule that counts."""
Place = tuple[str, str]
"""Case and mark."""


class Study(ConfigModel):
    """Who classifies the places of a study, and how these are shown."""

    reader_ids: tuple[Name, ...] = Field(min_length=1)
    """Each classifies every place without knowing the calls of others."""
    seed: int = 0
    """Seed of the order of places; every reader has a different order."""
    patch_mm: float = Field(default=80.0, ge=20, le=400)
    """Width of the image that is shown around a place."""

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        if len(set(self.reader_ids)) < len(self.reader_ids):
            raise ValueError("a reader is named twice")
        return self


class CallEvent(LogEvent):
    """A reader's call of a place."""

    case_id: str
    mark_id: str
    call: Call
    diameter_mm: FiniteFloat | None = None
    seconds: FiniteFloat
    """The time it took."""

    @property
    def place(self) -> Place:
        return self.case_id, self.mark_id


def shuffled(study: Study, reader_id: str, places: Sequence[Place]) -> list[Place]:
    """The places in the order that a reader sees; it depends only on names and the seed."""

    def drawn(place: Place) -> bytes:
        text = "\0".join((str(study.seed), reader_id, *place))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

    return sorted(places, key=drawn)


def call_flaw(call: str, diameter_mm: float | None) -> str:
    """How a diameter contradicts a call; empty: it does not."""
    if call == "nodule" and diameter_mm is None:
        return "is not measured"
    is_small = diameter_mm is not None and diameter_mm < SMALLEST_MM
    if (call == "nodule" and is_small) or (
        call == "small_nodule" and diameter_mm is not None and not is_small
    ):
        return f"measures {diameter_mm:g} mm"
    return ""


def next_call(
    events: Sequence[CallEvent],
    root: str,
    reader_id: str,
    place: Place,
    call: Call,
    diameter_mm: float | None,
    seconds: float,
) -> CallEvent:
    """The event that follows a reader's calls so far.

    Raises:
        InputError: if the diameter contradicts the call, or the reader has called the place before.
    """
    where = f"case '{place[0]}' mark '{place[1]}'"
    flaw = call_flaw(call, diameter_mm)
    if flaw:
        remedy = f"A nodule measures at least {SMALLEST_MM:g} mm, a small nodule less."
        raise InputError.at(where, f"is called '{call}' and {flaw}.", remedy)
    if any(event.place == place for event in events):
        raise InputError.at(where, f"was called by '{reader_id}' before.", "A call is final.")
    return CallEvent(
        number=len(events) + 1,
        at=datetime.now(UTC),
        person=reader_id,
        previous=events[-1].digest if events else root,
        case_id=place[0],
        mark_id=place[1],
        call=call,
        diameter_mm=diameter_mm,
        seconds=round(seconds, 1),
    )
