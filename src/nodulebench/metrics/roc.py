"""Malignancy of found nodules: ROC curve and area, and the figures at the protocol's threshold.

A nodule is called malignant where the probability said reaches ``malignancy_threshold``. Which
nodules take part is said in ``metrics.malignancy``.
"""

import numpy as np

from nodulebench.errors import UndefinedError
from nodulebench.metrics.figure import CaseSums, Ratio, sum_by_case
from nodulebench.metrics.malignancy import JudgedNodules, judged_nodules
from nodulebench.metrics.ratings import Ratings, concordance, rated, rating_curve
from nodulebench.model.arrays import BoolArray, FloatArray, WeightArray
from nodulebench.model.cohort import LabelledCohort
from nodulebench.model.results import Curve


def malignancy_auc(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Area under the ROC of malignancy: malignant nodules given more than benign ones.

    It equals the trapezoids under the curve, ties counting one half (Mann-Whitney).
    """
    return concordance(*_benign_and_malignant(cohort), case_weight)


def malignancy_roc_curve(cohort: LabelledCohort) -> Curve:
    """The ROC curve of malignancy, from (0, 0) to (1, 1)."""
    benign, malignant = _benign_and_malignant(cohort)
    return rating_curve(
        benign,
        malignant,
        len(malignant.case),
        name="malignancy_roc",
        x_name="1 - specificity",
        y_name="sensitivity",
    )


def _benign_and_malignant(cohort: LabelledCohort) -> tuple[Ratings, Ratings]:
    judged = judged_nodules(cohort)
    is_malignant = judged.is_malignant
    if is_malignant.all() or not is_malignant.any():
        present = "malignant" if is_malignant.all() else "benign"
        raise UndefinedError("one_kind_only", kind=present)
    return (
        rated(judged.case[~is_malignant], judged.said[~is_malignant]),
        rated(judged.case[is_malignant], judged.said[is_malignant]),
    )


def _share(
    cohort: LabelledCohort, judged: JudgedNodules, is_right: BoolArray, is_counted: BoolArray
) -> CaseSums:
    return CaseSums(
        sum_by_case(cohort, judged.case[is_right & is_counted]),
        sum_by_case(cohort, judged.case[is_counted]),
    )


def _right_calls(cohort: LabelledCohort, *, malignancy_threshold: float = 0.5) -> CaseSums:
    judged = judged_nodules(cohort)
    is_right = (judged.said >= malignancy_threshold) == judged.is_malignant
    return _share(cohort, judged, is_right, np.ones_like(is_right))


def _malignant_called(cohort: LabelledCohort, *, malignancy_threshold: float = 0.5) -> CaseSums:
    judged = judged_nodules(cohort)
    is_called = judged.said >= malignancy_threshold
    return _share(cohort, judged, is_called, judged.is_malignant)


def _benign_not_called(cohort: LabelledCohort, *, malignancy_threshold: float = 0.5) -> CaseSums:
    judged = judged_nodules(cohort)
    is_called = judged.said >= malignancy_threshold
    return _share(cohort, judged, ~is_called, ~judged.is_malignant)


def _called_malignant(cohort: LabelledCohort, *, malignancy_threshold: float = 0.5) -> CaseSums:
    judged = judged_nodules(cohort)
    is_called = judged.said >= malignancy_threshold
    return _share(cohort, judged, judged.is_malignant, is_called)


def _f_beta(
    cohort: LabelledCohort, *, malignancy_threshold: float = 0.5, beta: float = 1.0
) -> CaseSums:
    judged = judged_nodules(cohort)
    is_called, square = judged.said >= malignancy_threshold, beta * beta
    right = sum_by_case(cohort, judged.case[is_called & judged.is_malignant])
    missed = sum_by_case(cohort, judged.case[~is_called & judged.is_malignant])
    wrong = sum_by_case(cohort, judged.case[is_called & ~judged.is_malignant])
    return CaseSums((1 + square) * right, (1 + square) * right + square * missed + wrong)


malignancy_accuracy = Ratio(
    "malignancy_accuracy",
    "Found nodules called rightly benign or malignant / found nodules judged",
    _right_calls,
    "no_nodule_judged",
    is_proportion=True,
)
malignancy_sensitivity = Ratio(
    "malignancy_sensitivity",
    "Malignant nodules called malignant / malignant nodules judged",
    _malignant_called,
    "no_malignant_judged",
    is_proportion=True,
)
malignancy_specificity = Ratio(
    "malignancy_specificity",
    "Benign nodules called benign / benign nodules judged",
    _benign_not_called,
    "no_benign_judged",
    is_proportion=True,
)
malignancy_precision = Ratio(
    "malignancy_precision",
    "Malignant nodules called malignant / nodules called malignant",
    _called_malignant,
    "none_called_malignant",
    is_proportion=True,
)
malignancy_f_beta = Ratio(
    "malignancy_f_beta",
    "Weighted harmonic mean of malignancy precision and sensitivity (F1 for beta = 1)",
    _f_beta,
    "none_malignant",
)
