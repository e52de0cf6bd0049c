"""A submission and a test set -> its marks on cases of the set, and notices about the others."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.check.submission import MOST_NAMED
from nodulebench.io.cases import case_of_image

_SIGNS = re.compile(r"[\W_]+")


def _file(name: str) -> str:
    return case_of_image(name.strip().strip("\"'")).removesuffix(".0")


def _letters(name: str) -> str:
    return _file(name).lower()


def _signs(name: str) -> str:
    return _SIGNS.sub("", _letters(name))


WAYS: dict[str, Callable[[str], str]] = {"file": _file, "letters": _letters, "signs": _signs}
"""Simplifications of a name, mild ones first: folders and file endings, upper case, signs."""


@dataclass(frozen=True, slots=True)
class NearNames:
    """Names that match cases after a simplification."""

    way: str
    """The simplification: a key of ``WAYS``."""
    known: dict[str, str]
    """Name as given -> name of the case."""


def near_names(given: Iterable[str], known: Iterable[str]) -> NearNames | None:
    """Which names match cases after the mildest simplification; None: no name does.

    Cases that become equal by the simplification do not match.
    """
    unknown, cases = list(given), list(known)
    best: NearNames | None = None
    for way, simple in WAYS.items():
        of_simple: dict[str, str | None] = {}
        for case in cases:
            key = simple(case)
            of_simple[key] = None if key in of_simple else case
        pairs = ((name, of_simple.get(simple(name))) for name in unknown)
        near = {name: case for name, case in pairs if case is not None}
        if near and (best is None or len(near) > len(best.known)):
            best = NearNames(way, near)
    return best


_SHOWN = MOST_NAMED - 1
_IGNORED = {
    "file": "folders and endings of files",
    "letters": "endings of files and large or small letters",
    "signs": "dashes, underscores, dots and the like",
}


def keep_listed(
    reference: Reference, submission: Submission, protocol: TestProtocol
) -> tuple[Submission, tuple[Notice, ...]]:
    """The submission's marks on cases of the test set, and notices about the others.

    Raises:
        InputError: if the protocol does not allow marks of other cases, or all marks are of those.
    """
    row = submission.rows_in(reference)
    if (row >= 0).all():
        return submission, ()
    is_listed = pl.Series(row >= 0)
    others = submission.marks.filter(~is_listed)
    is_header = others["case_id"] == "seriesuid"
    foreign = others.filter(~is_header)
    near = near_names(foreign["case_id"].unique(maintain_order=True), reference.cases["case_id"])
    if protocol.unlisted_cases == "error":
        raise _refusal(reference, submission, others, near)
    if foreign.height and not is_listed.any():
        raise _refusal(reference, submission, foreign, near)
    listed_only = replace(submission, marks=submission.marks.filter(is_listed))
    return listed_only, tuple(_dropped_notices(foreign["case_id"], int(is_header.sum()), near))


def _refusal(
    reference: Reference, submission: Submission, foreign: pl.DataFrame, near: NearNames | None
) -> InputError:
    """One problem for all marks of other cases."""
    test_set = f"the test set '{reference.name}' ({reference.cases.height} cases)"
    names = foreign["case_id"].unique(maintain_order=True)
    shown = ", ".join(f"'{name}'" for name in names.head(_SHOWN))
    listed = f"{shown}, ..." if len(names) > _SHOWN else shown
    where = f"submission '{submission.name}'"
    if foreign.height == 1:
        where += f" mark '{foreign['mark_id'][0]}'"
        what = f"case {listed} is not in {test_set}."
        remedy = "Remove the mark, or evaluate against the set it was made for."
    elif foreign.height == submission.marks.height:
        what = f"none of its {foreign.height:,} marks is in a case of {test_set}, but in {listed}."
        remedy = "Evaluate against the set they were made for."
    else:
        what = (
            f"{foreign.height:,} marks are in {len(names):,} cases that are not in {test_set}: "
            f"{listed}."
        )
        remedy = (
            "Evaluate against the set they were made for, or skip them with "
            'unlisted_cases = "drop" in the protocol.'
        )
    return InputError.at(where, what, f"{_correction(near)} {remedy}".strip())


def _correction(near: NearNames | None) -> str:
    if near is None:
        return ""
    given, case = next(iter(near.known.items()))
    return (
        f"Without {_IGNORED[near.way]} {len(near.known):,} of the names would match cases "
        f"('{given}' is '{case}'?): correct them."
    )


def _dropped_notices(foreign: pl.Series, headers: int, near: NearNames | None) -> Iterator[Notice]:
    """Notices about marks that the official program drops silently."""
    if len(foreign):
        names = foreign.unique(maintain_order=True)
        named = names.head(MOST_NAMED).to_list()
        yield Notice("marks_dropped", {"marks": len(foreign), "cases": len(names), "names": named})
    if near is not None:
        given, case = next(iter(near.known.items()))
        marks = int(foreign.is_in(list(near.known)).sum())
        values = {"marks": marks, "cases": len(near.known), "way": near.way}
        yield Notice("names_nearly_match", {**values, "given": given, "case": case})
    if headers:
        yield Notice("headers_dropped", {"count": headers})
