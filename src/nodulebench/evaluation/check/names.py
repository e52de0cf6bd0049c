"""Names of cases that are in no test set -> those that they nearly are."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nodulebench.io.case_names import case_of_image

_SIGNS = re.compile(r"[\W_]+")


def _file(name: str) -> str:
    return case_of_image(name.strip().strip("\"'")).removesuffix(".0")


def _letters(name: str) -> str:
    return _file(name).lower()


def _signs(name: str) -> str:
    return _SIGNS.sub("", _letters(name))


WAYS: dict[str, Callable[[str], str]] = {"file": _file, "letters": _letters, "signs": _signs}
"""What is left aside: folders and endings of files; large and small letters too; and all signs."""


@dataclass(frozen=True, slots=True)
class NearNames:
    """Names that are those of cases but for something."""

    way: str
    """What has to be left aside."""
    known: dict[str, str]
    """Name as given -> name of the case."""


def near_names(given: Iterable[str], known: Iterable[str]) -> NearNames | None:
    """Which names are those of cases when as little as possible is left aside; None: none is.

    Two cases that become one by this are no case.
    """
    unknown, cases = list(given), list(known)
    best: NearNames | None = None
    for way, simple in WAYS.items():
        of_simple: dict[str, str | None] = {}
        for case in cases:
            key = simple(case)
            of_simple[key] = None if key in of_simple else case
        pairs = ((name, of_simple.get(simple(name))) for name in unknown)
        found = {name: case for name, case in pairs if case is not None}
        if found and (best is None or len(found) > len(best.known)):
            best = NearNames(way, found)
    return best
