"""Calibration of the probability of malignancy: Brier score, expected error, reliability table."""

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics.malignancy import judged_nodules
from nodulebench.metrics.metric import CaseSums, divide, ratio, sum_by_case


@ratio("no_nodule_judged")
def brier_score(cohort: LabelledCohort) -> CaseSums:
    """Mean squared difference between the probability of malignancy said and the truth."""
    judged = judged_nodules(cohort)
    error = (judged.said - judged.is_malignant) ** 2
    return CaseSums(sum_by_case(cohort, judged.case, error), sum_by_case(cohort, judged.case))


def expected_calibration_error(
    cohort: LabelledCohort, case_weight: WeightArray, calibration_bins: int = 10
) -> FloatArray:
    """Mean distance between probability said and share malignant, over bins of equal width.

    Each bin counts by its nodules.
    """
    judged = judged_nodules(cohort)
    number = _bin_of(judged.said, calibration_bins)
    excess = np.zeros((cohort.case_count, calibration_bins))
    np.add.at(excess, (judged.case, number), judged.said - judged.is_malignant)
    weight = case_weight.astype(np.float64, copy=False)
    distance = np.abs(weight @ excess).sum(axis=1)
    return divide(distance, weight @ sum_by_case(cohort, judged.case))


def reliability_table(cohort: LabelledCohort, calibration_bins: int = 10) -> pl.DataFrame:
    """Probability said against share malignant, bin by bin.

    Returns:
        Rows ``low, high, nodules, mean_said, share_malignant``; the last two are null in a bin
        without nodules. A bin holds its lower edge, the last one both.
    """
    judged = judged_nodules(cohort)
    number = _bin_of(judged.said, calibration_bins)
    nodules = np.bincount(number, minlength=calibration_bins)
    said, malignant = (
        np.bincount(number, value, calibration_bins).astype(np.float64)
        for value in (judged.said, judged.is_malignant)
    )
    edges = np.arange(calibration_bins + 1) / calibration_bins
    count = nodules.astype(np.float64)
    return pl.DataFrame(
        {
            "low": edges[:-1],
            "high": edges[1:],
            "nodules": nodules,
            "mean_said": divide(said, count),
            "share_malignant": divide(malignant, count),
        }
    ).with_columns(pl.col("mean_said", "share_malignant").fill_nan(None))


def _bin_of(said: FloatArray, bins: int) -> IntArray:
    """The bin of each probability; 1e-9 keeps edges such as 0.29 * 100 in the upper bin."""
    return np.minimum(np.floor(said * bins + 1e-9), bins - 1).astype(np.int64)
