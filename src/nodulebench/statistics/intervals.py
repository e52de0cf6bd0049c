"""Replicates or counts -> an interval by a classical method, as (low, high) or as an Estimate."""

import math
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import IntervalChoice
from nodulebench.core.results import Estimate

_TIE = 1e-12
"""Values this near, relative to their size, are ties: the same sum in another order."""


def percentile_interval(replicates: FloatArray, level: float) -> tuple[float, float]:
    """The central share of bootstrap replicates, interpolating between order statistics."""
    tail = (1 - level) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail])
    return float(low), float(high)


def sorted_index_interval(
    replicates: npt.NDArray[Any], level: float
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The bounds of the official LUNA16 program: elements of the sorted replicates, per column."""
    ordered = np.sort(replicates, axis=0)
    # floor(share / 2 * count), safe against the rounding of 1 - 0.95; within the array
    low, high = (
        min(math.floor(round(share / 2 * len(ordered), 9)), len(ordered) - 1)
        for share in (1 - level, 1 + level)
    )
    return ordered[low], ordered[high]


def bca_interval(
    value: float, replicates: FloatArray, leave_one_out: FloatArray, level: float
) -> tuple[float, float]:
    """Bias-corrected and accelerated bootstrap (Efron 1987).

    ``leave_one_out`` gives the acceleration; empty: none.
    """
    normal = NormalDist()
    is_tie = np.abs(replicates - value) <= _TIE * max(1.0, abs(value))
    below = np.mean(~is_tie & (replicates < value)) + np.mean(is_tie) / 2
    if not 0 < below < 1:
        return percentile_interval(replicates, level)  # the bias correction would be infinite
    bias = normal.inv_cdf(float(below))
    centre = leave_one_out.mean() if len(leave_one_out) else 0.0
    spread = centre - leave_one_out
    scale = float(np.sum(spread**2)) ** 1.5
    acceleration = float(np.sum(spread**3)) / (6 * scale) if scale > 0 else 0.0
    tail = normal.inv_cdf((1 - level) / 2)

    def corrected(z: float) -> float:
        return normal.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))

    low, high = np.quantile(replicates, [corrected(tail), corrected(-tail)])
    return float(low), float(high)


def jackknife_interval(
    value: float, leave_one_out: FloatArray, level: float
) -> tuple[float, float]:
    """Normal interval from the jackknife variance over units."""
    units = len(leave_one_out)
    variance = (units - 1) / units * float(np.sum((leave_one_out - leave_one_out.mean()) ** 2))
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance)
    return value - half, value + half


def wilson_interval(successes: float, trials: float, level: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, square = successes / trials, z * z / trials
    centre = (share + square / 2) / (1 + square)
    half = z / (1 + square) * math.sqrt(share * (1 - share) / trials + square / (4 * trials))
    return max(0.0, centre - half), min(1.0, centre + half)


def clopper_pearson_interval(successes: float, trials: float, level: float) -> tuple[float, float]:
    """The exact binomial interval for a proportion of independent trials."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    failures = trials - successes
    low = betaincinv(successes, failures + 1, tail) if successes > 0 else 0.0
    high = betaincinv(successes + 1, failures, 1 - tail) if failures > 0 else 1.0
    return float(low), float(high)


def all_or_none_interval(share: float, units: int, level: float) -> tuple[float, float]:
    """The exact interval where every one of so many independent units succeeds, or none does."""
    reach = ((1 - level) / 2) ** (1 / units)
    return (reach, 1.0) if share == 1.0 else (0.0, 1.0 - reach)


def cluster_ratio_interval(
    numerator: FloatArray, denominator: FloatArray, level: float
) -> tuple[float, float]:
    """Normal interval of a ratio of sums over units, with the variance between units.

    Var = K / ((K - 1) (sum n)^2) * sum (x_k - p n_k)^2 over the K units that have a denominator;
    nodules of one patient may correlate in any way. Bounds outside [0, 1] are not cut.
    """
    used = denominator > 0
    x, n = numerator[used], denominator[used]
    units, total = len(n), float(n.sum())
    if units < 2:
        return math.nan, math.nan
    ratio = float(x.sum()) / total
    variance = units / ((units - 1) * total**2) * float(np.sum((x - ratio * n) ** 2))
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance)
    return ratio - half, ratio + half


def make_estimate(
    value: float,
    replicates: FloatArray | None,
    jackknife: FloatArray | None,
    interval: IntervalChoice,
    others: dict[str, tuple[float, float]] | None = None,
    trial_units: int = 0,
) -> Estimate:
    """A value with the interval that the protocol asks for, from its replicates.

    Where all trials of a proportion succeed, or none, every replicate is equal and would give an
    interval without width; the exact one over the ``trial_units`` that have a trial is given.
    """
    if np.isnan(value):
        return Estimate(None, reason=Notice("undefined_here"))
    plain = Estimate(value, others=others or {})
    source = jackknife if interval.method == "jackknife" else replicates
    if source is None:
        return plain
    is_defined = np.isfinite(source)
    lost = int(np.count_nonzero(~is_defined))
    if lost > len(source) // 2 or len(source) - lost < 2:
        values = {"lost": lost, "replicates": len(source)}
        return replace(plain, reason=Notice("no_interval", values))
    defined = source[is_defined]
    drawn = {"unit": interval.unit, "replicates": len(source)}
    match interval.method:
        case "percentile":
            low, high = percentile_interval(defined, interval.level)
            method = Notice("percentile_bootstrap", drawn)
        case "bca":
            left_out = np.empty(0) if jackknife is None else jackknife[np.isfinite(jackknife)]
            low, high = bca_interval(value, defined, left_out, interval.level)
            method = Notice("bca_bootstrap", drawn)
        case "jackknife":
            low, high = jackknife_interval(value, defined, interval.level)
            method = Notice("jackknife", {"unit": interval.unit})
        case _:
            low, high = map(float, sorted_index_interval(defined, interval.level))
            method = Notice("luna16_bootstrap", {"replicates": len(source)})
    reason = None
    mean = None if replicates is None else float(np.mean(defined))
    if trial_units and low == high == value and value in (0.0, 1.0):
        low, high = all_or_none_interval(value, trial_units, interval.level)
        method = Notice("clopper_pearson", {"unit": interval.unit})
        mean = None if replicates is None else value
        reason = Notice("replicates_equal", {"count": trial_units, "unit": interval.unit})
    elif lost:
        reason = Notice("replicates_lost", {"lost": lost, "replicates": len(source)})
    plain = replace(plain, low=low, high=high, level=interval.level)
    return replace(plain, mean=mean, method=method, reason=reason)


def proportion_intervals(
    successes_of_case: FloatArray,
    trials_of_case: FloatArray,
    unit_of_case: IntArray,
    interval: IntervalChoice,
) -> dict[str, tuple[float, float]]:
    successes, trials = float(successes_of_case.sum()), float(trials_of_case.sum())
    if not trials:
        return {}
    intervals: dict[str, tuple[float, float]] = {}
    for method in interval.others:
        match method:
            case "wilson":
                intervals[method] = wilson_interval(successes, trials, interval.level)
            case "clopper_pearson":
                intervals[method] = clopper_pearson_interval(successes, trials, interval.level)
            case "cluster_ratio":
                bounds = cluster_ratio_interval(
                    np.bincount(unit_of_case, successes_of_case).astype(np.float64),
                    np.bincount(unit_of_case, trials_of_case).astype(np.float64),
                    interval.level,
                )
                if np.isfinite(bounds).all():
                    intervals[method] = bounds
    return intervals
