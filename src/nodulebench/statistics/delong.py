"""Scores of positives and negatives -> area under the ROC curve, its variance, comparisons.

For malignancy and for case-level ratings. The areas are Wilcoxon areas (ties count one half).
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.documents.comparison import Significance
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.core.results import Estimate


@dataclass(frozen=True, slots=True)
class Placements:
    """For each positive the share of negatives below it, for each negative of positives above it.

    One row per algorithm (or reader); the mean of either is the area under the ROC curve.
    """

    positive: FloatArray
    negative: FloatArray

    @property
    def auc(self) -> FloatArray:
        area: FloatArray = self.positive.mean(axis=1)
        return area


def placements(positive: FloatArray, negative: FloatArray) -> Placements:
    """Placement values from midranks (Sun and Xu 2014), one row per algorithm."""
    from scipy.stats import rankdata

    above, below = np.atleast_2d(positive), np.atleast_2d(negative)
    if len(above) != len(below):
        what = f"of positives come from {len(above)} algorithms, of negatives from {len(below)}."
        raise InputError.at("scores", what, "Give one row per algorithm in both.")
    positives, negatives = above.shape[1], below.shape[1]
    if not positives or not negatives:
        raise UndefinedError("one_class_in_roc")
    together = rankdata(np.concatenate([above, below], axis=1), axis=1)
    return Placements(
        (together[:, :positives] - rankdata(above, axis=1)) / negatives,
        1 - (together[:, positives:] - rankdata(below, axis=1)) / positives,
    )


def auc_covariance(
    placed: Placements,
    *,
    positive_unit: IntArray | None = None,
    negative_unit: IntArray | None = None,
) -> FloatArray:
    """Covariance matrix of the areas of several algorithms on the same scores.

    Without units this is DeLong et al. 1988. With the unit (patient) of every positive and negative
    it is Obuchowski 1997, for several nodules per patient.
    """
    positives, negatives = placed.positive.shape[1], placed.negative.shape[1]
    if positive_unit is None or negative_unit is None:
        positive_unit = np.arange(positives)
        negative_unit = positives + np.arange(negatives)
    _, unit = np.unique(np.concatenate([positive_unit, negative_unit]), return_inverse=True)
    units = int(unit.max()) + 1
    auc = placed.auc[:, np.newaxis]
    above = _sum_by_unit(placed.positive - auc, unit[:positives], units)
    below = _sum_by_unit(placed.negative - auc, unit[positives:], units)
    with_positives = len(np.unique(unit[:positives]))
    with_negatives = len(np.unique(unit[positives:]))
    if with_positives < 2 or with_negatives < 2:
        raise UndefinedError("variance_too_few")
    cross = above @ below.T * units / (units - 1)
    covariance: FloatArray = (
        above @ above.T * with_positives / (with_positives - 1) / positives**2
        + below @ below.T * with_negatives / (with_negatives - 1) / negatives**2
        + (cross + cross.T) / (positives * negatives)
    )
    return covariance


def auc_estimate(
    positive: FloatArray,
    negative: FloatArray,
    *,
    level: float = 0.95,
    positive_unit: IntArray | None = None,
    negative_unit: IntArray | None = None,
) -> Estimate:
    """The area under one ROC curve with a normal interval (DeLong's or Obuchowski's variance).

    The interval is cut at 0 and 1, the limits of an area.
    """
    placed = placements(positive, negative)
    covariance = auc_covariance(placed, positive_unit=positive_unit, negative_unit=negative_unit)
    value, variance = float(placed.auc[0]), float(covariance[0, 0])
    method = _method(positive_unit, negative_unit)
    if not variance > 0:
        return Estimate(value, method=method, reason=Notice("scores_separate"))
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance)
    return Estimate(value, max(value - half, 0.0), min(value + half, 1.0), level, method)


@dataclass(frozen=True, slots=True)
class AucComparison:
    """Area of the first algorithm minus the second's."""

    difference: Estimate
    standard_error: float
    significance: Significance


def compare_auc(
    positive: FloatArray,
    negative: FloatArray,
    *,
    level: float = 0.95,
    positive_unit: IntArray | None = None,
    negative_unit: IntArray | None = None,
) -> AucComparison:
    """Compare two algorithms (rows) that scored the same positives and negatives."""
    placed = placements(positive, negative)
    covariance = auc_covariance(placed, positive_unit=positive_unit, negative_unit=negative_unit)
    variance = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    if not variance > 1e-15:
        raise UndefinedError("no_variance_of_difference")
    error = math.sqrt(variance)
    value = float(placed.auc[0] - placed.auc[1])
    half = NormalDist().inv_cdf((1 + level) / 2) * error
    method = _method(positive_unit, negative_unit)
    return AucComparison(
        difference=Estimate(value, value - half, value + half, level, method),
        standard_error=error,
        significance=Significance(method, value / error, 2 * NormalDist().cdf(-abs(value / error))),
    )


def hanley_mcneil_standard_error(auc: float, positives: int, negatives: int) -> float:
    """Standard error of an area from only the area (Hanley and McNeil 1982)."""
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = (
        auc * (1 - auc) + (positives - 1) * (q1 - auc**2) + (negatives - 1) * (q2 - auc**2)
    ) / (positives * negatives)
    return math.sqrt(variance)


def _method(positive_unit: IntArray | None, negative_unit: IntArray | None) -> Notice:
    is_clustered = positive_unit is not None and negative_unit is not None
    return Notice("obuchowski_clustered" if is_clustered else "delong")


def _sum_by_unit(values: FloatArray, unit: IntArray, units: int) -> FloatArray:
    return np.stack([np.bincount(unit, weights=row, minlength=units) for row in values])
