"""Events, head and anchor of the audit log <-> bytes; bytes -> what in them was changed or cut off.

Each event holds the digest of the bytes of the one before, and a code that only who can open the
vault can make. The head beside the log says how many events there are and how the last reads, so
that a log cut off at its end is found. Head and log could both be put back to an older state, and
that is found by an anchor: the same statement, kept by somebody else.
"""

import hmac
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AwareDatetime, Field, ValidationError

from nodulebench.custody.roles import Role
from nodulebench.errors import Problem
from nodulebench.model.written import Written
from nodulebench.storage.digest import bytes_digest
from nodulebench.storage.event_log import RESTORE, Link, Stored, chain_problems
from nodulebench.storage.file_names import shown

Step = Literal["sealed", "look", "evaluated", "failed", "refused", "exported", "inspected"]
STEPS: dict[Step, str] = {
    "sealed": "the set was sealed",
    "look": "a submission was admitted to scoring; counts against the budget",
    "evaluated": "a look gave a result, and feedback went out",
    "failed": "a look gave no result, because the submission cannot be read; it does not count",
    "refused": "somebody asked for what the policy does not allow",
    "exported": "the reference was written out in plain form",
    "inspected": "a kept result was opened",
}
Fact = str | int | float | bool | None
Authenticate = Callable[[bytes], str]
"""Makes the code of some bytes, as ``Vault.authenticator`` does."""


class Event(Written):
    """One thing that was done with a sealed set."""

    number: Annotated[int, Field(ge=1)]
    at: AwareDatetime
    person: str
    role: Role | None
    """None: the person had none that would allow it."""
    step: Step
    facts: dict[str, Fact]
    previous: str
    """Digest of the event before; for the first, of the signed manifest."""
    code: str = ""

    def to_bytes(self) -> bytes:
        """The event as it stands on the disk."""
        return _canonical(self.model_dump(mode="json"))

    @property
    def unsigned_bytes(self) -> bytes:
        """What the code is made of."""
        return _canonical(self.model_dump(mode="json", exclude={"code"}))


class Head(Written):
    """How many events a log has, and the digest of the last."""

    schema_name: Literal["nodulebench/audit-head@1"] = "nodulebench/audit-head@1"
    events: Annotated[int, Field(ge=1)]
    digest: str
    code: str = ""
    check: str = ""
    """Digest of the rest: tells a damaged head to those, too, who cannot check the code."""

    def to_bytes(self) -> bytes:
        """The head as it stands on the disk."""
        content = self.model_dump(mode="json", exclude={"check"})
        return _canonical({**content, "check": bytes_digest(_canonical(content))})

    @property
    def unsigned_bytes(self) -> bytes:
        """What the code is made of."""
        return _canonical(self.model_dump(mode="json", exclude={"code", "check"}))


class Anchor(Written):
    """What a log looked like at a time, for somebody else to keep."""

    schema_name: Literal["nodulebench/anchor@1"] = "nodulebench/anchor@1"
    bundle: str
    """Digest of the sealed set's manifest."""
    events: Annotated[int, Field(ge=1)]
    digest: str
    at: AwareDatetime

    def to_bytes(self) -> bytes:
        """The anchor as it stands on the disk."""
        return _canonical(self.model_dump(mode="json"))


def next_event(
    events: Sequence[Event],
    *,
    bundle: str,
    at: datetime,
    person: str,
    role: Role | None,
    step: Step,
    facts: dict[str, Fact],
    authenticate: Authenticate,
) -> Event:
    """The event that follows these; of names and words that are no text, what can be shown."""
    previous = bytes_digest(events[-1].to_bytes()) if events else bundle
    number, at = len(events) + 1, at.astimezone(UTC)
    told = {
        shown(name): shown(fact) if isinstance(fact, str) else fact for name, fact in facts.items()
    }
    event = Event(
        number=number,
        at=at,
        person=shown(person),
        role=role,
        step=step,
        facts=told,
        previous=previous,
    )
    return event.model_copy(update={"code": authenticate(event.unsigned_bytes)})


