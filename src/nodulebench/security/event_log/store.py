"""Stores of events: a small interface, and its implementation in a folder.

An event appears whole, and only if its number is free, so that two writers cannot take one number.
A store does not know what events mean, or whether they can be trusted.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Protocol

from nodulebench.io.atomic import LEFTOVER, create_once, replace_whole

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
        """The events from a number on until one is missing."""
        for number in count(first):
            stored = self.read_event(number)
            if stored is None:
                return
            yield stored


def _number(path: Path) -> int | None:
    """The number of an event's file; None if it is not such a file."""
    if not _EVENT.fullmatch(path.name):
        return None
    number = int(path.stem)
    return number if number and path.name == f"{number:08d}.json" else None
