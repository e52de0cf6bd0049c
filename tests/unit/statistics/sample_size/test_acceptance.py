from math import comb

import numpy as np
import pytest
from scipy import stats

from nodulebench.core.errors import InputError
from nodulebench.statistics.sample_size.proportions import size_for_acceptance


def binomial_at_most(count: int, size: int, rate: float) -> float:
    return sum(comb(size, k) * rate**k * (1 - rate) ** (size - k) for k in range(count + 1))


def slow_acceptance(
    unacceptable: float, expected: float, alpha: float, power: float
) -> tuple[int, int]:
    """The first size and number of misses that keep both promises, by trying all."""
    for size in range(1, 500):
        for misses in range(size, -1, -1):
            if binomial_at_most(misses, size, 1 - unacceptable) <= alpha:
                if binomial_at_most(misses, size, 1 - expected) >= power:
                    return size, misses
                break
    raise AssertionError


@pytest.mark.parametrize(
    ("unacceptable", "expected", "alpha", "power"),
    [(0.8, 0.9, 0.05, 0.8), (0.85, 0.95, 0.025, 0.9), (0.5, 0.9, 0.05, 0.9), (0.7, 0.95, 0.2, 0.5)],
)
def test_acceptance_test_is_the_smallest_of_all(
    unacceptable: float, expected: float, alpha: float, power: float
) -> None:
    plan = size_for_acceptance(
        unacceptable=unacceptable, expected=expected, alpha=alpha, power=power
    )
    size, misses = slow_acceptance(unacceptable, expected, alpha, power)
    assert (plan.answer, plan.details["allowed_misses"]) == (size, misses)
    assert plan.details["needed_hits"] == size - misses
    assert plan.details["power"] == pytest.approx(binomial_at_most(misses, size, 1 - expected))
    assert plan.details["alpha"] == pytest.approx(binomial_at_most(misses, size, 1 - unacceptable))


def test_twenty_nine_hits_of_twenty_nine_show_ninety_percent() -> None:
    # .9^29 = .0471 is the first power below .05, and a perfect device always passes
    plan = size_for_acceptance(unacceptable=0.9, expected=0.9999, power=0.99)
    assert plan.answer == 29
    assert plan.details["allowed_misses"] == 0


def test_the_claim_must_lie_above_what_is_unacceptable() -> None:
    with pytest.raises(InputError) as error:
        size_for_acceptance(unacceptable=0.9, expected=0.85)
    assert str(error.value) == (
        "expected sensitivity: 0.85 is not above the unacceptable 0.9. "
        "An acceptance test needs a gap between the two."
    )


@pytest.mark.slow
def test_a_gap_too_small_for_any_test_is_refused() -> None:
    with pytest.raises(InputError) as error:
        size_for_acceptance(unacceptable=0.9, expected=0.9001)
    assert str(error.value) == (
        "acceptance test: no size up to 100000 suffices. "
        "Move the expected value away from the unacceptable one."
    )


def test_a_large_acceptance_test_is_the_smallest_of_all() -> None:
    plan = size_for_acceptance(unacceptable=0.9, expected=0.925)
    sizes = np.arange(1, 3000)
    misses = np.arange(300)[:, None]
    keeps = stats.binom.cdf(misses, sizes, 0.1) <= 0.05
    limit = keeps.sum(axis=0) - 1
    reached = (limit >= 0) & (stats.binom.cdf(limit, sizes, 0.075) >= 0.8)
    first = int(np.argmax(reached))
    assert first > 600
    assert (plan.answer, plan.details["allowed_misses"]) == (sizes[first], limit[first])


def test_equal_sensitivities_cannot_be_distinguished() -> None:
    with pytest.raises(InputError, match=r"sensitivity: 0\.9 is not above the unacceptable"):
        size_for_acceptance(unacceptable=0.9, expected=0.9)


def test_a_curve_of_power_is_that_of_the_limit_at_each_size() -> None:
    plan = size_for_acceptance(unacceptable=0.8, expected=0.9)
    for point in plan.curve:
        allowed = [
            misses
            for misses in range(point.size)
            if binomial_at_most(misses, point.size, 0.2) <= 0.05
        ]
        assert point.value == pytest.approx(binomial_at_most(allowed[-1], point.size, 0.1))


def test_a_chance_of_exactly_alpha_is_accepted() -> None:
    # .5^4 = .0625: four of four, and .99^4 = .96
    plan = size_for_acceptance(unacceptable=0.5, expected=0.99, alpha=0.0625, power=0.9)
    assert (plan.answer, plan.details["allowed_misses"]) == (4, 0)
