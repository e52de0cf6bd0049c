"""Where the events of a log are kept: a small interface, and a folder behind it.

An event appears whole, and only if its number is free, so that two writers cannot take one number.
A store knows nothing of what events mean, nor whether they can be believed.
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
    """The bytes of one event, and where they lie."""

    where: str
    number: int
    content: bytes


class EventStore(Protocol):
    """Keeps the bytes of events by their numbers, and those of the head beside them."""

    def read(self, first: int = 1) -> list[Stored]:
        """The events from a number on, by number; none that was whole before is passed over."""
        ...

    def read_one(self, number: int) -> Stored | None:
        """One event; None: it is not there."""
        ...

    def append(self, number: int, content: bytes) -> bool:
        """Keep one more event; whether it was kept, or somebody else took its number."""
        ...

    def read_head(self) -> bytes | None:
        """What is kept as the head; None: nothing."""
        ...

    def write_head(self, content: bytes) -> None:
        """Keep a head in the place of an older one."""
        ...

    def where(self, number: int | None = None) -> str:
        """How messages name an event, or the head."""
        ...

    def strangers(self) -> list[str]:
        """What lies among the events and is none of the log."""
        ...


@dataclass(frozen=True, slots=True)
class FolderStore:
    """One file per event in a folder, which is created once and never written again."""

    folder: Path

    def read(self, first: int = 1) -> list[Stored]:
        """The events from a number on, by number."""
        found = list(self._in_turn(first))
        while True:
            after = first + len(found)
            beyond = [number for number in self._listed() if number > after]
            # numbers are taken in turn: one that is listed was written after those before it
            more = list(self._in_turn(after)) if beyond else []
            if not more:
                others = [self.read_one(number) for number in beyond]
                return [*found, *(other for other in others if other is not None)]
            found += more

    def read_one(self, number: int) -> Stored | None:
        """One event; None: its file is not there."""
        path = self._file(number)
        try:
            return Stored(str(path), number, path.read_bytes())
        except FileNotFoundError:
            return None

    def append(self, number: int, content: bytes) -> bool:
        """Keep one more event: its file appears whole, and only if its number is free."""
        return create_once(self._file(number), content)

    def read_head(self) -> bytes | None:
        """The bytes of the head's file; None: it is not there."""
        try:
            return (self.folder / HEAD).read_bytes()
        except FileNotFoundError:
            return None

    def write_head(self, content: bytes) -> None:
        """Put the head's file in the place of an older one, at once."""
        replace_whole(self.folder / HEAD, content)

    def where(self, number: int | None = None) -> str:
        """The file of an event, or of the head."""
        return str(self.folder / HEAD if number is None else self._file(number))

    def strangers(self) -> list[str]:
        """Files in the folder that are neither events nor the head."""
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
            found = self.read_one(number)
            if found is None:
                return
            yield found


def _number(path: Path) -> int | None:
    """The number of an event's file; None: it is no such file."""
    if not _EVENT.fullmatch(path.name):
        return None
    number = int(path.stem)
    return number if number and path.name == f"{number:08d}.json" else None
