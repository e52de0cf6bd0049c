"""FROC: sensitivity against false positives per case, its readings at chosen rates, and the CPM.

Counts stay integers until the last division, so a rate that falls on a step of the curve reads
the top of the step for any number of cases.
"""

from typing import Literal

import numpy as np

from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.protocol import SEVEN_RATES
from nodulebench.core.results import Curve
from nodulebench.metrics.luna16_program import official_sensitivity
from nodulebench.metrics.score_order import ScoreOrder, hits_at, score_order

Interpolation = Literal["linear", "step", "luna16"]


def froc_curve(cohort: LabelledCohort) -> Curve:
    """The FROC curve by all its points, from (0, 0) to the last threshold."""
    order = score_order(cohort)
    return curve_of(order, cases=cohort.case_count, nodules=cohort.nodule_count)


def curve_of(order: ScoreOrder, *, cases: int, nodules: int) -> Curve:
    """The curve of sorted hits and false positives."""
    return Curve(
        name="froc",
        x_name="false positives per case",
        y_name="sensitivity",
        x=order.falses_through / cases,
        y=order.hits_through / nodules,
        threshold=order.threshold,
    )


def sensitivity_at_fp_rate(
    cohort: LabelledCohort,
    case_weight: WeightArray,
    *,
    operating_points: tuple[float, ...] = SEVEN_RATES,
    interpolation: Interpolation = "linear",
) -> FloatArray:
    """Sensitivity at given numbers of false positives per case (columns), per replicate (rows).

    ``linear`` reads the straight line between neighbouring operating points (it differs from
    ``step`` only inside a group of equal scores); ``step`` reads the best sensitivity reached with
    no more false positives than allowed. Beyond the end of the curve its last value holds.
    ``luna16`` gives the official program's number, rounding included.
    """
    if interpolation == "luna16":
        return official_sensitivity(cohort, case_weight, operating_points=operating_points)
    order = score_order(cohort)
    cases = case_weight.sum(axis=1, dtype=np.float64)
    nodules_of_case = np.bincount(cohort.nodule_case, minlength=cohort.case_count)
    nodules = case_weight @ nodules_of_case.astype(np.float64)
    allowed = np.multiply.outer(cases, np.asarray(operating_points, dtype=np.float64))
    hits = hits_at(order, case_weight, allowed, is_linear=interpolation == "linear")
    with np.errstate(invalid="ignore"):
        return hits / np.where(nodules > 0, nodules, np.nan)[:, np.newaxis]


def cpm(
    cohort: LabelledCohort,
    case_weight: WeightArray,
    *,
    operating_points: tuple[float, ...] = SEVEN_RATES,
    interpolation: Interpolation = "linear",
) -> FloatArray:
    """Competition performance metric: mean sensitivity over the operating points."""
    read = sensitivity_at_fp_rate(
        cohort, case_weight, operating_points=operating_points, interpolation=interpolation
    )
    mean: FloatArray = read.mean(axis=1)
    return mean


def cpm_exact(
    cohort: LabelledCohort,
    case_weight: WeightArray,
    *,
    operating_points: tuple[float, ...] = SEVEN_RATES,
) -> FloatArray:
    """Mean sensitivity over the operating points from exact counts, under every protocol."""
    return cpm(cohort, case_weight, operating_points=operating_points, interpolation="linear")
