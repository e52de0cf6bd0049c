"""Expected false positives per case -> cases for a precision, or for an acceptance test."""

import math
from statistics import NormalDist

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.statistics.sample_size.proportions import Distribution, smallest_test
from nodulebench.statistics.sample_size.result import Plan, check_between, check_range, curve_around


def size_for_false_positives(
    *, rate: float, half_width: float, dispersion: float = 0.0, level: float = 0.95
) -> Plan:
    """Cases needed to know the false positives per case within ± ``half_width``.

    The count of a case has the variance rate + dispersion x rate^2 (negative binomial; Poisson for
    dispersion 0).
    """
    check_between("rate", rate, 0, math.inf)
    check_between("half-width", half_width, 0, math.inf)
    check_range("dispersion", dispersion, 0, math.inf)
    z = NormalDist().inv_cdf((1 + level) / 2)
    variance = rate + dispersion * rate**2
    answer = math.ceil(z**2 * variance / half_width**2 - 1e-9)
    return Plan(
        question=Notice("ask_false_positives", {"rate": rate, "half_width": half_width}),
        answer=answer,
        unit="cases",
        assumptions=(
            Notice("assume_rate", {"rate": rate}),
            Notice("counts_spread", {"dispersion": dispersion or None}),
            Notice("interval_normal", {"of": "rate", "level": level}),
        ),
        method=Notice("normal_interval_of_mean", {"family": _family(dispersion)}),
        curve_name="half_width",
        curve=curve_around(answer, lambda cases: z * math.sqrt(variance / cases), smallest=1),
    )


def size_for_false_positive_limit(
    *,
    unacceptable: float,
    expected: float,
    dispersion: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.8,
) -> Plan:
    """Smallest acceptance test of a false-positive rate: n cases with at most c false positives.

    Exact for Poisson counts, and for negative binomial counts of known dispersion.
    """
    from scipy import stats

    check_between("unacceptable rate", unacceptable, 0, math.inf)
    check_between("expected rate", expected, 0, math.inf)
    check_between("alpha", alpha)
    check_between("power", power)
    check_range("dispersion", dispersion, 0, math.inf)
    if not expected < unacceptable:
        what = f"{expected:g} is not below the unacceptable {unacceptable:g}."
        remedy = "An acceptance test needs a gap between the two."
        raise InputError.at("expected rate", what, remedy)
    too_many, hoped = _total(unacceptable, dispersion), _total(expected, dispersion)

    def guess(sizes: IntArray) -> FloatArray:
        if dispersion == 0:
            return np.asarray(stats.poisson.ppf(alpha, unacceptable * sizes))
        chance = 1 / (1 + dispersion * unacceptable)
        return np.asarray(stats.nbinom.ppf(alpha, sizes / dispersion, chance))

    size, limit, curve, reached = smallest_test(guess, too_many, hoped, alpha, power, smallest=1)
    return Plan(
        question=Notice("ask_fewer_false_positives", {"unacceptable": unacceptable}),
        answer=size,
        unit="cases",
        assumptions=(
            Notice("may_pass", {"what": "rate", "value": unacceptable, "alpha": alpha}),
            Notice("shall_pass", {"what": "rate", "value": expected, "power": power}),
            Notice("counts_spread", {"dispersion": dispersion or None}),
            Notice("cases_independent"),
        ),
        method=Notice("exact_acceptance", {"family": _family(dispersion)}),
        curve_name="power",
        curve=curve,
        details={"allowed_false_positives": limit, **reached},
    )


def _total(rate: float, dispersion: float) -> Distribution:
    from scipy import stats

    if dispersion == 0:
        return lambda count, cases: np.asarray(stats.poisson.cdf(count, rate * cases))
    chance = 1 / (1 + dispersion * rate)
    return lambda count, cases: np.asarray(stats.nbinom.cdf(count, cases / dispersion, chance))


def _family(dispersion: float) -> str:
    return "negative_binomial" if dispersion > 0 else "poisson"
