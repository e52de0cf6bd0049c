"""EventLog: read numbered events from a store with every check, and append to them.

Each event holds the digest of the previous one and, if there is a signer, a code that proves who
wrote it. A head next to the events states how many there are, and a checkpoint states the same to
another person. An event appears whole, and only if its number is free, so that two writers cannot
take one number. A store does not know what events mean, or whether they can be trusted.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from nodulebench.core.errors import InputError, Problem, Problems, raise_problems
from nodulebench.io.atomic import LEFTOVER, create_once, replace_whole
from nodulebench.security.event_signers import EventSigner
from nodulebench.security.events import Checkpoint, Head, LogEvent, parsed

HEAD = "head.json"
_EVENT = re.compile(r"[0-9]{8,}\.json", re.ASCII)


@dataclass(frozen=True, slots=True)
class Stored:
    """The bytes of one event, and their location."""

    where: str
    number: int
    content: bytes


class EventStore(Protocol):
    """Stores the bytes of events by number, and the bytes of the head."""

    def read(self, first: int = 1) -> list[Stored]:
        """The events from a number on, sorted; includes all events that were complete before."""
        ...

    def read_event(self, number: int) -> Stored | None:
        """One event; None if it does not exist."""
        ...

    def append(self, number: int, content: bytes) -> bool:
        """Store an event; False if another writer took its number."""
        ...

    def read_head(self) -> bytes | None:
        """The stored head, or None."""
        ...

    def write_head(self, content: bytes) -> None:
        """Store a head and replace the older one."""
        ...

    def where(self, number: int | None = None) -> str:
        """The name of an event, or of the head, in messages."""
        ...

    def foreign_files(self) -> list[str]:
        """Files among the events that do not belong to the log."""
        ...


@dataclass(frozen=True, slots=True)
class FolderStore:
    """A folder with one file per event, which is created once and never changed."""

    folder: Path

    def read(self, first: int = 1) -> list[Stored]:
        events = list(self._in_turn(first))
        while True:
            after = first + len(events)
            beyond = [number for number in self._listed() if number > after]
            # numbers are taken in sequence: a listed event was written after all lower numbers
            more = list(self._in_turn(after)) if beyond else []
            if not more:
                others = [self.read_event(number) for number in beyond]
                return [*events, *(other for other in others if other is not None)]
            events += more

    def read_event(self, number: int) -> Stored | None:
        path = self._file(number)
        try:
            return Stored(str(path), number, path.read_bytes())
        except FileNotFoundError:
            return None

    def append(self, number: int, content: bytes) -> bool:
        return create_once(self._file(number), content)

    def read_head(self) -> bytes | None:
        try:
            return (self.folder / HEAD).read_bytes()
        except FileNotFoundError:
            return None

    def write_head(self, content: bytes) -> None:
        replace_whole(self.folder / HEAD, content)

    def where(self, number: int | None = None) -> str:
        return str(self.folder / HEAD if number is None else self._file(number))

    def foreign_files(self) -> list[str]:
        if not self.folder.is_dir():
            return []
        return [
            str(path)
            for path in sorted(self.folder.iterdir())
            if path.name != HEAD and _number(path) is None and not LEFTOVER.fullmatch(path.name)
        ]

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:08d}.json"

    def _listed(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        numbers = (_number(path) for path in self.folder.iterdir())
        return sorted(number for number in numbers if number is not None)

    def _in_turn(self, first: int) -> Iterator[Stored]:
        for number in count(first):
            stored = self.read_event(number)
            if stored is None:
                return
            yield stored


def _number(path: Path) -> int | None:
    if not _EVENT.fullmatch(path.name):
        return None
    number = int(path.stem)
    return number if number and path.name == f"{number:08d}.json" else None


RESTORE = "Restore the log from a copy."
CLOCKS_DIFFER = timedelta(minutes=5)
"""Largest backward step of the dates of successive events, because computers' clocks differ."""


@dataclass(frozen=True, slots=True)
class Link:
    """One event as a link of the chain."""

    where: str
    place: int
    """Its number in the store."""
    number: int
    previous: str
    """The digest of the previous event that it states."""
    digest: str | None
    """None if it cannot be read; its successor then cannot be checked."""
    wrong: str = ""
    at: datetime | None = None


def chain_problems(links: Iterable[Link], start: str, before: str, first: int = 1) -> list[Problem]:
    problems = Problems()
    previous: str | None = start
    expected = first
    for link in links:
        if link.place != expected:
            missing = f"{expected}" if link.place == expected + 1 else f"{expected} and more"
            problems.add(link.where, f"follows a gap: event {missing} does not exist.")
        what = link.wrong
        if not what and link.number != link.place:
            what = f"was changed: it states the number {link.number}."
        is_next = link.place == expected and previous is not None
        if not what and is_next and link.previous != previous:
            what = f"does not follow from {before}: one of the two was changed."
        if what:
            problems.add(link.where, what, RESTORE)
        previous, expected, before = link.digest, link.place + 1, link.where
    return problems


def date_problems(links: Iterable[Link]) -> list[Problem]:
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
                "Ask its author which clock was wrong.",
            )
        latest = link.at if latest is None else max(latest, link.at)
    return problems


def cut_off(events: int, digest: str, links: Sequence[Link], where: str) -> list[Problem]:
    last = max((link.place for link in links), default=0)
    if last < events:
        what = f"says that the log has {events} events, but it ends with {last}: it was cut off."
        return [Problem(where, what, RESTORE)]
    held = next((link for link in links if link.place == events), None)
    if held is None:
        missing = f"names event {events}, which does not exist."
        return [Problem(where, missing)] if events else []
    if held.digest != digest:
        what = f"states another digest of event {events} than {held.where}: one was changed."
        return [Problem(where, what, RESTORE)]
    return []


