"""A test set's own tables and one given beside them -> one table, or what contradicts."""

import math

import polars as pl

from nodulebench.errors import InputError, Problem
from nodulebench.model.notice import Notice

_MOST_NAMED = 5
_TOLERANCE = 1e-6
"""By how much of itself a number may differ: tables round."""


def joined_cases(
    own: pl.DataFrame, given: pl.DataFrame, source: str
) -> tuple[pl.DataFrame, tuple[Notice, ...]]:
    """The cases of a test set, in its order, with what a given table says of them besides.

    The test set's own list decides which cases there are: others of the given table are passed
    over, and told.

    Args:
        own: CASES of the test set.
        given: CASES given beside it.
        source: the name of the test set, for messages.

    Raises:
        InputError: for each case of which the two say different things.
    """
    beside = own.select("case_id").join(given, on="case_id", how="left", maintain_order="left")
    filled = filled_from(own, beside, ("case_id",), "cases", source)
    others = given.join(own, on="case_id", how="anti").height
    notices = (Notice("cases_passed_over", {"count": others, "given": given.height}),)
    return filled, notices if others else ()


def filled_from(
    own: pl.DataFrame, beside: pl.DataFrame, keys: tuple[str, ...], what: str, source: str
) -> pl.DataFrame:
    """A table with what another one, row by row, says besides.

    Args:
        own: the table.
        beside: the other one, with as many rows; null where it is silent.
        keys: the columns that name a row.
        what: "cases" or "nodules", for messages.
        source: the name of the test set, for messages.

    Raises:
        InputError: for each value of which the two say different things.
    """
    shared = [name for name in own.columns if name in beside.columns and name not in keys]
    _refuse_conflicts(own, beside, shared, keys, what, source)
    further = [name for name in beside.columns if name not in own.columns]
    return own.with_columns(
        *(own[name].fill_null(beside[name].cast(own[name].dtype, strict=False)) for name in shared),
        *(beside[name] for name in further),
    )


def _refuse_conflicts(
    own: pl.DataFrame,
    beside: pl.DataFrame,
    shared: list[str],
    keys: tuple[str, ...],
    what: str,
    source: str,
) -> None:
    problems = [
        Problem(
            f"{what} {' '.join(repr(own[key][row]) for key in keys)}",
            f"{name} is '{beside[name][row]}', but '{own[name][row]}' in the test set '{source}'.",
            f"Correct the table of {what}, or leave the column out.",
        )
        for name in shared
        for row in (own[name].cast(pl.String) != beside[name].cast(pl.String)).arg_true().to_list()
        if not _is_same(own[name][row], beside[name][row])
    ]
    if problems:
        more = len(problems) - _MOST_NAMED
        told = [Problem(what, f"{more} more values contradict the test set.")] if more > 0 else []
        raise InputError([*problems[:_MOST_NAMED], *told])


def _is_same(own: object, given: object) -> bool:
    """Whether two values say the same: as numbers, or as texts of numbers (a direction)."""
    try:
        pairs = list(zip(str(own).split(), str(given).split(), strict=True))
        return bool(pairs) and all(
            math.isclose(float(one), float(other), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
            for one, other in pairs
        )
    except ValueError:
        return own == given
