"""A folder <-> a log of numbered events, one file each, in a chain that shows every change.

A file appears whole, and only if its number is free, so two writers cannot take one number; and
only if it can be read again, since one that cannot would pass for a changed one ever after. Each
event holds the digest of the one before it. What events say, and how their digest is made, is the
business of those who write them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from nodulebench.errors import InputError, Problem, Problems
from nodulebench.storage.durable import create_once

RESTORE = "Restore the log from a copy."


@dataclass(frozen=True, slots=True)
class Stored:
    """The bytes of one event, and where they lie."""

    where: str
    number: int
    content: bytes


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
    digest: str
    wrong: str = ""
    """What is wrong with it already by itself."""


def event_file(folder: Path, number: int) -> Path:
    """Where an event lies."""
    return folder / f"{number:08d}.json"


def append_event(
    folder: Path, number: int, content: bytes, is_readable: Callable[[bytes], bool]
) -> bool:
    """Keep one more event; whether it was kept, or somebody else took its number.

    Raises:
        InputError: if who reads the log could not read the event; nothing is written.
    """
    path = event_file(folder, number)
    if not is_readable(content):
        raise InputError.at(
            path,
            "was not written: what it should say could not be read again.",
            "Give names and texts without broken characters; the log is as it was.",
        )
    return create_once(path, content)


def stored_events(folder: Path) -> list[Stored]:
    """The bytes of all events, by number."""
    found = sorted(path for path in folder.glob("[0-9]*.json") if path.stem.isdigit())
    return [Stored(str(path), int(path.stem), path.read_bytes()) for path in found]


def events_in_turn(folder: Path) -> Iterator[Stored]:
    """The bytes of the events until one is missing.

    Unlike a listing of the folder this never passes over an event that is just being written.
    """
    for number in count(1):
        path = event_file(folder, number)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return
        yield Stored(str(path), number, content)


def chain_problems(links: Iterable[Link], start: str, before: str) -> list[Problem]:
    """What is missing, moved or changed in a log.

    Args:
        links: the events, first to last.
        start: what the first event holds as the digest of the one before.
        before: what that is, in words.
    """
    problems = Problems()
    previous, expected = start, 1
    for link in links:
        if link.place != expected:
            missing = f"{expected}" if link.place == expected + 1 else f"{expected} and more"
            problems.add(link.where, f"follows a gap: event {missing} is not there.")
        what = link.wrong
        if not what and link.number != link.place:
            what = f"was changed: it says that it is event {link.number}."
        if not what and link.place == expected and link.previous != previous:
            what = f"does not follow from {before}: one of the two was changed."
        if what:
            problems.add(link.where, what, RESTORE)
        previous, expected, before = link.digest, link.place + 1, link.where
    return problems
