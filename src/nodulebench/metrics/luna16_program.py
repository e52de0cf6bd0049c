"""The FROC as the official LUNA16 program computes it, to the last bit.

The program forms fractions first and multiplies them back, ``(fp / FP) * FP / scans``, so a point
can land one rounding unit to the right of a rate it should meet; then the bottom of the step is
read. It also samples each bootstrap curve on 10,000 rates in single precision. This module does
both, because published numbers contain them; ``metrics.froc`` has the exact counts.
"""

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.results import Curve
from nodulebench.metrics.score_order import ScoreOrder, find_brackets, score_order

GRID = np.linspace(0.125, 8, 10000)
"""The rates at which the program samples each bootstrap curve."""


def official_curve(cohort: LabelledCohort) -> Curve:
    """The curve of the program's ``froc_<name>.txt``, in full precision.

    Raises:
        UndefinedError: where the program stops or gives NaN.
    """
    order = _defined_order(cohort)
    corners = _corner_points(order.hits_through[1:], order.falses_through[1:])
    hits = np.concatenate([[0], order.hits_through[1:][corners]])
    falses = np.concatenate([[0], order.falses_through[1:][corners]])
    return Curve(
        name="froc",
        x_name="false positives per case",
        y_name="sensitivity",
        x=_fp_per_scan(falses, order.falses_through[-1], cohort.case_count),
        y=hits / order.hits_through[-1] * order.hits_through[-1] / cohort.nodule_count,
        threshold=np.concatenate([[np.inf], order.threshold[1:][corners]]),
    )


def official_sensitivity(
    cohort: LabelledCohort, case_weight: WeightArray, *, operating_points: tuple[float, ...]
) -> FloatArray:
    """The program's curve read at given rates (columns) in each replicate (rows).

    NaN where a replicate has no hit. Case weights are numbers of repetitions; their sum is the
    number of scans.
    """
    order = _defined_order(cohort)
    rates = np.asarray(operating_points, dtype=np.float64)
    scans = case_weight.sum(axis=1)
    false_total, hit_total, nodule_total = (
        case_weight @ np.bincount(case, minlength=cohort.case_count)
        for case in (order.false_case, order.hit_case, cohort.nodule_case)
    )
    # the largest count whose rate, in the program's arithmetic, is not above each given rate
    allowed = np.zeros((len(scans), len(rates)))
    for step in (-1, 0, 1):
        count = np.floor(rates * scans[:, np.newaxis]) + step
        rate = _fp_per_scan(count, false_total[:, np.newaxis], scans[:, np.newaxis])
        allowed = np.where((count >= 0) & (rate <= rates), count, allowed)
    around = find_brackets(order, case_weight, allowed)
    with np.errstate(invalid="ignore", divide="ignore"):
        hit_share = around.hits / hit_total[:, np.newaxis] * hit_total[:, np.newaxis]
        read = hit_share / nodule_total[:, np.newaxis]
    # between two points of different height the program interpolates along a group of equal scores
    is_sloped = (around.next_hits > around.hits) & (around.next_falses > around.falses)
    for row in np.flatnonzero(is_sloped.any(axis=1)):
        columns = np.flatnonzero(is_sloped[row])
        read[row, columns] = _read_whole_curve(
            order, case_weight[row], nodule_total[row], scans[row], rates[columns]
        )
    return read


def grid_neighbours(operating_points: tuple[float, ...]) -> IntArray:
    """The indices of the grid's rates next to the given ones, ascending."""
    right = np.clip(np.searchsorted(GRID, operating_points), 0, len(GRID) - 1)
    return np.unique(np.concatenate([np.maximum(right - 1, 0), right]))


def _defined_order(cohort: LabelledCohort) -> ScoreOrder:
    order = score_order(cohort)
    if not len(order.hit_case):
        if not len(order.false_case):
            raise UndefinedError("program_stops")
        raise UndefinedError("program_gives_nan")
    return order


def _fp_per_scan(
    falses: FloatArray | IntArray, total: WeightArray, scans: WeightArray | int
) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        rate: FloatArray = falses / total * total / scans
    return np.asarray(np.where(total > 0, rate, 0.0), dtype=np.float64)


def _corner_points(hits: WeightArray, falses: WeightArray) -> IntArray:
    """The points that remain when the middle of three equally spaced collinear points is dropped.

    scikit-learn's ``roc_curve`` does this before it adds (0, 0).
    """
    if len(hits) <= 2:
        return np.arange(len(hits))
    is_corner = (np.diff(hits, 2) != 0) | (np.diff(falses, 2) != 0)
    return np.concatenate([[0], 1 + np.flatnonzero(is_corner), [len(hits) - 1]])


def _read_whole_curve(
    order: ScoreOrder, weight: WeightArray, nodules: float, scans: int, rates: FloatArray
) -> FloatArray:
    """One replicate's curve built as the program builds it, read at some rates."""
    hits = np.concatenate([[0], np.cumsum(weight[order.hit_case])])[order.hits_through]
    falses = np.concatenate([[0], np.cumsum(weight[order.false_case])])[order.falses_through]
    is_new = np.append(False, (np.diff(hits) > 0) | (np.diff(falses) > 0))
    hits, falses = hits[is_new], falses[is_new]
    corners = _corner_points(hits, falses)
    x = _fp_per_scan(np.concatenate([[0], falses[corners]]), falses[-1], scans)
    y: FloatArray = np.concatenate([[0], hits[corners]]) / hits[-1] * hits[-1] / nodules
    return np.interp(rates, x, y)
