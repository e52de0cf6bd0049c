"""Malignancy of found nodules: ROC curve and area, and the figures at the protocol's threshold.

A nodule is called malignant where the probability said reaches ``malignancy_threshold``. Which
nodules take part is said in ``metrics.malignancy``.
"""

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.results import Curve
from nodulebench.metrics.malignancy import judged_nodules
from nodulebench.metrics.metric import CaseSums, ratio, sum_by_case
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
    """The ROC curve of malignancy, from (0, 0) to (1, 1)."""
    benign, malignant = benign_and_malignant(cohort)
    return rating_curve(benign, malignant, "malignancy_roc", "1 - specificity", "sensitivity")


def benign_and_malignant(cohort: LabelledCohort) -> tuple[Ratings, Ratings]:
    """Found nodules of known malignancy by the probability said."""
    judged = judged_nodules(cohort)
    is_malignant = judged.is_malignant
    if is_malignant.all() or not is_malignant.any():
        present = "malignant" if is_malignant.all() else "benign"
        raise UndefinedError("one_kind_only", kind=present)
    return (
        rated(judged.case[~is_malignant], judged.said[~is_malignant]),
        rated(judged.case[is_malignant], judged.said[is_malignant]),
    )


@ratio("no_nodule_judged", is_proportion=True)
def malignancy_accuracy(cohort: LabelledCohort, *, malignancy_threshold: float = 0.5) -> CaseSums:
    """Found nodules called rightly benign or malignant / found nodules judged."""
    case, is_malignant, is_called = _calls(cohort, malignancy_threshold)
    return _share(cohort, case, is_called == is_malignant)


@ratio("no_malignant_judged", is_proportion=True)
def malignancy_sensitivity(
    cohort: LabelledCohort, *, malignancy_threshold: float = 0.5
) -> CaseSums:
    """Malignant nodules called malignant / malignant nodules judged."""
    case, is_malignant, is_called = _calls(cohort, malignancy_threshold)
    return _share(cohort, case[is_malignant], is_called[is_malignant])


@ratio("no_benign_judged", is_proportion=True)
def malignancy_specificity(
    cohort: LabelledCohort, *, malignancy_threshold: float = 0.5
) -> CaseSums:
    """Benign nodules called benign / benign nodules judged."""
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
    """Of the nodules judged: their cases, whether they are malignant and whether called so."""
    judged = judged_nodules(cohort)
    return judged.case, judged.is_malignant, judged.said >= threshold


def _share(cohort: LabelledCohort, case: IntArray, is_right: BoolArray) -> CaseSums:
    """Those that are right among nodules of these cases."""
    return CaseSums(sum_by_case(cohort, case[is_right]), sum_by_case(cohort, case))
