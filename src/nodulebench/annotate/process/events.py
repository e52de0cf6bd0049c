"""Events: who did what and when, in a chain in which nothing can be changed unnoticed."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from pydantic import AwareDatetime

from nodulebench.annotate.people import Name
from nodulebench.errors import refuse_any
from nodulebench.model.written import Written
from nodulebench.storage.event_log.chain import Link, chain_problems


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


def check_chain(events: Sequence[Event], places: Sequence[tuple[str, int]] = ()) -> None:
    """Refuse a log in which an event is missing, moved or changed.

    Args:
        events: the log, first to last.
        places: where each event lies, and its number there; none: one after the other.

    Raises:
        InputError: naming the events that do not follow from those before.
    """
    where = places or [(f"event {number}", number) for number in range(1, len(events) + 1)]
    links = [
        Link(
            name,
            number,
            event.number,
            event.previous,
            event.digest,
            ""
            if event.payload_digest == json_digest(event.payload)
            else "was changed: its payload has another digest.",
        )
        for event, (name, number) in zip(events, where, strict=True)
    ]
    refuse_any(chain_problems(links, "", "the beginning"))