def is_readable(content: bytes) -> bool:
    """Whether some bytes are an event as it is written."""
    return _parsed(Event, content) is not None


def head_of(events: Sequence[Event], authenticate: Authenticate) -> Head:
    """The head of a log that ends with the last of these."""
    head = Head(events=len(events), digest=bytes_digest(events[-1].to_bytes()))
    return head.model_copy(update={"code": authenticate(head.unsigned_bytes)})


def anchor_of(events: Sequence[Event], bundle: str, at: datetime) -> Anchor:
    """An anchor for a log that ends with the last of these."""
    return Anchor(
        bundle=bundle, events=len(events), digest=bytes_digest(events[-1].to_bytes()), at=at
    )


def read_events(
    stored: Sequence[Stored], bundle: str, authenticate: Authenticate | None = None
) -> tuple[list[Event], list[Problem]]:
    """The events that are as they were written, and what is wrong with the others.

    Args:
        stored: the log, first to last.
        bundle: digest of the manifest that the log belongs to.
        authenticate: makes the code of an event; None: codes are not checked.
    """
    parsed = [(one, _parsed(Event, one.content)) for one in stored]
    links = [
        Link(
            one.where,
            one.number,
            one.number if event is None else event.number,
            "" if event is None else event.previous,
            bytes_digest(one.content),
            _wrong_with(event, authenticate),
        )
        for one, event in parsed
    ]
    found = [event for _, event in parsed if event is not None]
    return found, chain_problems(links, bundle, "the manifest")


def head_problems(
    content: bytes | None,
    stored: Sequence[Stored],
    where: str,
    authenticate: Authenticate | None = None,
) -> list[Problem]:
    """Whether the head was changed, and whether the log was cut off behind it.

    A log that is longer than its head was interrupted between two writes; nothing of it is lost.
    """
    if content is None:
        return [Problem(where, "is not there, so a cut-off log cannot be told.")]
    head = _parsed(Head, content)
    if head is None or (
        authenticate is not None
        and not hmac.compare_digest(head.code, authenticate(head.unsigned_bytes))
    ):
        return [Problem(where, "was changed: it is not as NoduleBench wrote it.")]
    return _cut_off(head.events, head.digest, stored, where)


def anchor_problems(
    content: bytes, bundle: str, stored: Sequence[Stored], where: str
) -> list[Problem]:
    """Whether a log still holds what it held when an anchor was made."""
    anchor = _parsed(Anchor, content)
    if anchor is None:
        return [Problem(where, "is no anchor, or was changed.")]
    if anchor.bundle != bundle:
        return [Problem(where, "belongs to another sealed set.")]
    return _cut_off(anchor.events, anchor.digest, stored, where)


def _cut_off(events: int, digest: str, stored: Sequence[Stored], where: str) -> list[Problem]:
    last = max((one.number for one in stored), default=0)
    if last < events:
        what = f"says that the log has {events} events, but it ends with {last}: it was cut off."
        return [Problem(where, what, RESTORE)]
    held = next((one for one in stored if one.number == events), None)
    if held is None:
        return [Problem(where, f"names event {events}, which is not there.")]
    if bytes_digest(held.content) != digest:
        what = f"says that event {events} reads otherwise than {held.where}: one was changed."
        return [Problem(where, what, RESTORE)]
    return []


def _wrong_with(event: Event | None, authenticate: Authenticate | None) -> str:
    if event is None:
        return "was changed: it is not as NoduleBench writes it."
    if authenticate is not None and not hmac.compare_digest(
        event.code, authenticate(event.unsigned_bytes)
    ):
        return "was changed, or was not written by somebody who can open the vault."
    return ""


Kind = TypeVar("Kind", Event, Head, Anchor)


def _parsed(kind: type[Kind], content: bytes) -> Kind | None:
    """What some bytes say, if they are byte for byte as it would be written."""
    try:
        found = kind.model_validate_json(content)
    except (ValidationError, UnicodeDecodeError):
        return None
    return found if found.to_bytes() == content else None


def _canonical(value: Any) -> bytes:
    return (json.dumps(value, sort_keys=True, allow_nan=False) + "\n").encode()
