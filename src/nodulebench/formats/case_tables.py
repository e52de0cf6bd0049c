"""A test set's own CASES and a table of cases given beside it -> one table, or what contradicts."""

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
    shared = [name for name in own.columns if name in given.columns and name != "case_id"]
    _refuse_conflicts(own, beside, shared, source)
    further = [name for name in given.columns if name not in own.columns]
    filled = own.with_columns(
        *(own[name].fill_null(beside[name].cast(own[name].dtype, strict=False)) for name in shared),
        *(beside[name] for name in further),
    )
    others = given.join(own, on="case_id", how="anti").height
    notices = (Notice("cases_passed_over", {"count": others, "given": given.height}),)
    return filled, notices if others else ()


def _refuse_conflicts(
    own: pl.DataFrame, beside: pl.DataFrame, shared: list[str], source: str
) -> None:
    problems = [
        Problem(
            f"cases '{own['case_id'][row]}'",
            f"{name} is '{beside[name][row]}', but '{own[name][row]}' in the test set '{source}'.",
            "Correct the table of cases, or leave the column out.",
        )
        for name in shared
        for row in (own[name].cast(pl.String) != beside[name].cast(pl.String)).arg_true().to_list()
        if not _is_same(own[name][row], beside[name][row])
    ]
    if problems:
        more = len(problems) - _MOST_NAMED
        told = (
            [Problem("cases", f"{more} more values contradict the test set.")] if more > 0 else []
        )
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
