"""Hits and false positives from the best score down, and where a rate meets their curve."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray, WeightArray
from nodulebench.core.cache import cached_on_owner
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.protocol import TestProtocol

_ELEMENTS = 250_000  # running sums held at a time; more would leave the processor's cache


@dataclass(frozen=True, slots=True)
class ScoreOrder:
    """Hits and false positives from the best score down; equal scores form one group.

    Group g ends after ``hits_through[g]`` hits and ``falses_through[g]`` false positives;
    group 0 is the empty beginning of the curve.
    """

    hit_case: IntArray
    false_case: IntArray
    hits_through: IntArray
    falses_through: IntArray
    threshold: FloatArray


@cached_on_owner
def score_order(cohort: LabelledCohort) -> ScoreOrder:
    """Sort a cohort's hits and false positives by score, once for all weights and metrics."""
    if not cohort.has_scores:
        raise UndefinedError("no_scores")
    if not cohort.nodule_count:
        raise UndefinedError("no_nodules")
    cohort = cohort.at_every_score
    return sort_scores(
        cohort.nodule_case[cohort.is_hit],
        cohort.hit_score[cohort.is_hit],
        cohort.false_case,
        cohort.false_score,
    )


def threshold_at(cohort: LabelledCohort, fp_per_case: float) -> float:
    """The lowest score that gives no more false positives per case; infinite where none does."""
    order = score_order(cohort)
    rate = order.falses_through / cohort.case_count
    return float(order.threshold[np.searchsorted(rate, fp_per_case, "right") - 1])


def at_operating_point(cohort: LabelledCohort, protocol: TestProtocol) -> LabelledCohort:
    """The cohort at the protocol's operating point, else at the algorithm's declared threshold.

    A threshold of the protocol takes the place of a declared one; where there is neither, the
    cohort stays as it is.
    """
    if protocol.operating_point is not None:
        return cohort.over(threshold_at(cohort, protocol.operating_point))
    declared = cohort.submission.threshold
    if declared is None or protocol.score_threshold is not None or not cohort.has_scores:
        return cohort
    return cohort.over(declared)


def sort_scores(
    hit_case: IntArray, hit_score: FloatArray, false_case: IntArray, false_score: FloatArray
) -> ScoreOrder:
    by_hit = np.argsort(-hit_score, kind="stable")
    by_false = np.argsort(-false_score, kind="stable")
    hit_score, false_score = hit_score[by_hit], false_score[by_false]
    threshold = np.unique(np.concatenate([hit_score, false_score]))[::-1]
    return ScoreOrder(
        hit_case=hit_case[by_hit],
        false_case=false_case[by_false],
        hits_through=np.concatenate([[0], np.searchsorted(-hit_score, -threshold, "right")]),
        falses_through=np.concatenate([[0], np.searchsorted(-false_score, -threshold, "right")]),
        threshold=np.concatenate([[np.inf], threshold]),
    )


@dataclass(frozen=True, slots=True)
class Brackets:
    """Where a rate meets the curve: the last point at or below it, and the point after.

    One row per replicate, one column per rate. At the end of the curve both points are its last.
    """

    hits: FloatArray
    falses: FloatArray
    next_hits: FloatArray
    next_falses: FloatArray


def find_brackets(
    order: ScoreOrder, case_weight: WeightArray, allowed_falses: FloatArray
) -> Brackets:
    """Find the curve's points around a number of false positives, for many case weights.

    Each replicate is one pass over the false positives that can matter (those until the highest
    allowed number is passed in that replicate), so the cost is replicates x rates x false
    positives per case, not the number of marks.
    """
    total = len(order.false_case)
    groups_ending_by = np.searchsorted(order.falses_through, np.arange(total + 1), "right")
    last_group = len(order.threshold) - 1
    prefix = _end_of_group(order, 64 + int(1.15 * np.max(allowed_falses, initial=0)))
    points = np.empty((4, *allowed_falses.shape))
    start = 0
    while start < len(case_weight):
        rows = slice(start, start + max(1, _ELEMENTS // (prefix + 1)))
        weight, allowed = case_weight[rows], allowed_falses[rows]
        falses = _running_sums(weight, order.false_case[:prefix])
        if prefix < total and np.any(falses[:, -1] <= allowed.max(axis=1, initial=0)):
            prefix = _end_of_group(order, 2 * prefix + 1)
            continue
        hits = _running_sums(weight, order.hit_case)
        within = [
            np.searchsorted(row[1:], limit, "right")
            for row, limit in zip(falses, allowed, strict=True)
        ]
        group = groups_ending_by[np.stack(within)] - 1
        after = np.minimum(group + 1, last_group)
        points[0, rows] = np.take_along_axis(hits, order.hits_through[group], axis=1)
        points[1, rows] = np.take_along_axis(falses, order.falses_through[group], axis=1)
        points[2, rows] = np.take_along_axis(hits, order.hits_through[after], axis=1)
        points[3, rows] = np.take_along_axis(falses, order.falses_through[after], axis=1)
        start = rows.stop
    return Brackets(*points)


def _running_sums(case_weight: WeightArray, case: IntArray) -> WeightArray:
    """For each row of weights the running sum over entries of these cases, from 0."""
    taken = np.empty((len(case_weight), len(case)), case_weight.dtype)
    np.take(case_weight, case, axis=1, out=taken, mode="clip")  # several times as fast as indexing
    sums = np.zeros((len(case_weight), len(case) + 1), np.result_type(case_weight.dtype, np.int32))
    np.cumsum(taken, axis=1, out=sums[:, 1:])
    return sums


def _end_of_group(order: ScoreOrder, count: int) -> int:
    """The number of false positives through the end of the group of the count-th one."""
    if count >= len(order.false_case):
        return len(order.false_case)
    return int(order.falses_through[np.searchsorted(order.falses_through, count)])


def hits_at(
    order: ScoreOrder, case_weight: WeightArray, allowed_falses: FloatArray, *, is_linear: bool
) -> FloatArray:
    """Weighted hits where the curve meets an allowed number of false positives.

    Linear reading follows the straight line between neighbouring points of the curve; otherwise
    the last point at or below the allowed number is read. Beyond its end the last value holds.
    """
    around = find_brackets(order, case_weight, allowed_falses)
    if not is_linear:
        return around.hits
    width = around.next_falses - around.falses
    distance = allowed_falses - around.falses
    share = np.divide(distance, width, out=np.zeros_like(width), where=width > 0)
    return around.hits + share * (around.next_hits - around.hits)


def running_counts(case: IntArray, through: IntArray, case_weight: WeightArray) -> FloatArray:
    """The weighted number of sorted entries through some places (columns), per replicate (rows)."""
    last = int(through.max(initial=0))
    sums = np.zeros(last + 1, np.result_type(case_weight.dtype, np.int64))
    counts = np.empty((len(case_weight), len(through)))
    for row, weight in enumerate(case_weight):
        np.cumsum(weight.take(case[:last]), out=sums[1:])
        counts[row] = sums[through]
    return counts
