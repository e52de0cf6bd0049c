"""Expected sensitivity and wanted precision -> nodules and patients."""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.statistics.sample_size.result import (
    ASSUMED_CORRELATION,
    Plan,
    PlanPoint,
    check_between,
    clustering,
    curve_around,
)


def size_for_sensitivity(
    *,
    sensitivity: float,
    half_width: float,
    nodules_per_patient: float = 1.0,
    nodules_sd: float | None = None,
    correlation: float | None = None,
    level: float = 0.95,
) -> Plan:
    """Nodules needed to know a sensitivity within ± ``half_width``.

    n = z^2 p (1 - p) / d^2, times the design effect.
    """
    check_between("sensitivity", sensitivity)
    check_between("half-width", half_width)
    check_between("level", level)
    patients = clustering(
        nodules_per_patient, nodules_sd, correlation, assumed_correlation=ASSUMED_CORRELATION
    )
    effect = patients.effect
    z = NormalDist().inv_cdf((1 + level) / 2)
    independent = z**2 * sensitivity * (1 - sensitivity) / half_width**2
    answer = math.ceil(independent * effect - 1e-9)

    def width(nodules: int) -> float:
        return z * math.sqrt(sensitivity * (1 - sensitivity) * effect / nodules)

    return Plan(
        question=Notice("ask_sensitivity", {"sensitivity": sensitivity, "half_width": half_width}),
        answer=answer,
        unit="nodules",
        assumptions=(
            Notice("assume_near", {"what": "sensitivity", "value": sensitivity}),
            patients.assumption,
            Notice("interval_normal", {"of": "sensitivity", "level": level}),
        ),
        method=Notice("normal_interval_of_proportion"),
        curve_name="half_width",
        curve=curve_around(answer, width),
        details={
            "design_effect": effect,
            "independent_nodules": math.ceil(independent - 1e-9),
            "patients": math.ceil(answer / nodules_per_patient - 1e-9),
        },
    )


LARGEST_TEST = 100_000
"""Sizes beyond this are not tried: every size is, one after the other."""

Distribution = Callable[[FloatArray | IntArray, IntArray], FloatArray]
"""Cumulative probability of a count, given the count and the size of the test."""


def size_for_acceptance(
    *, unacceptable: float, expected: float, alpha: float = 0.05, power: float = 0.8
) -> Plan:
    """Smallest acceptance test of a sensitivity: n nodules of which at most c may be missed.

    The test passes a device of the ``unacceptable`` sensitivity with at most ``alpha`` and one of
    the ``expected`` sensitivity with at least ``power``, by exact binomial probabilities.
    """
    from scipy import stats

    check_between("unacceptable sensitivity", unacceptable)
    check_between("expected sensitivity", expected)
    check_between("alpha", alpha)
    check_between("power", power)
    if not unacceptable < expected:
        what = f"{expected:g} is not above the unacceptable {unacceptable:g}."
        remedy = "An acceptance test needs a gap between the two."
        raise InputError.at("expected sensitivity", what, remedy)

    def misses(rate: float) -> Distribution:
        return lambda count, size: np.asarray(stats.binom.cdf(count, size, rate))

    def guess(sizes: IntArray) -> FloatArray:
        return np.asarray(stats.binom.ppf(alpha, sizes, 1 - unacceptable))

    too_many, hoped = misses(1 - unacceptable), misses(1 - expected)

    size, limit, curve, reached = smallest_test(guess, too_many, hoped, alpha, power)
    return Plan(
        question=Notice("ask_acceptance", {"unacceptable": unacceptable}),
        answer=size,
        unit="nodules",
        assumptions=(
            Notice("may_pass", {"what": "sensitivity", "value": unacceptable, "alpha": alpha}),
            Notice("shall_pass", {"what": "sensitivity", "value": expected, "power": power}),
            Notice("nodules_independent"),
            Notice("power_not_monotone"),
        ),
        method=Notice("exact_acceptance", {"family": "binomial"}),
        curve_name="power",
        curve=curve,
        details={"allowed_misses": limit, "needed_hits": size - limit, **reached},
    )


def smallest_test(
    guess: Callable[[IntArray], FloatArray],
    if_unacceptable: Distribution,
    if_expected: Distribution,
    alpha: float,
    power: float,
    *,
    smallest: int = 2,
) -> tuple[int, int, tuple[PlanPoint, ...], dict[str, float]]:
    """The smallest size whose largest allowed count keeps alpha and reaches the power.

    ``guess`` is about the ``alpha`` quantile of the count for each size, not below the true limit.
    Returned are size, count, the curve of the power around the size, and power and alpha there.
    """

    def limit_of(sizes: IntArray) -> FloatArray:
        """The largest count at which passing keeps alpha; -1 where even 0 does not."""
        count = guess(sizes)
        return np.where(if_unacceptable(count, sizes) <= alpha, count, count - 1)

    def power_at(size: int) -> float:
        sizes = np.array([size])
        return float(if_expected(limit_of(sizes), sizes)[0])

    start, width = 1, 512
    while start <= LARGEST_TEST:
        sizes = np.arange(start, start + width)
        limit = limit_of(sizes)
        reached = (limit >= 0) & (if_expected(limit, sizes) >= power)
        if reached.any():
            first = int(np.argmax(reached))
            size, count = sizes[[first]], limit[[first]].astype(np.int64)
            curve = curve_around(int(size[0]), power_at, smallest=smallest)
            each = {"power": if_expected, "alpha": if_unacceptable}
            there = {name: float(share(count, size)[0]) for name, share in each.items()}
            return int(size[0]), int(count[0]), curve, there
        start, width = start + width, min(2 * width, 65_536)
    remedy = "Move the expected value away from the unacceptable one."
    raise InputError.at("acceptance test", f"no size up to {LARGEST_TEST} suffices.", remedy)
