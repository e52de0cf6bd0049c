from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from nodulebench.core.errors import InputError
from nodulebench.statistics.delong import hanley_mcneil_standard_error
from nodulebench.statistics.sample_size.auc import size_for_auc, size_for_auc_difference


def test_area_precision_is_the_first_size_with_a_small_enough_error() -> None:
    plan = size_for_auc(auc=0.9, half_width=0.05)
    z = stats.norm.ppf(0.975)
    assert plan.answer is not None
    assert z * hanley_mcneil_standard_error(0.9, plan.answer, plan.answer) <= 0.05
    assert z * hanley_mcneil_standard_error(0.9, plan.answer - 1, plan.answer - 1) > 0.05
    assert plan.details["negatives"] == plan.answer


def test_more_negatives_save_positives() -> None:
    even = size_for_auc(auc=0.8, half_width=0.05)
    uneven = size_for_auc(auc=0.8, half_width=0.05, negatives_per_positive=4)
    assert (uneven.answer or 0) < (even.answer or 0)
    assert uneven.details["negatives"] == 4 * (uneven.answer or 0)


@pytest.mark.parametrize(("power", "published"), [(0.8, 652), (0.9, 897), (0.95, 1131)])
def test_sizes_for_70_against_75_percent_are_those_of_hanley_and_mcneil(
    power: float, published: int
) -> None:
    # their table III, one-sided at 5 %, drops terms of order 1 / n
    plan = size_for_auc_difference(
        baseline=0.7, expected=0.75, correlation=0, power=power, is_one_sided=True
    )
    assert plan.answer == pytest.approx(published, rel=0.005)


def test_obuchowski_s_variance_by_hand() -> None:
    # area Phi(1 / sqrt 2): A = 1; .0099 e^-.5 (13 + 9) = .1321
    plan = size_for_auc(
        auc=float(stats.norm.cdf(1 / np.sqrt(2))), half_width=0.05, variance="obuchowski"
    )
    needed = (stats.norm.ppf(0.975) / 0.05) ** 2 * 0.0099 * np.exp(-0.5) * 22
    assert plan.answer == int(np.ceil(needed))


def test_correlation_between_the_areas_saves_cases() -> None:
    apart = size_for_auc_difference(baseline=0.8, expected=0.85, correlation=0)
    same = size_for_auc_difference(baseline=0.8, expected=0.85, correlation=0.5)
    assert (same.answer or 0) < 0.55 * (apart.answer or 0)


def test_equal_areas_cannot_be_distinguished() -> None:
    with pytest.raises(InputError, match="expected area: equals the baseline"):
        size_for_auc_difference(baseline=0.8, expected=0.8, correlation=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"auc": 1.0}, "auc: 1 is not above 0.5 and below 1."),
        ({"auc": 1.5}, "auc: 1.5 is not above 0.5 and below 1."),
        ({"auc": 0.5}, "auc: 0.5 is not above 0.5 and below 1."),
        ({"negatives_per_positive": -0.5}, "negatives per positive: -0.5 is not above 0"),
        ({"negatives_per_positive": 0.0}, "negatives per positive: 0 is not above 0"),
    ],
)
def test_areas_and_ratios_that_cannot_be_are_refused(
    changes: dict[str, float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        size_for_auc(**{"auc": 0.9, "half_width": 0.05, **changes})


@pytest.mark.parametrize("ratio", [0.0, -0.5])
def test_a_difference_of_areas_needs_negatives(ratio: float) -> None:
    with pytest.raises(InputError, match=r"negatives per positive: .* is not above 0"):
        size_for_auc_difference(
            baseline=0.8, expected=0.9, correlation=0.3, negatives_per_positive=ratio
        )


def test_obuchowski_s_variance_with_other_areas_and_ratios() -> None:
    # area Phi(sqrt 2): A = 2; with 4 negatives each .0099 e^-2 (5 x 4 + 8 + (4 + 8) / 4) = .04153
    plan = size_for_auc(
        auc=float(stats.norm.cdf(np.sqrt(2))),
        half_width=0.03,
        negatives_per_positive=4,
        variance="obuchowski",
    )
    for point in plan.curve:
        error = np.sqrt(0.0099 * np.exp(-2) * 31 / point.size)
        assert point.value == pytest.approx(stats.norm.ppf(0.975) * error)
    assert plan.answer == 178  # (1.959964 / .03)^2 x .041535


@pytest.mark.parametrize("correlation", [0.0, 0.4])
def test_power_for_two_areas_by_hand(correlation: float) -> None:
    # A = 1 and A = 2, as many negatives: .0099 e^-.5 x 22 and .0099 e^-2 x 40
    first, other = (float(stats.norm.cdf(a / np.sqrt(2))) for a in (1, 2))
    plan = size_for_auc_difference(
        baseline=first, expected=other, correlation=correlation, variance="obuchowski"
    )
    low, high = 0.0099 * np.exp(-0.5) * 22, 0.0099 * np.exp(-2) * 40
    for point in plan.curve:
        if_null = np.sqrt(2 * low * (1 - correlation) / point.size)
        both = low + high - 2 * correlation * np.sqrt(low * high)
        reach = other - first - stats.norm.ppf(0.975) * if_null
        assert point.value == pytest.approx(stats.norm.cdf(reach / np.sqrt(both / point.size)))


def test_a_half_width_that_a_size_just_meets_is_met() -> None:
    half = NormalDist().inv_cdf(0.975) * hanley_mcneil_standard_error(0.9, 50, 50)
    assert size_for_auc(auc=0.9, half_width=half).answer == 50
