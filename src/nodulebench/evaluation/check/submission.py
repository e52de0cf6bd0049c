"""A submission -> warnings about its rows, cases, runs, scores and threshold, as notices."""

from dataclasses import replace

import numpy as np
import polars as pl

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.tables import CASES, MARKS, NODULES, Reference, Submission
from nodulebench.evaluation.check.coordinates import coordinate_notices

MOST_NAMED = 4
"""The number of cases that a notice names: one more than are shown, so that "..." follows."""
_SAME = ("x_mm", "y_mm", "z_mm", "score")
_MIXER = np.uint64(0x9E3779B97F4A7C15)


def repeated_marks(submission: Submission) -> tuple[Notice, ...]:
    """The number of marks that equal another mark of the same case, to the last digit."""
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
    """Whether two marks may have the same position and score: their hashes are equal.

    For files of a million different marks, one in thirty million is searched in vain.
    """
    mixed = np.zeros(marks.height, dtype=np.uint64)
    for name in _SAME:
        mixed = (mixed ^ marks[name].cast(pl.Float64).to_numpy().view(np.uint64)) * _MIXER
        mixed ^= mixed >> np.uint64(32)
    mixed.sort()
    return bool((mixed[1:] == mixed[:-1]).any())


def cases_without_marks(reference: Reference, submission: Submission) -> tuple[Notice, ...]:
    """The number of cases of the test set without a mark and without a successful run."""
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
    """The number of runs without a result or with a doubtful one, from the submission's table."""
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


FEWEST = 10
"""With fewer hits or fewer false positives their order is chance."""
HIGHEST_SHARE = 1 / 3
"""Share of the pairs of a hit and a false positive in which the hit has the higher score."""


def score_notices(cohort: LabelledCohort) -> tuple[Notice, ...]:
    """If the hits have the low scores, ask whether a low score means a nodule.

    The notice reveals which marks are hits, so it is for the laboratory only.
    """
    hits, others = cohort.hit_score[cohort.is_hit], cohort.false_score
    if not cohort.has_scores or min(len(hits), len(others)) < FEWEST:
        return ()
    others = np.sort(others)
    below = np.searchsorted(others, hits, "left") + np.searchsorted(others, hits, "right")
    share = float(below.mean() / 2 / len(others))
    return (Notice("scores_inverted", {"share": share}),) if share < HIGHEST_SHARE else ()


def submission_notices(reference: Reference, submission: Submission) -> tuple[Notice, ...]:
    """Warnings from the rows of a submission; they reveal nothing of the reference."""
    return (
        *repeated_marks(submission),
        *cases_without_marks(reference, submission),
        *failed_runs(submission),
    )


def scored_notices(cohort: LabelledCohort) -> tuple[Notice, ...]:
    """Warnings from the labels of the marks; they reveal the reference, so keep them private."""
    return (*score_notices(cohort), *coordinate_notices(cohort))


def threshold_notices(submission: Submission, protocol: TestProtocol) -> tuple[Notice, ...]:
    """State where metrics of one point are read, or what replaces a declared threshold."""
    declared = submission.threshold
    if declared is None:
        return ()
    if protocol.operating_point is not None:
        values = {"declared": declared, "rate": protocol.operating_point}
        return (Notice("threshold_not_used", values),)
    if protocol.score_threshold is not None:
        values = {"declared": declared, "threshold": protocol.score_threshold}
        return (Notice("threshold_overridden", values),)
    if submission.marks["score"].null_count():
        return (Notice("threshold_without_scores", {"declared": declared}),)
    return (Notice("threshold_declared", {"declared": declared}),)


def checked_reference(reference: Reference) -> Reference:
    """The test set, if its tables conform to their schemas.

    Raises:
        InputError: with every problem of its cases and nodules.
    """
    cases, nodules = reference.cases, reference.nodules
    source = f"reference '{reference.name}'"
    if not CASES.is_sound(cases) or cases["case_id"].is_duplicated().any():
        reference = replace(reference, cases=CASES.conform(cases, f"{source} cases"))
    if not NODULES.is_sound(nodules):
        reference = replace(reference, nodules=NODULES.conform(nodules, f"{source} nodules"))
    return reference


def checked_submission(submission: Submission) -> Submission:
    """The submission, if its marks conform to their schema.

    Reading a file checks its rows, so only marks made in memory are checked for repeated keys.

    Raises:
        InputError: with every problem of its marks.
    """
    if submission.digest and MARKS.is_sound(submission.marks):
        return submission
    marks = MARKS.conform(submission.marks, f"submission '{submission.name}' marks")
    return replace(submission, marks=marks)
