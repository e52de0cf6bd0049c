"""Marks, runs and cases -> notices: rows given twice, cases without a mark, runs that failed."""

import numpy as np
import polars as pl

from nodulebench.model.notice import Notice
from nodulebench.model.tables import Reference, Submission

MOST_NAMED = 4
"""How many cases a notice names: one more than are shown, to show that there are more."""
_SAME = ("x_mm", "y_mm", "z_mm", "score")


def repeated_marks(submission: Submission) -> tuple[Notice, ...]:
    """How many marks say what another mark of the same case says, to the last digit."""
    marks = submission.marks
    is_same = marks.select(_SAME).is_duplicated() & marks["x_mm"].is_not_null()
    if not is_same.any():
        return ()
    rows = marks.select("case_id", *_SAME).filter(is_same)
    is_again = ~rows.select(pl.struct(pl.all()).is_first_distinct()).to_series()
    if not is_again.any():
        return ()
    cases = rows["case_id"].filter(is_again)
    return (
        Notice(
            "marks_repeated",
            {
                "marks": len(cases),
                "cases": cases.n_unique(),
                "names": cases.unique(maintain_order=True).head(MOST_NAMED).to_list(),
            },
        ),
    )


def cases_without_marks(reference: Reference, submission: Submission) -> tuple[Notice, ...]:
    """How many cases of the test set have no mark; those that an algorithm ran on are no slip."""
    row = submission.rows_in(reference)
    is_empty = np.bincount(row[row >= 0], minlength=reference.cases.height) == 0
    if submission.runs is not None:
        done = reference.rows_of(submission.runs.filter(pl.col("state") == "ok")["case_id"])
        is_empty[done[done >= 0]] = False
    if not is_empty.any():
        return ()
    names = reference.cases["case_id"].filter(pl.Series(is_empty))
    return (
        Notice(
            "cases_without_marks",
            {
                "count": len(names),
                "cases": reference.cases.height,
                "names": names.head(MOST_NAMED).to_list(),
            },
        ),
    )


def failed_runs(submission: Submission) -> tuple[Notice, ...]:
    """How many runs ended without a result, by the submission's own table."""
    if submission.runs is None:
        return ()
    failed = submission.runs.filter(pl.col("state") != "ok")
    if not failed.height:
        return ()
    return (
        Notice(
            "runs_failed",
            {
                "failed": failed.filter(pl.col("state") == "failed").height,
                "timed_out": failed.filter(pl.col("state") == "timed_out").height,
                "runs": submission.runs.height,
                "names": failed["case_id"].head(MOST_NAMED).to_list(),
            },
        ),
    )
