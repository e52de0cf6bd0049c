"""Labelled cohort -> metrics of malignancy: how well found nodules are classified.

A nodule takes part if the reference calls it benign (0) or malignant (1), it was found, and the
mark that hit it states a probability. Missed nodules have no probability, and giving them one would
mix detection with classification; so the metrics describe the classification of what was found, and
``malignancy_counts`` counts the nodules that this leaves out. An algorithm that finds only easy
cancers gets good values here: report recall with them.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.results import Curve
from nodulebench.metrics.metric import CaseSums, divide, ratio, sum_by_case
from nodulebench.metrics.operating_point import f_beta_sums
from nodulebench.metrics.ratings import (
    TWO_FRACTIONS,
    Ratings,
    concordance,
    mean_signal_until,
    rated,
    rating_curve,
    signal_at,
)


@dataclass(frozen=True, slots=True)
class RatedNodules:
    """Nodules of known malignancy that were found with a probability."""

    case: IntArray
    is_malignant: BoolArray
    probability: FloatArray


def rated_nodules(cohort: LabelledCohort) -> RatedNodules:
    """The nodules that take part in malignancy metrics."""
    truth, probability = cohort.truth("malignancy"), cohort.stated("malignancy")
    is_known = (truth == 0) | (truth == 1)
    if not is_known.any():
        raise UndefinedError("malignancy_unknown")
    is_rated = is_known & np.isfinite(probability)
    if not is_rated.any():
        marks = cohort.submission.marks["malignancy"]
        if marks.null_count() == len(marks):
            raise UndefinedError("no_stated_malignancy")
        raise UndefinedError("no_rated_malignancy")
    return RatedNodules(cohort.nodule_case[is_rated], truth[is_rated] == 1, probability[is_rated])


def malignancy_counts(cohort: LabelledCohort) -> dict[str, int]:
    """How many nodules take part in malignancy metrics, and why the others do not."""
    truth, probability = cohort.truth("malignancy"), cohort.stated("malignancy")
    is_known = (truth == 0) | (truth == 1)
    is_stated = np.isfinite(probability)
    return {
        "malignant": int(np.count_nonzero(is_stated & (truth == 1))),
        "benign": int(np.count_nonzero(is_stated & (truth == 0))),
        "missed": int(np.count_nonzero(is_known & ~cohort.is_hit)),
        "not_stated": int(np.count_nonzero(is_known & cohort.is_hit & ~is_stated)),
        "truth_unknown": int(np.count_nonzero(~is_known)),
    }


def malignancy_auc(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Area under the ROC of malignancy: malignant nodules given more than benign ones.

    It equals the trapezoids under the curve, ties counting one half (Mann-Whitney).
    """
    return concordance(*benign_and_malignant(cohort), case_weight)


def malignancy_sensitivity_at_fpf(
    cohort: LabelledCohort,
    case_weight: WeightArray,
    *,
    fpf_points: tuple[float, ...] = TWO_FRACTIONS,
) -> FloatArray:
    """Sensitivity for malignancy at fixed specificity, read on the ROC at 1 - x (columns)."""
    return signal_at(*benign_and_malignant(cohort), case_weight, fpf_points)


def malignancy_auc_until_fpf(
    cohort: LabelledCohort,
    case_weight: WeightArray,
    *,
    fpf_points: tuple[float, ...] = TWO_FRACTIONS,
) -> FloatArray:
    """Partial area under the ROC of malignancy over its width: mean sensitivity until x."""
    return mean_signal_until(*benign_and_malignant(cohort), case_weight, fpf_points)


def malignancy_roc_curve(cohort: LabelledCohort) -> Curve:
    benign, malignant = benign_and_malignant(cohort)
    return rating_curve(benign, malignant, "malignancy_roc", "1 - specificity", "sensitivity")


def benign_and_malignant(cohort: LabelledCohort) -> tuple[Ratings, Ratings]:
    """Found nodules of known malignancy by the stated probability."""
    nodules = rated_nodules(cohort)
    is_malignant = nodules.is_malignant
    if is_malignant.all() or not is_malignant.any():
        present = "malignant" if is_malignant.all() else "benign"
        raise UndefinedError("one_kind_only", kind=present)
    return (
        rated(nodules.case[~is_malignant], nodules.probability[~is_malignant]),
        rated(nodules.case[is_malignant], nodules.probability[is_malignant]),
    )


@ratio("no_rated_nodule", is_proportion=True)
def malignancy_accuracy(cohort: LabelledCohort, *, malignancy_threshold: float = 0.5) -> CaseSums:
    """Rated nodules called rightly benign or malignant / rated nodules."""
    case, is_malignant, is_called = _calls(cohort, malignancy_threshold)
    return _share(cohort, case, is_called == is_malignant)


@ratio("no_rated_malignant", is_proportion=True)
def malignancy_sensitivity(
    cohort: LabelledCohort, *, malignancy_threshold: float = 0.5
) -> CaseSums:
    """Malignant nodules called malignant / rated malignant nodules."""
    case, is_malignant, is_called = _calls(cohort, malignancy_threshold)
    return _share(cohort, case[is_malignant], is_called[is_malignant])


