"""EventLog: the events of a store, read with every check, and written one after another.

Each event holds the digest of the one before and, where there is a seal, a code that says who wrote
it. A head beside the events says how far they go, and a checkpoint says the same to somebody else.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from nodulebench.core.errors import InputError, Problem, Problems, raise_problems
from nodulebench.security.event_log.events import Checkpoint, Head, parsed
from nodulebench.security.event_log.signers import Seal
from nodulebench.security.event_log.store import EventStore, Stored

RESTORE = "Restore the log from a copy."
CLOCKS_DIFFER = timedelta(minutes=5)
"""How far an event may be dated before the one that it follows: two computers, two clocks."""


@dataclass(frozen=True, slots=True)
class Link:
    """One event as the chain sees it."""

    where: str
    place: int
    """Its number by the place where it lies."""
    number: int
    """Its number as it says itself."""
    previous: str
    """Digest of the event before, as it says."""
    digest: str | None
    """None: it cannot be read, and nothing can be said of what follows it."""
    wrong: str = ""
    """What is wrong with it already by itself."""
    at: datetime | None = None
    """When it happened, as it says."""


def chain_problems(links: Iterable[Link], start: str, before: str, first: int = 1) -> list[Problem]:
    """What is missing, moved or changed in a log.

    Args:
        links: the events, first to last.
        start: what the first event holds as the digest of the one before.
        before: what that is, in words.
        first: the number of the first event.
    """
    problems = Problems()
    previous: str | None = start
    expected = first
    for link in links:
        if link.place != expected:
            missing = f"{expected}" if link.place == expected + 1 else f"{expected} and more"
            problems.add(link.where, f"follows a gap: event {missing} is not there.")
        what = link.wrong
        if not what and link.number != link.place:
            what = f"was changed: it says that it is event {link.number}."
        is_next = link.place == expected and previous is not None
        if not what and is_next and link.previous != previous:
            what = f"does not follow from {before}: one of the two was changed."
        if what:
            problems.add(link.where, what, RESTORE)
        previous, expected, before = link.digest, link.place + 1, link.where
    return problems


def date_problems(links: Iterable[Link]) -> list[Problem]:
    """Events that are dated before one that they follow, by more than clocks may differ."""
    problems = Problems()
    latest: datetime | None = None
    for link in links:
        if link.at is None:
            continue
        if latest is not None and link.at < latest - CLOCKS_DIFFER:
            problems.add(
                link.where,
                f"is dated {link.at:%Y-%m-%d %H:%M:%S}, before an event that it follows "
                f"({latest:%Y-%m-%d %H:%M:%S}).",
                "Ask who wrote it which clock was wrong.",
            )
        latest = link.at if latest is None else max(latest, link.at)
    return problems


def cut_off(events: int, digest: str, links: Sequence[Link], where: str) -> list[Problem]:
    """Whether a log still holds what somebody says of it.

    Args:
        events: how many events it shall have, at least.
        digest: of the last of these.
        links: the log, first to last.
        where: who says it.
    """
    last = max((link.place for link in links), default=0)
    if last < events:
        what = f"says that the log has {events} events, but it ends with {last}: it was cut off."
        return [Problem(where, what, RESTORE)]
    held = next((link for link in links if link.place == events), None)
    if held is None:
        missing = f"names event {events}, which is not there."
        return [Problem(where, missing)] if events else []
    if held.digest != digest:
        what = f"says that event {events} reads otherwise than {held.where}: one was changed."
        return [Problem(where, what, RESTORE)]
    return []


MOST_ATTEMPTS = 100


class Chained(Protocol):
    """An event as a log needs it."""

    @property
    def number(self) -> int: ...
    @property
    def at(self) -> datetime: ...
    @property
    def person(self) -> str: ...
    @property
    def previous(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def digest(self) -> str:
        """What the next event holds as the digest of this one."""
        ...

    @property
    def unsigned_bytes(self) -> bytes:
        """What the code is made of."""
        ...

    def to_bytes(self) -> bytes:
        """The event as it is kept."""
        ...


E = TypeVar("E", bound=Chained)


@dataclass(frozen=True, slots=True)
class LogCheck(Generic[E]):
    """What a log holds, and what is wrong with it."""

    events: list[E]
    """Those that can be read."""
    links: list[Link]
    problems: list[Problem]
    """What was changed, moved, taken away or cut off: such a log is not to be believed."""
    dates: list[Problem]
    """Dates that go backwards: to be told, though the chain holds."""


@dataclass(frozen=True, slots=True)
class EventLog(Generic[E]):
    """The log of one thing."""

    store: EventStore
    root: str
    """What the first event follows from: a digest of what the log is about."""
    root_name: str
    """That, in words."""
    parse: Callable[[bytes], E | None]
    """An event from its bytes; None: they are none, or not as they would be written."""
    seal: Seal | None = None
    """None: codes are neither made nor checked."""
    headed_from: int = 0
    """How many events a log has at least that has a head."""
    flaw: Callable[[E], str] = lambda _: ""
    """What is wrong with an event by itself."""

    def check(self) -> LogCheck[E]:
        """All events, and everything that is wrong."""
        # the head before the events: a log that grew since is longer than its head, never shorter
        head = self.store.read_head()
        read = [(one, self.parse(one.content)) for one in self.store.read()]
        links = [self.link(one, event) for one, event in read]
        problems = chain_problems(links, self.root, self.root_name)
        problems += self.head_problems(head, links)
        events = [event for _, event in read if event is not None]
        return LogCheck(events, links, problems, date_problems(links))

    def read(self) -> list[E]:
        """All events.

        Raises:
            InputError: if anything was changed or cut off.
        """
        found = self.check()
        raise_problems(found.problems)
        return found.events

    def append(self, make: Callable[[list[E]], E]) -> E:
        """Write one more event, and say in the head how far the log goes now.

        Args:
            make: the event that follows those so far; asked again where somebody else wrote
                meanwhile.

        Raises:
            InputError: if the log was tampered with, or the event could not be read again.
        """
        for _ in range(MOST_ATTEMPTS):
            events = self.read()
            event = make(events)
            if self.append_event(event):
                self.tell_head(event)
                return event
        raise self.busy()

    def tell_head(self, event: E) -> None:
        """Say in the head that the log ends with an event, or with one that came meanwhile."""
        number, digest = event.number, event.digest
        while True:  # somebody else may write, too: the head is not to stay behind
            self._write_head(number, digest, event.person)
            later = self.store.read(number + 1)
            if not later:
                return
            found = self.parse(later[-1].content)
            if found is None or later[-1].number != number + len(later):
                return  # the next who reads the log is told
            number, digest = found.number, found.digest

    def busy(self) -> InputError:
        """What is told where others are always faster."""
        return InputError.at(self.store.where(), "stands by a log that is too busy to write to.")

    def append_event(self, event: E) -> bool:
        """Keep one more event; whether it was kept, or somebody else took its number.

        Raises:
            InputError: if the event could not be read again; nothing is written.
        """
        content = event.to_bytes()
        again = self.parse(content)
        if again is None or again.digest != event.digest:
            raise InputError.at(
                self.store.where(event.number),
                "was not written: what it should say could not be read again.",
                "Give names and texts without broken characters; the log is as it was.",
            )
        if event.number == 1 and self.store.read_head() is None:
            self.write_head([], event.person)  # else an interrupted log looks like one that lost it
        return self.store.append(event.number, content)

    def write_head(self, events: Sequence[E], person: str) -> None:
        """Say beside the log that it ends with the last of these."""
        digest = events[-1].digest if events else self.root
        self._write_head(len(events), digest, person)

    def _write_head(self, number: int, digest: str, person: str) -> None:
        head = Head(root=self.root, events=number, digest=digest, person=person)
        if self.seal is not None:
            code = self.seal.make(head.unsigned_bytes, person)
            head = head.model_copy(update={"code": code})
        self.store.write_head(head.to_bytes())

    def checkpoint(self, events: Sequence[E], at: datetime) -> Checkpoint:
        """What to keep elsewhere of a log that ends with the last of these."""
        return Checkpoint(root=self.root, events=len(events), digest=events[-1].digest, at=at)

    def checkpoint_problems(
        self, content: bytes, links: Sequence[Link], where: str
    ) -> list[Problem]:
        """Whether the log still holds what it held when a checkpoint was made."""
        checkpoint = parsed(Checkpoint, content)
        if checkpoint is None:
            return [Problem(where, "is no checkpoint, or was changed.")]
        if checkpoint.root != self.root:
            return [Problem(where, f"belongs to another log than that of {self.root_name}.")]
        return cut_off(checkpoint.events, checkpoint.digest, links, where)

    def link(self, stored: Stored, event: E | None) -> Link:
        """An event as the chain sees it; None: it cannot be read."""
        if event is None:
            what = "was changed: it is not as NoduleBench writes it."
            return Link(stored.where, stored.number, stored.number, "", None, what)
        wrong = self.flaw(event)
        if not wrong and self.seal is not None:
            wrong = self.seal.wrong(event.unsigned_bytes, event.code, event.person)
        return Link(
            stored.where,
            stored.number,
            event.number,
            event.previous,
            event.digest,
            wrong,
            event.at,
        )

    def head_problems(self, content: bytes | None, links: Sequence[Link]) -> list[Problem]:
        """Whether the head was changed, and whether the log was cut off behind it.

        A log that is longer than its head was interrupted between two writes; nothing is lost.
        """
        where = self.store.where()
        if content is None and len(links) < self.headed_from:
            return []
        if content is None:
            return [Problem(where, "is not there, so a cut-off log cannot be told.")]
        head = parsed(Head, content)
        if head is None or (
            self.seal is not None and self.seal.wrong(head.unsigned_bytes, head.code, head.person)
        ):
            return [Problem(where, "was changed: it is not as NoduleBench wrote it.")]
        if head.root != self.root:
            return [Problem(where, f"belongs to another log than that of {self.root_name}.")]
        return cut_off(head.events, head.digest, links, where)