MOST_ATTEMPTS = 100


E = TypeVar("E", bound=LogEvent)


@dataclass(frozen=True, slots=True)
class LogCheck(Generic[E]):
    """The content of a log, and its problems."""

    events: list[E]
    links: list[Link]
    problems: list[Problem]
    """Changed, moved, removed or cut-off events: such a log cannot be trusted."""
    dates: list[Problem]
    """Dates that go backwards; they are reported although the chain is valid."""


@dataclass(frozen=True, slots=True)
class EventLog(Generic[E]):
    """The log of one project, set or site."""

    store: EventStore
    root: str
    """The predecessor of the first event: a digest of the log's subject."""
    root_name: str
    kind: type[E]
    signer: EventSigner | None = None
    """None if codes are neither made nor checked."""
    headed_from: int = 0
    """Smallest number of events of a log with a head."""

    def parse(self, content: bytes) -> E | None:
        return parsed(self.kind, content)

    def check(self) -> LogCheck[E]:
        # read the head before the events: a log that grew since is longer than its head
        head = self.store.read_head()
        read = [(stored, self.parse(stored.content)) for stored in self.store.read()]
        links = [self.link(stored, event) for stored, event in read]
        problems = chain_problems(links, self.root, self.root_name)
        problems += self.head_problems(head, links)
        events = [event for _, event in read if event is not None]
        return LogCheck(events, links, problems, date_problems(links))

    def read(self) -> list[E]:
        result = self.check()
        raise_problems(result.problems)
        return result.events

    def append(self, make: Callable[[list[E]], E]) -> E:
        """Append the event that ``make`` derives from the earlier ones, and update the head.

        ``make`` is called again if another writer was faster.
        """
        for _ in range(MOST_ATTEMPTS):
            events = self.read()
            event = make(events)
            if self.append_event(event):
                self.update_head(event)
                return event
        raise self.busy()

    def update_head(self, event: E) -> None:
        """State in the head that the log ends with an event, or with a later one."""
        number, digest = event.number, event.digest
        while True:  # other writers may append meanwhile, and the head must not stay behind
            self._write_head(number, digest, event.person)
            later = self.store.read(number + 1)
            if not later:
                return
            latest = self.parse(later[-1].content)
            if latest is None or later[-1].number != number + len(later):
                return  # the next reader of the log gets the problem
            number, digest = latest.number, latest.digest

    def busy(self) -> InputError:
        """The error if other writers are always faster."""
        return InputError.at(self.store.where(), "belongs to a log that is too busy to write to.")

    def append_event(self, event: E) -> bool:
        content = event.to_bytes()
        again = self.parse(content)
        if again is None or again.digest != event.digest:
            raise InputError.at(
                self.store.where(event.number),
                "was not written: its content could not be read again.",
                "Use names and texts without broken characters; the log is unchanged.",
            )
        if event.number == 1 and self.store.read_head() is None:
            self.write_head([], event.person)  # else an interruption looks like a lost head
        return self.store.append(event.number, content)

    def write_head(self, events: Sequence[E], person: str) -> None:
        digest = events[-1].digest if events else self.root
        self._write_head(len(events), digest, person)

    def _write_head(self, number: int, digest: str, person: str) -> None:
        head = Head(root=self.root, events=number, digest=digest, person=person)
        if self.signer is not None:
            code = self.signer.make(head.unsigned_bytes, person)
            head = head.model_copy(update={"code": code})
        self.store.write_head(head.to_bytes())

    def checkpoint(self, events: Sequence[E], at: datetime) -> Checkpoint:
        return Checkpoint(root=self.root, events=len(events), digest=events[-1].digest, at=at)

    def checkpoint_problems(
        self, content: bytes, links: Sequence[Link], where: str
    ) -> list[Problem]:
        checkpoint = parsed(Checkpoint, content)
        if checkpoint is None:
            return [Problem(where, "is not a checkpoint, or was changed.")]
        if checkpoint.root != self.root:
            return [Problem(where, f"belongs to another log than that of {self.root_name}.")]
        return cut_off(checkpoint.events, checkpoint.digest, links, where)

    def link(self, stored: Stored, event: E | None) -> Link:
        if event is None:
            what = "was changed: NoduleBench did not write it like this."
            return Link(stored.where, stored.number, stored.number, "", None, what)
        wrong = ""
        if self.signer is not None:
            wrong = self.signer.wrong(event.unsigned_bytes, event.code, event.person)
        return Link(
            stored.where, stored.number, event.number, event.previous, event.digest, wrong, event.at
        )

    def head_problems(self, content: bytes | None, links: Sequence[Link]) -> list[Problem]:
        """Check whether the head was changed, or the log was cut off before it.

        A log that is longer than its head was interrupted between two writes; nothing is lost.
        """
        where = self.store.where()
        if content is None and len(links) < self.headed_from:
            return []
        if content is None:
            return [Problem(where, "does not exist, so a cut-off log cannot be detected.")]
        head = parsed(Head, content)
        if head is None or (
            self.signer is not None
            and self.signer.wrong(head.unsigned_bytes, head.code, head.person)
        ):
            return [Problem(where, "was changed: NoduleBench did not write it like this.")]
        if head.root != self.root:
            return [Problem(where, f"belongs to another log than that of {self.root_name}.")]
        return cut_off(head.events, head.digest, links, where)
