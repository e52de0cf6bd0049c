"""Resampling: rows of case weights, drawn in blocks so that memory stays small."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray, WeightArray

_BLOCK_ELEMENTS = 8_000_000


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Resampling with replacement of units (patients or cases).

    A replicate is a row of case weights: how often each case's unit was drawn. The same seed gives
    the same rows for every algorithm, so differences between algorithms are paired.
    """

    unit_of_case: IntArray
    replicates: int
    seed: int
    is_legacy: bool = False
    """Draw as the official LUNA16 program does: numpy's legacy generator, cases in list order."""

    def blocks(self) -> Iterator[WeightArray]:
        """The replicates in blocks of rows, always the same."""
        units = int(self.unit_of_case.max(initial=-1)) + 1
        cases = len(self.unit_of_case)
        is_identity = np.array_equal(self.unit_of_case, np.arange(cases))
        if max(cases, 1) * self.replicates <= _BLOCK_ELEMENTS:
            drawn: Iterable[WeightArray] = (
                _drawn_once(units, self.replicates, self.seed, self.is_legacy),
            )
        else:
            drawn = _draw(units, self.replicates, self.seed, self.is_legacy)
        for block in drawn:
            if len(block):
                yield block if is_identity else block[:, self.unit_of_case]


def _draw(units: int, replicates: int, seed: int, is_legacy: bool) -> Iterator[WeightArray]:
    """How often each unit is drawn in each replicate, in blocks of rows."""
    state = np.random.RandomState(seed)
    draw = state.randint if is_legacy else np.random.default_rng(seed).integers
    rows = max(1, _BLOCK_ELEMENTS // max(units, 1))
    for start in range(0, replicates, rows):
        block = np.empty((min(rows, replicates - start), units), dtype=np.int32)
        for row in block:
            row[:] = np.bincount(draw(0, units, units), minlength=units)
        yield block


@lru_cache(maxsize=1)
def _drawn_once(units: int, replicates: int, seed: int, is_legacy: bool) -> WeightArray:
    """Draws that fit into one block; the same ones serve every metric, rule and algorithm."""
    blocks = list(_draw(units, replicates, seed, is_legacy))
    together = np.concatenate(blocks) if blocks else np.empty((0, units), dtype=np.int32)
    together.setflags(write=False)
    return together


def leave_one_out(unit_of_case: IntArray) -> Iterator[WeightArray]:
    """For each unit the weights of all cases but its own, in blocks of rows."""
    units = int(unit_of_case.max(initial=-1)) + 1
    rows = max(1, _BLOCK_ELEMENTS // max(len(unit_of_case), 1))
    for start in range(0, units, rows):
        left_out = np.arange(start, min(start + rows, units))
        yield (unit_of_case[np.newaxis, :] != left_out[:, np.newaxis]).astype(np.int32)


@dataclass(frozen=True, slots=True)
class UnitWeights:
    """Some replicates: weights of units (columns), and quantiles for the pseudo-patient."""

    weight: FloatArray
    quantile: FloatArray

    def pseudo(self, is_used: BoolArray, *, is_abnormal: bool) -> FloatArray:
        """The weight of a pseudo-unit among these: relative to their sum it is Exp(1).

        Drawn by its quantile, so that a bound where nothing was missed is exact to 1 / replicates.
        The weight of the normal case is large where that of the abnormal one is small: a row is
        not charged twice. ``is_used`` has a column for each metric.
        """
        drawn = -np.log1p(-self.quantile) if is_abnormal else -np.log(self.quantile)
        among = drawn[:, np.newaxis] / is_used.sum(axis=0)
        weight: FloatArray = (self.weight @ is_used.astype(np.float64)) * np.expm1(among)
        return weight


@dataclass(frozen=True, slots=True)
class GuardedBootstrap:
    """The same weights for every metric, rule and algorithm of the same units and seed."""

    unit_of_case: IntArray
    replicates: int
    seed: int

    @property
    def units(self) -> int:
        return int(self.unit_of_case.max(initial=-1)) + 1

    def blocks(self) -> Iterator[UnitWeights]:
        """The replicates in blocks, always the same; where blocks are cut does not matter."""
        if self.units * self.replicates <= _BLOCK_ELEMENTS:
            yield _guarded_drawn_once(self.units, self.replicates, self.seed)
        else:
            yield from _guarded_draw(self.units, self.replicates, self.seed)

    def per_unit(self, of_case: FloatArray) -> FloatArray:
        sums = np.bincount(self.unit_of_case, of_case, minlength=self.units)
        return sums.astype(np.float64, copy=False)


def _guarded_draw(units: int, replicates: int, seed: int) -> Iterator[UnitWeights]:
    random = np.random.default_rng([seed, 0])
    quantile = (np.random.default_rng([seed, 1]).permutation(replicates) + 0.5) / replicates
    rows = max(1, _BLOCK_ELEMENTS // max(units, 1))
    for start in range(0, replicates, rows):
        part = quantile[start : start + rows]
        yield UnitWeights(random.standard_exponential((len(part), units)), part)


@lru_cache(maxsize=1)
def _guarded_drawn_once(units: int, replicates: int, seed: int) -> UnitWeights:
    (drawn,) = _guarded_draw(units, max(replicates, 1), seed)
    drawn.weight.setflags(write=False)
    return drawn


@dataclass(frozen=True, slots=True)
class GuardedRatio:
    """A ratio of two sums over units, and what the two cases of the pseudo-patient add to each."""

    numerator: FloatArray
    denominator: FloatArray
    worst: FloatArray
    """Rows numerator and denominator, columns abnormal and normal case."""
    best: FloatArray
    peer_units: tuple[BoolArray, BoolArray]
    """The units among which the abnormal, and the normal, pseudo-case is weighted."""


def proportion_of(successes: FloatArray, trials: FloatArray, size: float) -> GuardedRatio:
    """A share of trials: the pseudo-unit has ``size`` of them, which all fail or all succeed."""
    has_trial = trials > 0
    return GuardedRatio(
        successes,
        trials,
        worst=np.array([[0.0, 0.0], [size, 0.0]]),
        best=np.array([[size, 0.0], [size, 0.0]]),
        peer_units=(has_trial, has_trial),
    )


@dataclass(frozen=True, slots=True)
class RatioSums:
    """The sums of many ratios: one row per replicate, one column per ratio."""

    above: FloatArray
    below: FloatArray
    abnormal: FloatArray
    normal: FloatArray

    def column(self, number: int) -> "RatioSums":
        parts = (self.above, self.below, self.abnormal, self.normal)
        return RatioSums(*(part[:, number] for part in parts))

    def read(self, pseudo: FloatArray) -> FloatArray:
        """The ratios with what the pseudo-patient adds to them.

        ``pseudo`` is (ratios x) (numerator, denominator) x (abnormal, normal case).
        """
        above, below = (
            real + self.abnormal * pseudo[..., place, 0] + self.normal * pseudo[..., place, 1]
            for place, real in enumerate((self.above, self.below))
        )
        ratio: FloatArray = np.full(below.shape, np.nan)
        return np.divide(above, below, out=ratio, where=below > 0)


def ratio_sums(ratios: Sequence[GuardedRatio], weights: UnitWeights) -> RatioSums:
    """Sums over units of many ratios at once, and the weights of their pseudo-patients."""
    weight = weights.weight
    abnormal, normal = (
        weights.pseudo(
            np.column_stack([ratio.peer_units[case] for ratio in ratios]), is_abnormal=is_first
        )
        for case, is_first in enumerate((True, False))
    )
    above = weight @ np.column_stack([ratio.numerator for ratio in ratios])
    below = weight @ np.column_stack([ratio.denominator for ratio in ratios])
    return RatioSums(above, below, abnormal, normal)


def ratio_rows(
    ratios: Sequence[GuardedRatio], weights: UnitWeights
) -> tuple[FloatArray, FloatArray]:
    """Many ratios at once: rows at worst and at best, one row per replicate, a column per ratio."""
    sums = ratio_sums(ratios, weights)
    return (
        sums.read(np.stack([ratio.worst for ratio in ratios])),
        sums.read(np.stack([ratio.best for ratio in ratios])),
    )


def guarded_interval(
    value: float, worst: FloatArray, best: FloatArray, level: float
) -> tuple[float, float]:
    """Bounds from the rows at worst and at best; no need to know which of them is the lower."""
    tail = (1 - level) / 2
    low, high = np.quantile(np.stack([worst, best]), [tail, 1 - tail], axis=1)
    return min(float(low.min()), value), max(float(high.max()), value)


def guarded_p_value(
    value: float, worst: FloatArray, best: FloatArray, limit: float, *, is_low: bool
) -> float:
    """One-sided P value of a bound's claim: the smallest tail at which the bound reaches a limit.

    A value that misses the limit itself has P 1. The limit itself is good enough.
    """
    sign = 1.0 if is_low else -1.0
    if sign * value < sign * limit:
        return 1.0
    tails = [_tail_before(np.sort(sign * rows), sign * limit, "left") for rows in (worst, best)]
    return max(*tails, 1 / (len(worst) + 1))


def p_value_above(rows: FloatArray, limit: float, value: float = math.inf) -> float:
    """One-sided P value: the smallest tail at which the low bound of rows exceeds a limit.

    The bound is the quantile of the rows, as in the interval, so the two always agree. The P value
    is never below 1 / (rows + 1), the least that so many rows can show, and 1 where the observed
    value itself does not exceed the limit.
    """
    if value <= limit:
        return 1.0
    return max(_tail_before(np.sort(rows), limit, "right"), 1 / (len(rows) + 1))


def _tail_before(ascending: FloatArray, limit: float, side: Literal["left", "right"]) -> float:
    """The share at which quantiles, interpolated between rows, reach (left) or pass a limit."""
    below = int(np.searchsorted(ascending, limit, side))
    if below in (0, len(ascending)):
        return float(below > 0)
    before, after = ascending[below - 1 : below + 1]
    position = below - 1 + (limit - before) / (after - before)
    return float(position / (len(ascending) - 1))


def bound_reach(rows: FloatArray, share: float) -> tuple[float, float]:
    """The range of a quantile of rows by chance of drawing: two standard errors to either side."""
    reach = 2 * np.sqrt(share * (1 - share) / len(rows))
    low, high = np.quantile(rows, np.clip([share - reach, share + reach], 0, 1))
    return float(low), float(high)


def units_needed(units: int, gap: float, allowed: float, level: float) -> int | None:
    """How many units a perfect result needs for a bound that is so near to perfect.

    With K units and r = tail^(-1/K) - 1 the bound of a perfect result is g from perfect where
    g / (1 - g) = r * s; s follows from what is known of these units. None: no number would do.

    ``gap`` is the distance of the bound of a perfect result from perfect on the present units.
    """
    if not 0 < allowed < 1 or not 0 < gap < 1:
        return None
    log_tail = -math.log((1 - level) / 2)
    scale = gap / (1 - gap) / math.expm1(log_tail / units)
    return math.ceil(log_tail / math.log1p(allowed / (1 - allowed) / scale) - 1e-6)
