"""Events: who did what and when, in a chain in which nothing can be changed unnoticed."""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import AwareDatetime

from nodulebench.annotate.people import Name
from nodulebench.errors import InputError, Problem
from nodulebench.model.written import Written


class Event(Written):
    """One step of the workflow as it happened."""

    number: int
    """1, 2, 3, ..."""
    at: AwareDatetime
    actor_id: Name
    step: str
    batch_id: Name
    case_id: str | None = None
    change: str
    """What changed, in words."""
    payload: dict[str, Any]
    """What was given, in full."""
    payload_digest: str
    previous: str
    """Digest of the event before; empty for the first."""

    @property
    def digest(self) -> str:
        """SHA-256 of all that the event says."""
        return json_digest(self.model_dump(mode="json"))


def json_digest(value: Any) -> str:
    """SHA-256 of a JSON value: keys in order, no spaces."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def next_event(
    events: Sequence[Event],
    *,
    at: datetime,
    actor_id: str,
    step: str,
    batch_id: str,
    case_id: str | None,
    change: str,
    payload: dict[str, Any],
) -> Event:
    """The event that follows these."""
    return Event(
        number=len(events) + 1,
        at=at,
        actor_id=actor_id,
        step=step,
        batch_id=batch_id,
        case_id=case_id,
        change=change,
        payload=payload,
        payload_digest=json_digest(payload),
        previous=events[-1].digest if events else "",
    )


def check_chain(events: Sequence[Event], source: str) -> None:
    """Refuse a log in which an event is missing, moved or changed.

    Raises:
        InputError: naming the first event that does not follow from those before.
    """
    previous = ""
    for number, event in enumerate(events, start=1):
        what = ""
        if event.number != number:
            what = f"has the number {event.number}."
        elif event.payload_digest != json_digest(event.payload):
            what = "was changed: its payload has another digest."
        elif event.previous != previous:
            what = "does not follow from the event before it."
        if what:
            raise InputError(
                Problem(f"{source} event {number}", what, "Restore the log from a copy.")
            )
        previous = event.digest
