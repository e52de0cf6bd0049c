"""Characterisation of found nodules: size error, diameter error, density, confusion table.

Size and diameter metrics take the found nodules that have the measure on both sides; a negative
or zero reference size means that it was not measured.
"""

from typing import Literal

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.metrics.classes import (
    NO_CLASS,
    ClassPairs,
    counts_by_case,
    density_pairs,
    states_density,
    type_pairs,
)
from nodulebench.metrics.guidelines import category_pairs
from nodulebench.metrics.metric import CaseSums, divide, ratio, sum_by_case


def _measured(cohort: LabelledCohort, column: str) -> tuple[FloatArray, FloatArray]:
    """A size in the reference and as stated; NaN in both unless both are known."""
    truth, stated = cohort.truth(column), cohort.stated(column)
    is_measured = (truth > 0) & np.isfinite(stated)
    return np.where(is_measured, truth, np.nan), np.where(is_measured, stated, np.nan)


def _mean_of(cohort: LabelledCohort, value: FloatArray) -> CaseSums:
    """The sums of a mean over the nodules whose value is not NaN."""
    is_known = np.isfinite(value)
    case = cohort.nodule_case[is_known]
    return CaseSums(sum_by_case(cohort, case, value[is_known]), sum_by_case(cohort, case))


@ratio("unpaired_long_axis")
def size_error_rate(cohort: LabelledCohort) -> CaseSums:
    """Mean of |stated long axis - long axis of the reference| / long axis of the reference."""
    truth, stated = _measured(cohort, "long_mm")
    return _mean_of(cohort, np.abs(stated - truth) / truth)


@ratio("unpaired_diameter")
def diameter_error_mm(cohort: LabelledCohort) -> CaseSums:
    """Mean of stated diameter - diameter of the reference, in mm (above 0: too large)."""
    truth, stated = _measured(cohort, "diameter_mm")
    return _mean_of(cohort, stated - truth)


@ratio("unpaired_diameter")
def absolute_diameter_error_mm(cohort: LabelledCohort) -> CaseSums:
    """Mean of |stated diameter - diameter of the reference|, in mm."""
    truth, stated = _measured(cohort, "diameter_mm")
    return _mean_of(cohort, np.abs(stated - truth))


@ratio("density_unknown", is_proportion=True)
def density_accuracy(cohort: LabelledCohort) -> CaseSums:
    """Nodules found with the right density class / all nodules whose density is known."""
    return _right_densities(cohort, np.ones_like(cohort.is_hit))


@ratio("no_found_density", is_proportion=True)
def density_accuracy_of_found(cohort: LabelledCohort) -> CaseSums:
    """Nodules found with the right density class / found nodules whose density is known."""
    return _right_densities(cohort, cohort.is_hit)


def _right_densities(cohort: LabelledCohort, is_counted: BoolArray) -> CaseSums:
    if not states_density(cohort):
        raise UndefinedError("no_stated_density")
    pairs = density_pairs(cohort)
    return CaseSums(
        sum_by_case(cohort, cohort.nodule_case[pairs.is_same]),
        sum_by_case(cohort, cohort.nodule_case[is_counted & (pairs.truth != NO_CLASS)]),
    )


def confusion_table(cohort: LabelledCohort, pairs: ClassPairs) -> pl.DataFrame:
    """How often each class was given to nodules of each class.

    Returns:
        Rows ``truth, stated, nodules``: every pair of classes, then the nodules ``missed`` and
        those found without a class (``not stated``). Nodules without a class in the reference are
        left out.
    """
    stated = np.where(
        cohort.is_hit,
        np.where(pairs.stated == NO_CLASS, len(pairs.names) + 1, pairs.stated),
        len(pairs.names),
    )
    answers = (*pairs.names, "missed", "not stated")
    return pl.DataFrame(
        [
            {
                "truth": truth_name,
                "stated": answer,
                "nodules": int(np.count_nonzero((pairs.truth == truth) & (stated == number))),
            }
            for truth, truth_name in enumerate(pairs.names)
            for number, answer in enumerate(answers)
        ]
    )


def density_confusion(cohort: LabelledCohort) -> pl.DataFrame:
    return confusion_table(cohort, density_pairs(cohort))


Penalty = Literal["plain", "linear", "quadratic"]