@ratio("no_rated_benign", is_proportion=True)
def malignancy_specificity(
    cohort: LabelledCohort, *, malignancy_threshold: float = 0.5
) -> CaseSums:
    """Benign nodules called benign / rated benign nodules."""
    case, is_malignant, is_called = _calls(cohort, malignancy_threshold)
    return _share(cohort, case[~is_malignant], ~is_called[~is_malignant])


@ratio("none_called_malignant", is_proportion=True)
def malignancy_precision(cohort: LabelledCohort, *, malignancy_threshold: float = 0.5) -> CaseSums:
    """Malignant nodules called malignant / nodules called malignant."""
    case, is_malignant, is_called = _calls(cohort, malignancy_threshold)
    return _share(cohort, case[is_called], is_malignant[is_called])


@ratio("none_malignant")
def malignancy_f_beta(
    cohort: LabelledCohort, *, malignancy_threshold: float = 0.5, beta: float = 1.0
) -> CaseSums:
    """Weighted harmonic mean of malignancy precision and sensitivity (F1 for beta = 1)."""
    case, is_malignant, is_called = _calls(cohort, malignancy_threshold)
    right, missed, wrong = (
        sum_by_case(cohort, case[which])
        for which in (
            is_called & is_malignant,
            ~is_called & is_malignant,
            is_called & ~is_malignant,
        )
    )
    return f_beta_sums(right, missed, wrong, beta)


def _calls(cohort: LabelledCohort, threshold: float) -> tuple[IntArray, BoolArray, BoolArray]:
    nodules = rated_nodules(cohort)
    return nodules.case, nodules.is_malignant, nodules.probability >= threshold


def _share(cohort: LabelledCohort, case: IntArray, is_right: BoolArray) -> CaseSums:
    """Those that are right among nodules of these cases."""
    return CaseSums(sum_by_case(cohort, case[is_right]), sum_by_case(cohort, case))


@ratio("no_rated_nodule")
def brier_score(cohort: LabelledCohort) -> CaseSums:
    """Mean squared difference between the stated probability of malignancy and the truth."""
    nodules = rated_nodules(cohort)
    error = (nodules.probability - nodules.is_malignant) ** 2
    return CaseSums(sum_by_case(cohort, nodules.case, error), sum_by_case(cohort, nodules.case))


def expected_calibration_error(
    cohort: LabelledCohort, case_weight: WeightArray, calibration_bins: int = 10
) -> FloatArray:
    """Mean distance between stated probability and share malignant, over bins of equal width.

    Each bin counts by its nodules.
    """
    nodules = rated_nodules(cohort)
    number = _bin_of(nodules.probability, calibration_bins)
    excess = np.zeros((cohort.case_count, calibration_bins))
    np.add.at(excess, (nodules.case, number), nodules.probability - nodules.is_malignant)
    weight = case_weight.astype(np.float64, copy=False)
    distance = np.abs(weight @ excess).sum(axis=1)
    return divide(distance, weight @ sum_by_case(cohort, nodules.case))


def reliability(cohort: LabelledCohort, calibration_bins: int = 10) -> pl.DataFrame:
    """Stated probability against share malignant, bin by bin.

    Returns:
        Rows ``low, high, nodules, mean_stated, share_malignant``; the last two are null in a bin
        without nodules. A bin holds its lower edge, the last one both.
    """
    nodules = rated_nodules(cohort)
    number = _bin_of(nodules.probability, calibration_bins)
    counts = np.bincount(number, minlength=calibration_bins)
    stated, malignant = (
        np.bincount(number, value, calibration_bins).astype(np.float64)
        for value in (nodules.probability, nodules.is_malignant)
    )
    edges = np.arange(calibration_bins + 1) / calibration_bins
    count = counts.astype(np.float64)
    return pl.DataFrame(
        {
            "low": edges[:-1],
            "high": edges[1:],
            "nodules": counts,
            "mean_stated": divide(stated, count),
            "share_malignant": divide(malignant, count),
        }
    ).with_columns(pl.col("mean_stated", "share_malignant").fill_nan(None))


def _bin_of(probability: FloatArray, bins: int) -> IntArray:
    """The bin of each probability; 1e-9 keeps edges such as 0.29 * 100 in the upper bin."""
    return np.minimum(np.floor(probability * bins + 1e-9), bins - 1).astype(np.int64)


def malignancy_cuts(cohort: LabelledCohort) -> pl.DataFrame:
    """A graded reference (say five grades from 0 to 1) and a probability: the ROC area per cut.

    Returns:
        One row per cut: ``cut`` (the lowest grade above it), ``below`` and ``above`` (nodules
        found with a probability) and ``auc``.
    """
    truth, probability = cohort.truth("malignancy"), cohort.stated("malignancy")
    is_rated = np.isfinite(truth) & np.isfinite(probability)
    truth, probability, case = truth[is_rated], probability[is_rated], cohort.nodule_case[is_rated]
    grades = np.unique(truth)
    if len(grades) < 2:
        raise UndefinedError("few_grades")
    everyone = np.ones((1, cohort.case_count))
    rows = []
    for cut in grades[1:]:
        above = truth >= cut
        area = concordance(
            rated(case[~above], probability[~above]),
            rated(case[above], probability[above]),
            everyone,
        )
        rows.append(
            {
                "cut": float(cut),
                "below": int(np.sum(~above)),
                "above": int(np.sum(above)),
                "auc": float(area[0]),
            }
        )
    return pl.DataFrame(rows)
