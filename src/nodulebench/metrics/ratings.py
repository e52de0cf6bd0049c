"""Ratings of cases and nodules -> how often a signal is rated above noise, and the curve of it.

Areas under AFROC, LROC and ROC curves are all the same sum over pairs of a noise rating x and a
signal rating y: 1 where y > x, 1/2 where they are equal, 0 otherwise. What was never marked has
the rating -inf, which equals itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.results import Curve
from nodulebench.metrics.metric import divide
from nodulebench.metrics.score_order import hits_at, running_counts, sort_scores

TWO_FRACTIONS = (0.05, 0.2)
"""Where a curve is usually read: fractions of normal cases (or benign nodules) called abnormal."""

_BLOCK_ELEMENTS = 1_000_000
"""Numbers held at once in each work array (8 MB): small enough to stay near the processor."""


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of cases or nodules, each in a case and with a share in the sum."""

    case: IntArray
    rating: FloatArray
    share: FloatArray

    def total(self, case_weight: WeightArray) -> FloatArray:
        of_case = np.bincount(self.case, self.share, minlength=case_weight.shape[1])
        return case_weight @ of_case


def rated(case: IntArray, rating: FloatArray) -> Ratings:
    """Ratings that all have the share 1."""
    return Ratings(case, rating, np.ones(len(case)))


def is_abnormal(cohort: LabelledCohort) -> BoolArray:
    """Which cases have at least one nodule to find."""
    return np.bincount(cohort.nodule_case, minlength=cohort.case_count) > 0


def require_scores(cohort: LabelledCohort) -> None:
    """Require scores; a submission without scores has only one operating point."""
    if not cohort.has_scores:
        raise UndefinedError("no_scores")


def require_cases(cohort: LabelledCohort, metric: str, instead: str = "") -> None:
    """Require scores, and both normal and abnormal cases."""
    require_scores(cohort)
    abnormal = is_abnormal(cohort)
    if not abnormal.any():
        raise UndefinedError("no_nodules")
    if abnormal.all():
        raise UndefinedError("no_normal_case_for", metric=metric, instead=instead)


def highest_by_case(cohort: LabelledCohort, case: IntArray, score: FloatArray) -> FloatArray:
    highest = np.full(cohort.case_count, -np.inf)
    np.maximum.at(highest, case, score)
    return highest


def highest_false(cohort: LabelledCohort) -> FloatArray:
    """The highest score of a false positive in every case, -inf where there is none."""
    every = cohort.at_every_score
    return highest_by_case(cohort, every.false_case, every.false_score)


def highest_hit(cohort: LabelledCohort) -> FloatArray:
    every = cohort.at_every_score
    return highest_by_case(cohort, every.nodule_case[every.is_hit], every.hit_score[every.is_hit])


