"""Pairs of classes -> Cohen's kappa, plain or weighted, and the share of equal classes.

Only nodules that were found and have a class on both sides take part: kappa describes how classes
agree once a nodule is found, recall describes finding it. Plain kappa suits nominal classes
(density, type); linear and quadratic weights suit graded ones (Lung-RADS), where a class two steps
off is worse than one.
"""

from typing import Literal

import numpy as np

from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.metrics.classes import ClassPairs, counts_by_case, density_pairs, type_pairs
from nodulebench.metrics.guidelines import category_pairs
from nodulebench.metrics.metric import CaseSums, divide, ratio, sum_by_case

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
    said, truth = pairs.said[pairs.is_paired], pairs.truth[pairs.is_paired]
    if len(np.union1d(said, truth)) == 1:
        raise UndefinedError("one_class_only", what=what, label=str(pairs.names[said[0]]))
    counts = case_weight.astype(np.float64, copy=False) @ counts_by_case(cohort, pairs)
    size = len(pairs.names)
    return kappa(counts.reshape(-1, size, size), penalty=penalty)
