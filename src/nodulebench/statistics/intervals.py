"""Replicates or counts -> an interval. Each function gives (low, high); callers name the method."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from nodulebench.model.arrays import FloatArray


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
    return ordered[_place(1 - level, len(ordered))], ordered[_place(1 + level, len(ordered))]


def _place(share: float, count: int) -> int:
    """floor(share / 2 * count), safe against the rounding of ``1 - 0.95``; within the array."""
    return min(math.floor(round(share / 2 * count, 9)), count - 1)


def bca_interval(
    value: float, replicates: FloatArray, leave_one_out: FloatArray, level: float
) -> tuple[float, float]:
    """Bias-corrected and accelerated bootstrap (Efron 1987).

    Args:
        value: the estimate on all units.
        replicates: bootstrap replicates.
        leave_one_out: the estimate with each unit left out, for the acceleration.
        level: confidence level.
    """
    normal = NormalDist()
    below = np.mean(replicates < value) + np.mean(replicates == value) / 2
    if not 0 < below < 1:
        return percentile_interval(replicates, level)  # the bias correction would be infinite
    bias = normal.inv_cdf(float(below))
    spread = leave_one_out.mean() - leave_one_out
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
    """Wilson's score interval for a proportion of independent trials."""
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