def row_blocks(case_weight: WeightArray, width: int) -> Iterator[slice]:
    """Blocks of replicates so small that work arrays of this width take little memory."""
    rows = max(1, _BLOCK_ELEMENTS // max(width, 1))
    for start in range(0, len(case_weight), rows):
        yield slice(start, start + rows)


def wins(noise: Ratings, signal: Ratings, case_weight: WeightArray) -> FloatArray:
    """The weighted sum over all pairs of noise and signal, for each replicate.

    Both lists are sorted once; each replicate then costs one pass over them.
    """
    by_noise = np.argsort(noise.rating, kind="stable")
    by_signal = np.argsort(signal.rating, kind="stable")
    level = signal.rating[by_signal]
    below = np.searchsorted(noise.rating[by_noise], level, "left")
    through = np.searchsorted(noise.rating[by_noise], level, "right")
    noise_case, noise_share = noise.case[by_noise], noise.share[by_noise, np.newaxis]
    signal_case, signal_half = signal.case[by_signal], signal.share[by_signal, np.newaxis] / 2

    total = np.empty(len(case_weight))
    cumulated = np.zeros((0, 0))
    for block in row_blocks(case_weight, len(noise_case) + len(signal_case)):
        weight = np.ascontiguousarray(case_weight[block].T, dtype=np.float64)
        if cumulated.shape[1] != weight.shape[1]:
            cumulated = np.zeros((len(noise_case) + 1, weight.shape[1]))
        np.cumsum(weight[noise_case] * noise_share, axis=0, out=cumulated[1:])
        beaten = cumulated[below]
        beaten += cumulated[through]
        total[block] = np.einsum("sr,sr->r", beaten, weight[signal_case] * signal_half)
    return total


def concordance(noise: Ratings, signal: Ratings, case_weight: WeightArray) -> FloatArray:
    """The share of pairs in which the signal wins; NaN in replicates that lack either kind."""
    pairs = noise.total(case_weight) * signal.total(case_weight)
    return divide(wins(noise, signal, case_weight), pairs)


def signal_at(
    noise: Ratings,
    signal: Ratings,
    case_weight: WeightArray,
    fractions: tuple[float, ...],
    signal_total: FloatArray | None = None,
) -> FloatArray:
    """The share of signal on the curve of both where x is each fraction of the noise (columns).

    The straight line between neighbouring points is read; on a vertical step its top.

    Noise and signal have the share 1 each. ``signal_total`` is the denominator of y, if it is not
    all of the signal.
    """
    order = sort_scores(signal.case, signal.rating, noise.case, noise.rating)
    noises = noise.total(case_weight)
    signals = signal.total(case_weight) if signal_total is None else signal_total
    # 0.29 * 100 is a little less than 29: rounding puts the reading back on the step
    allowed = np.round(np.multiply.outer(noises, np.asarray(fractions)), 9)
    hits = hits_at(order, case_weight, allowed, is_linear=True)
    total = np.where(noises > 0, signals, 0)[:, np.newaxis]
    return divide(hits, np.repeat(total, len(fractions), axis=1))


def mean_signal_until(
    noise: Ratings, signal: Ratings, case_weight: WeightArray, fractions: tuple[float, ...]
) -> FloatArray:
    """The mean height of the curve of both from x = 0 to each fraction of the noise (columns).

    It is the partial area divided by its width (Jiang et al., Radiology 201 (1996) 745-750).
    """
    order = sort_scores(signal.case, signal.rating, noise.case, noise.rating)
    width = np.multiply.outer(noise.total(case_weight), np.asarray(fractions))
    area = np.empty_like(width)
    for block in row_blocks(case_weight, 2 * len(order.threshold)):
        x = running_counts(order.false_case, order.falses_through, case_weight[block])
        y = running_counts(order.hit_case, order.hits_through, case_weight[block])
        step, rise = np.diff(x, axis=1), np.diff(y, axis=1)
        for column in range(len(fractions)):
            inside = np.diff(np.minimum(x, width[block, column, np.newaxis]), axis=1)
            share = np.divide(inside, step, out=np.zeros_like(step), where=step > 0)
            area[block, column] = (inside * (y[:, :-1] + rise * share / 2)).sum(axis=1)
    return divide(area, width * signal.total(case_weight)[:, np.newaxis])


def rating_curve(
    noise: Ratings,
    signal: Ratings,
    name: str,
    x_name: str,
    y_name: str,
    *,
    signal_total: float | None = None,
) -> Curve:
    """Share of noise against share of signal rated at or above each threshold, from (0, 0).

    ``signal_total`` is the denominator of y, if it is not all of the signal.
    """
    threshold = np.unique(np.concatenate([noise.rating, signal.rating]))[::-1]
    total = signal.share.sum() if signal_total is None else signal_total

    def share_through(part: Ratings) -> FloatArray:
        order = np.argsort(-part.rating, kind="stable")
        cumulated = np.concatenate([[0.0], np.cumsum(part.share[order])])
        return cumulated[np.searchsorted(-part.rating[order], -threshold, "right")]

    return Curve(
        name=name,
        x_name=x_name,
        y_name=y_name,
        x=np.concatenate([[0.0], share_through(noise) / noise.share.sum()]),
        y=np.concatenate([[0.0], share_through(signal) / total]),
        threshold=np.concatenate([[np.inf], threshold]),
    )
