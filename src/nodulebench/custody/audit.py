"""What was done with a sealed set, as events of its log <-> bytes.

Each event holds the digest of the bytes of the one before, and a code that only who can open the
vault can make; ``storage/event_log`` says what of the log was changed or cut off.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from nodulebench.core.text import shown
from nodulebench.custody import layout
from nodulebench.custody.roles import Role
from nodulebench.security.event_log.events import Fact as Fact
from nodulebench.security.event_log.events import FactEvent, shown_facts
from nodulebench.security.event_log.log import EventLog
from nodulebench.security.event_log.signers import Seal
from nodulebench.security.event_log.store import FolderStore

Step = Literal[
    "sealed",
    "look",
    "evaluated",
    "failed",
    "refused",
    "exported",
    "inspected",
    "viewed",
    "ran",
    "admitted",
    "rotated",
    "revoked",
    "rekeyed",
    "retired",
    "withdrawn",
    "compared",
    "reported",
]
STEPS: dict[Step, str] = {
    "sealed": "the set was sealed",
    "look": "a submission was admitted to scoring; counts against the budget",
    "evaluated": "a look gave a result, and feedback went out",
    "failed": "a look gave no result; it counts where failing told something of the set, but once",
    "refused": "somebody asked for what the policy does not allow",
    "exported": "the reference was written out in plain form",
    "inspected": "a kept result was opened",
    "viewed": "encrypted images were decrypted, case by case, for an algorithm",
    "ran": "images were given to an algorithm, case by case; nothing was scored",
    "admitted": "somebody got a key and roles",
    "rotated": "somebody's key was replaced by another",
    "revoked": "a key counts no more",
    "rekeyed": "everything was sealed anew under new data keys",
    "retired": "the use of the set ended",
    "withdrawn": "a patient was taken out of the set",
    "compared": "algorithms were compared from kept results",
    "reported": "a report was made from kept results",
}


class Event(FactEvent):
    """One thing that was done with a sealed set; the first follows from the signed manifest."""

    role: Role | None
    """None: the person had none that would allow it."""
    step: Step


def next_event(
    events: Sequence[Event],
    *,
    bundle: str,
    at: datetime,
    person: str,
    role: Role | None,
    step: Step,
    facts: dict[str, Fact],
    seal: Seal,
) -> Event:
    """The event that follows these; of names and words that are no text, what can be shown."""
    previous = events[-1].digest if events else bundle
    number, at = len(events) + 1, at.astimezone(UTC)
    event = Event(
        number=number,
        at=at,
        person=shown(person),
        role=role,
        step=step,
        facts=shown_facts(facts),
        previous=previous,
    )
    return event.model_copy(update={"code": seal.make(event.unsigned_bytes, event.person)})


def log_of(folder: Path, bundle: str, seal: Seal | None = None) -> EventLog[Event]:
    """The log of a sealed set.

    Args:
        folder: the sealed set.
        bundle: digest of its manifest.
        seal: makes and checks the codes of events; None: codes are not checked.
    """
    return EventLog(FolderStore(folder / layout.AUDIT), bundle, "the manifest", _parsed, seal)


def _parsed(content: bytes) -> Event | None:
    """What some bytes say, if they are byte for byte as it would be written."""
    try:
        found = Event.model_validate_json(content)
    except (ValidationError, UnicodeDecodeError):
        return None
    return found if found.to_bytes() == content else None
