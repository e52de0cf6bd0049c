"""RUNS -> seconds per case and the share of runs that failed.

Wall time of one case, from the start of its input to the end of its output, start-up excluded.
Only runs that ended well have a reading time, those whose lungs were implausible too, for they have
marks; ``failed_run_rate`` counts these with the runs that failed.
"""

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.metrics.metric import CaseSums, ratio, sum_by_case
from nodulebench.metrics.ratings import row_blocks


def median_seconds_per_case(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Median wall time of a case, in seconds (runs that ended well)."""
    case, seconds = _timed(cohort)
    order = np.argsort(seconds, kind="stable")
    case, seconds = case[order], seconds[order]
    median = np.full(len(case_weight), np.nan)
    for block in row_blocks(case_weight, 2 * len(case)):
        reached = np.cumsum(case_weight[block][:, case], axis=1, dtype=np.float64)
        half = reached[:, -1:] / 2
        # the two middle values where the weights divide evenly, else twice the same
        lower = np.argmax(reached >= half, axis=1)
        upper = np.argmax(reached > half, axis=1)
        middle = (seconds[lower] + seconds[upper]) / 2
        median[block] = np.where(half[:, 0] > 0, middle, np.nan)
    return median


def max_seconds_per_case(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Longest wall time of a case, in seconds (runs that ended well)."""
    case, seconds = _timed(cohort)
    order = np.argsort(-seconds, kind="stable")
    is_drawn = case_weight[:, case[order]] > 0
    longest = seconds[order][np.argmax(is_drawn, axis=1)]
    return np.where(is_drawn.any(axis=1), longest, np.nan)


@ratio("no_timed_run")
def mean_seconds_per_case(cohort: LabelledCohort) -> CaseSums:
    """Mean wall time of a case, in seconds (runs that ended well)."""
    case, seconds = _timed(cohort)
    return CaseSums(sum_by_case(cohort, case, seconds), sum_by_case(cohort, case))


@ratio("no_case_run", is_proportion=True)
def failed_run_rate(cohort: LabelledCohort) -> CaseSums:
    """Runs that failed, timed out or found no plausible lungs / cases run."""
    runs, case = _runs(cohort)
    is_failed = (runs["state"] != "ok").to_numpy()
    return CaseSums(sum_by_case(cohort, case[is_failed]), sum_by_case(cohort, case))


def _timed(cohort: LabelledCohort) -> tuple[IntArray, FloatArray]:
    runs, case = _runs(cohort)
    is_well = runs["state"].is_in(["ok", "lungs_implausible"])
    is_timed = (is_well & runs["seconds"].is_not_null()).to_numpy()
    if not is_timed.any():
        raise UndefinedError("no_timed_run")
    return case[is_timed], runs["seconds"].to_numpy()[is_timed]


def _runs(cohort: LabelledCohort) -> tuple[pl.DataFrame, IntArray]:
    """The runs on cases of the test set, and their cases."""
    runs = cohort.submission.runs
    if runs is None:
        raise UndefinedError("no_runs")
    case = cohort.reference.rows_of(runs["case_id"])
    return runs.filter(pl.Series(case >= 0)), case[case >= 0]
