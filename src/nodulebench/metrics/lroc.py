"""LROC: each case rated by its highest mark, credited only if that mark is on a nodule.

x is the fraction of cases without nodules whose rating reaches a threshold, y the fraction of
cases with nodules whose rating reaches it and whose highest mark is a hit. A false positive as
high as the best hit leaves the location wrong: the reader could not distinguish the two. A case
without marks is never correct, so the curve ends below 1 where nodules are missed. Swensson,
Medical Physics 23 (1996) 1709-1725.
"""

import numpy as np

from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.results import Curve
from nodulebench.metrics.metric import divide
from nodulebench.metrics.ratings import (
    TWO_FRACTIONS,
    Ratings,
    highest_false,
    highest_hit,
    is_abnormal,
    rated,
    rating_curve,
    require_cases,
    signal_at,
    wins,
)


def lroc_area(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Area under the LROC: correctly located abnormal cases rated above normal ones."""
    normal, correct = _case_ratings(cohort)
    pairs = normal.total(case_weight) * _abnormal_total(cohort, case_weight)
    return divide(wins(normal, correct, case_weight), pairs)


def pcl_at_fpf(
    cohort: LabelledCohort,
    case_weight: WeightArray,
    *,
    fpf_points: tuple[float, ...] = TWO_FRACTIONS,
) -> FloatArray:
    """Fraction of abnormal cases correctly located, read on the LROC at given x (columns)."""
    normal, correct = _case_ratings(cohort)
    abnormal = _abnormal_total(cohort, case_weight)
    return signal_at(normal, correct, case_weight, fpf_points, abnormal)


def lroc_curve(cohort: LabelledCohort) -> Curve:
    """The LROC curve by all its points, from (0, 0) to x = 1."""
    normal, correct = _case_ratings(cohort)
    names = ("normal cases called abnormal", "abnormal cases correctly located")
    abnormal = float(np.count_nonzero(is_abnormal(cohort)))
    return rating_curve(normal, correct, "lroc", *names, signal_total=abnormal)


def _case_ratings(cohort: LabelledCohort) -> tuple[Ratings, Ratings]:
    """Normal cases, and those abnormal ones whose highest mark is a hit."""
    require_cases(cohort, "lroc")
    false, hit = highest_false(cohort), highest_hit(cohort)
    normal, correct = np.flatnonzero(~is_abnormal(cohort)), np.flatnonzero(hit > false)
    return rated(normal, false[normal]), rated(correct, hit[correct])


def _abnormal_total(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    return case_weight @ is_abnormal(cohort).astype(np.float64)
