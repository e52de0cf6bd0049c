"""Marks, runs and cases -> notices: rows given twice, cases without a mark, runs that failed."""

import numpy as np
import polars as pl

from nodulebench.core.notices import Notice
from nodulebench.core.tables import Reference, Submission

MOST_NAMED = 4
"""How many cases a notice names: one more than are shown, to show that there are more."""
_SAME = ("x_mm", "y_mm", "z_mm", "score")
_MIXER = np.uint64(0x9E3779B97F4A7C15)


def repeated_marks(submission: Submission) -> tuple[Notice, ...]:
    """How many marks say what another mark of the same case says, to the last digit."""
    if not _may_repeat(submission.marks):
        return ()
    rows = submission.marks.select("case_id", *_SAME).drop_nulls("x_mm")
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


def _may_repeat(marks: pl.DataFrame) -> bool:
    """Whether two marks may be at one place with one score: their bits, mixed, are the same.

    Of a million marks that differ, one file in thirty million would be looked through in vain.
    """
    mixed = np.zeros(marks.height, dtype=np.uint64)
    for name in _SAME:
        mixed = (mixed ^ marks[name].cast(pl.Float64).to_numpy().view(np.uint64)) * _MIXER
        mixed ^= mixed >> np.uint64(32)
    mixed.sort()
    return bool((mixed[1:] == mixed[:-1]).any())


def cases_without_marks(reference: Reference, submission: Submission) -> tuple[Notice, ...]:
    """How many cases of the test set have no mark; those that an algorithm ran on are no slip."""
    row = submission.rows_in(reference)
    is_empty = np.bincount(row[row >= 0], minlength=reference.cases.height) == 0
    if submission.runs is not None:
        done = reference.rows_of(submission.runs.filter(pl.col("state") == "ok")["case_id"])
        is_empty[done[done >= 0]] = False
    empty = np.flatnonzero(is_empty)
    if not len(empty):
        return ()
    names = reference.cases["case_id"]
    return (
        Notice(
            "cases_without_marks",
            {
                "count": len(empty),
                "cases": reference.cases.height,
                "names": [names[row] for row in empty[:MOST_NAMED].tolist()],
            },
        ),
    )


def failed_runs(submission: Submission) -> tuple[Notice, ...]:
    """How many runs ended without a result or in doubt of it, by the submission's own table."""
    if submission.runs is None:
        return ()
    state, count = submission.runs["state"], submission.runs.height
    failed = submission.runs.filter(~state.is_in(["ok", "lungs_implausible"]))["case_id"]
    doubtful = submission.runs.filter(state == "lungs_implausible")["case_id"]
    late = int((state == "timed_out").sum())
    notices = []
    if len(failed):
        counts = {"failed": len(failed) - late, "timed_out": late, "runs": count}
        names = failed.head(MOST_NAMED).to_list()
        notices.append(Notice("runs_failed", {**counts, "names": names}))
    if len(doubtful):
        names = doubtful.head(MOST_NAMED).to_list()
        values = {"count": len(doubtful), "runs": count, "names": names}
        notices.append(Notice("runs_lungs_implausible", values))
    return tuple(notices)
