from math import exp, factorial

import numpy as np
import pytest
from scipy import stats

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.i18n.translator import in_english
from nodulebench.statistics.sample_size.false_positives import (
    size_for_false_positive_limit,
    size_for_false_positives,
)


def test_poisson_rate_precision_by_hand() -> None:
    # 1.96^2 * 2 / .2^2 = 192.07
    assert size_for_false_positives(rate=2.0, half_width=0.2).answer == 193


def test_over_dispersed_counts_need_more_cases() -> None:
    # variance 2 + .5 * 4 = 4: twice as many
    plan = size_for_false_positives(rate=2.0, half_width=0.2, dispersion=0.5)
    assert plan.answer == 385
    assert in_english(plan.method) == "normal interval of a negative binomial mean"


def poisson_at_most(count: int, mean: float) -> float:
    return sum(exp(-mean) * mean**k / factorial(k) for k in range(count + 1))


def test_poisson_limit_is_the_smallest_of_all() -> None:
    plan = size_for_false_positive_limit(unacceptable=2.0, expected=1.0)
    expected = next(
        (cases, count)
        for cases in range(1, 100)
        for count in range(2 * cases, -1, -1)
        if poisson_at_most(count, 2.0 * cases) <= 0.05 and poisson_at_most(count, cases) >= 0.8
    )
    assert (plan.answer, plan.details["allowed_false_positives"]) == expected


def test_negative_binomial_limit_keeps_its_promises_in_simulation() -> None:
    plan = size_for_false_positive_limit(unacceptable=2.0, expected=1.0, dispersion=1.0)
    random = np.random.default_rng(6)
    assert plan.answer is not None

    def passed(rate: float) -> float:
        counts = random.negative_binomial(1.0, 1 / (1 + rate), size=(20_000, plan.answer or 0))
        return float((counts.sum(axis=1) <= plan.details["allowed_false_positives"]).mean())

    assert passed(2.0) == pytest.approx(plan.details["alpha"], abs=0.006)
    assert passed(1.0) == pytest.approx(plan.details["power"], abs=0.01)
    assert plan.answer > (size_for_false_positive_limit(unacceptable=2.0, expected=1.0).answer or 0)


def test_the_expected_rate_must_lie_below_the_limit() -> None:
    with pytest.raises(InputError, match="expected rate: 2 is not below the unacceptable 1"):
        size_for_false_positive_limit(unacceptable=1.0, expected=2.0)


def test_rates_are_positive() -> None:
    with pytest.raises(InputError, match="expected rate"):
        size_for_false_positive_limit(unacceptable=1.0, expected=-0.5)
    with pytest.raises(InputError, match="unacceptable rate"):
        size_for_false_positive_limit(unacceptable=-1.0, expected=0.5)


def test_counts_are_poisson_or_negative_binomial_and_never_less_spread() -> None:
    for dispersion, family in ((0.0, "poisson"), (0.5, "negative_binomial")):
        plan = size_for_false_positives(rate=2, half_width=0.3, dispersion=dispersion)
        assert plan.method.values == {"family": family}
    with pytest.raises(InputError, match=r"dispersion: -0.5 is not between 0 and inf"):
        size_for_false_positives(rate=2, half_width=0.3, dispersion=-0.5)


@pytest.mark.parametrize("dispersion", [0.25, 2.0])
def test_a_negative_binomial_limit_is_the_smallest_of_all(dispersion: float) -> None:
    plan = size_for_false_positive_limit(unacceptable=3.0, expected=1.0, dispersion=dispersion)

    def at_most(count: int, cases: int, rate: float) -> float:
        # a sum of counts with variance rate + dispersion rate^2 has cases / dispersion successes
        return float(
            stats.nbinom.cdf(count, cases / dispersion, (rate / (rate + dispersion * rate**2)))
        )

    expected = next(
        (cases, count)
        for cases in range(1, 100)
        for count in range(3 * cases, -1, -1)
        if at_most(count, cases, 3.0) <= 0.05 and at_most(count, cases, 1.0) >= 0.8
    )
    assert (plan.answer, plan.details["allowed_false_positives"]) == expected
    assert plan.details["alpha"] == pytest.approx(at_most(expected[1], expected[0], 3.0))
    assert plan.details["power"] == pytest.approx(at_most(expected[1], expected[0], 1.0))
    assert next(p.value for p in plan.curve if p.size == expected[0]) == plan.details["power"]


def test_equal_rates_cannot_be_distinguished() -> None:
    with pytest.raises(InputError, match="expected rate: 2 is not below the unacceptable 2"):
        size_for_false_positive_limit(unacceptable=2.0, expected=2.0)


def test_a_precision_is_given_for_sizes_around_the_answer() -> None:
    plan = size_for_false_positives(rate=2.0, half_width=0.2, dispersion=0.5, level=0.9)
    for point in plan.curve:
        assert point.value == pytest.approx(stats.norm.ppf(0.95) * np.sqrt(4 / point.size))
    planned = size_for_false_positives(rate=0.01, half_width=0.2)
    assert [(point.size, planned.answer) for point in planned.curve] == [(1, 1), (2, 1)]


def test_one_case_can_suffice_for_a_limit() -> None:
    plan = size_for_false_positive_limit(unacceptable=12.0, expected=1.0)
    assert (plan.answer, [point.size for point in plan.curve]) == (1, [1, 2])


def test_the_variance_of_over_dispersed_counts_grows_with_the_square_of_the_rate() -> None:
    # 3 + .5 x 9 = 7.5: 1.96^2 x 7.5 / .3^2 = 320.1
    assert size_for_false_positives(rate=3.0, half_width=0.3, dispersion=0.5).answer == 321


def test_the_spread_of_counts_is_stated() -> None:
    for asked in (
        {"rate": 2.0, "half_width": 0.2},
        {"unacceptable": 3.0, "expected": 1.0},
    ):
        plan = size_for_false_positives if "rate" in asked else size_for_false_positive_limit
        for dispersion, stated in ((0.5, 0.5), (0.0, None)):
            planned = plan(**asked, dispersion=dispersion)
            assert Notice("counts_spread", {"dispersion": stated}) in planned.assumptions
