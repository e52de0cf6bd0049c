"""Events as links of a chain -> what in it is missing, moved, changed or cut off.

Each event holds the digest of the one before it. What events say, and how their digest is made, is
the business of those who write them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from nodulebench.core.errors import Problem, Problems

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
    last = max((one.place for one in links), default=0)
    if last < events:
        what = f"says that the log has {events} events, but it ends with {last}: it was cut off."
        return [Problem(where, what, RESTORE)]
    held = next((one for one in links if one.place == events), None)
    if held is None:
        missing = f"names event {events}, which is not there."
        return [Problem(where, missing)] if events else []
    if held.digest != digest:
        what = f"says that event {events} reads otherwise than {held.where}: one was changed."
        return [Problem(where, what, RESTORE)]
    return []