def kappa(counts: FloatArray, *, penalty: Penalty = "plain") -> FloatArray:
    """Cohen's kappa of square tables of counts (the last two axes), NaN where undefined.

    kappa = 1 - (observed penalty) / (penalty expected by chance from the margins). The penalty of
    classes i and j is 0 or 1 (plain), |i - j| (linear) or (i - j)^2 (quadratic).
    """
    size = counts.shape[-1]
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    cost = {"plain": np.sign(distance), "linear": distance, "quadratic": distance**2}[penalty]
    total = counts.sum(axis=(-2, -1))
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    observed = (counts * cost).sum(axis=(-2, -1)) * total
    expected = np.einsum("...i,ij,...j->...", rows, cost, columns)
    return 1 - divide(observed, expected)


def density_kappa(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Cohen's kappa of the four density classes, over found nodules."""
    return _kappa_of(cohort, density_pairs(cohort), case_weight, "plain", "density")


def type_kappa(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Cohen's kappa of the six nodule types, over found nodules."""
    return _kappa_of(cohort, type_pairs(cohort), case_weight, "plain", "type")


def category_kappa(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Cohen's kappa of Lung-RADS categories, over found nodules."""
    return _kappa_of(cohort, category_pairs(cohort), case_weight, "plain", "category")


def category_kappa_linear(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Linearly weighted kappa of Lung-RADS categories, over found nodules."""
    return _kappa_of(cohort, category_pairs(cohort), case_weight, "linear", "category")


def category_kappa_quadratic(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Quadratically weighted kappa of Lung-RADS categories, over found nodules."""
    return _kappa_of(cohort, category_pairs(cohort), case_weight, "quadratic", "category")


@ratio("unpaired_category", is_proportion=True)
def category_agreement(cohort: LabelledCohort) -> CaseSums:
    """Found nodules with the reference's Lung-RADS category / found nodules with a category."""
    pairs = category_pairs(cohort)
    return CaseSums(
        sum_by_case(cohort, cohort.nodule_case[pairs.is_same]),
        sum_by_case(cohort, cohort.nodule_case[pairs.is_paired]),
    )


def _kappa_of(
    cohort: LabelledCohort, pairs: ClassPairs, case_weight: WeightArray, penalty: Penalty, what: str
) -> FloatArray:
    if not pairs.is_paired.any():
        raise UndefinedError("unpaired", what=what)
    stated, truth = pairs.stated[pairs.is_paired], pairs.truth[pairs.is_paired]
    if len(np.union1d(stated, truth)) == 1:
        raise UndefinedError("one_class_only", what=what, label=str(pairs.names[stated[0]]))
    counts = case_weight.astype(np.float64, copy=False) @ counts_by_case(cohort, pairs)
    size = len(pairs.names)
    return kappa(counts.reshape(-1, size, size), penalty=penalty)


def category_cuts(cohort: LabelledCohort) -> pl.DataFrame:
    """Lung-RADS categories, over found nodules: one row per cut, as ``grade_cuts`` has them."""
    return grade_cuts(category_pairs(cohort))


def grade_cuts(pairs: ClassPairs) -> pl.DataFrame:
    """Graded classes on both sides: at each cut, who reaches it and who is stated to reach it.

    Returns:
        One row per cut: ``cut`` (the lowest grade above it), counts ``true_positive,
        false_negative, false_positive, true_negative`` and ``accuracy, sensitivity,
        specificity``, null where undefined. Nodules without a grade on both sides are left out.
    """
    truth, stated = pairs.truth[pairs.is_paired], pairs.stated[pairs.is_paired]
    rows = []
    for cut in range(1, len(pairs.names)):
        above, called = truth >= cut, stated >= cut
        rows.append(
            {
                "cut": pairs.names[cut],
                "true_positive": int(np.sum(above & called)),
                "false_negative": int(np.sum(above & ~called)),
                "false_positive": int(np.sum(~above & called)),
                "true_negative": int(np.sum(~above & ~called)),
                "accuracy": _graded_share(above == called, np.ones_like(above)),
                "sensitivity": _graded_share(called, above),
                "specificity": _graded_share(~called, ~above),
            }
        )
    return pl.DataFrame(rows)


def _graded_share(is_right: np.ndarray, is_counted: np.ndarray) -> float | None:
    total = int(np.sum(is_counted))
    return int(np.sum(is_right & is_counted)) / total if total else None
