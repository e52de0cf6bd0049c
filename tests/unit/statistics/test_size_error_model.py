import numpy as np
import pytest
from scipy import integrate, stats

from builders.words import undefined
from nodulebench.core.errors import UndefinedError
from nodulebench.statistics.size_error_model import (
    binned_error,
    empirical_error,
    limited_sensitivity,
    lost_fraction,
    normal_error,
    overestimated_share,
)

EXPONENTIAL = stats.expon(loc=4, scale=2)  # sizes from 4 mm, mean excess 2 mm


@pytest.mark.parametrize(("sd", "printed"), [(0.25, 0.04621), (0.5, 0.08597), (1.0, 0.15038)])
def test_exponential_sizes_lose_what_the_closed_form_says(sd, printed):
    # 1/2 - exp(sd² / 8) Φ(-sd / 2) for a mean excess of 2
    closed = 0.5 - np.exp(sd**2 / 8) * stats.norm.cdf(-sd / 2)
    lost = lost_fraction(EXPONENTIAL, normal_error(sd), minimum_mm=4)
    assert lost == pytest.approx(closed, abs=1e-9)
    assert lost == pytest.approx(printed, abs=5e-6)


@pytest.mark.parametrize(("tolerance", "printed"), [(0.5, 0.01869), (1.0, 0.00196)])
def test_tolerance_spares_most_of_the_lost(tolerance, printed):
    lost = lost_fraction(EXPONENTIAL, normal_error(0.5), minimum_mm=4, tolerance_mm=tolerance)
    assert lost == pytest.approx(printed, abs=5e-6)


def test_uniform_sizes_lose_the_mean_shortfall_of_the_error():
    lost = lost_fraction(stats.uniform(4, 10), normal_error(0.5), minimum_mm=4)
    assert lost == pytest.approx(0.5 / (10 * np.sqrt(2 * np.pi)), abs=1e-9)


def test_infinite_tolerance_loses_and_overestimates_none():
    sizes = stats.uniform(1, 9)
    choice = {"minimum_mm": 4, "tolerance_mm": np.inf}
    assert lost_fraction(sizes, normal_error(1.0), **choice) == 0.0
    assert overestimated_share(sizes, normal_error(1.0), **choice) == 0.0


def test_distribution_is_taken_above_the_limit_only():
    # memoryless: an exponential from 0 is the same above 4 as one from 4
    whole = lost_fraction(stats.expon(scale=2), normal_error(0.5), minimum_mm=4)
    assert whole == pytest.approx(
        lost_fraction(EXPONENTIAL, normal_error(0.5), minimum_mm=4), abs=1e-9
    )


@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_shares_agree_with_numerical_integration(tolerance):
    sizes = stats.gamma(3, scale=1.5)
    error = stats.norm(0.1, 0.6)

    def mean(probability, low, high):
        above = integrate.quad(lambda x: sizes.pdf(x) * probability(x), low, high)[0]
        return above / (sizes.cdf(high) - sizes.cdf(low))

    choice = {"minimum_mm": 4, "tolerance_mm": tolerance}
    assert lost_fraction(sizes, normal_error(0.6, 0.1), **choice) == pytest.approx(
        mean(lambda x: error.cdf(4 - x - tolerance), 4, 60), abs=1e-8
    )
    assert overestimated_share(sizes, normal_error(0.6, 0.1), **choice) == pytest.approx(
        mean(lambda x: error.sf(4 - x + tolerance), 0, 4), abs=1e-8
    )


def test_uniform_sizes_and_errors_overestimate_by_hand():
    # x uniform on [0, 4], e uniform on [-1, 1]: only x in (3, 4) can reach 4, on average by 1/4
    def error(_, t):
        return stats.uniform(-1, 2).cdf(t)

    share = overestimated_share(stats.uniform(0, 4), error, minimum_mm=4)
    assert share == pytest.approx(1 / 16, abs=1e-9)


def test_observed_sizes_and_errors_are_counted():
    # x >= 4: 4.0 and 5.0; errors -1.5, -0.5, 0, 0.5
    # 4.0 is lost by -1.5 and -0.5, 5.0 by -1.5: (2/4 + 1/4) / 2
    error = empirical_error([0.0, -0.5, 0.5, -1.5])
    sizes = [4.0, 5.0, 3.5, 3.0]
    assert lost_fraction(sizes, error, minimum_mm=4) == 0.375
    # with a tolerance of 0.5 mm -0.5 loses 4.0 no longer (c = D - Δ still counts)
    assert lost_fraction(sizes, error, minimum_mm=4, tolerance_mm=0.5) == 0.125
    # 3.5 is shown with +0.5 (c = D counts), 3.0 never: (1/4 + 0) / 2
    assert overestimated_share(sizes, error, minimum_mm=4) == 0.125
    assert overestimated_share(sizes, error, minimum_mm=4, tolerance_mm=0.5) == 0.0


def test_strict_truth_grants_the_tolerance_to_nodules_near_the_limit_only():
    # e = +3.2: 1.0 is reported as 4.2, 3.8 as 7.0; Δ = 1
    choice = {"minimum_mm": 4, "tolerance_mm": 1.0}
    error = empirical_error([3.2])
    assert overestimated_share([1.0, 3.8], error, **choice) == 0.5
    assert overestimated_share([1.0, 3.8], error, **choice, reading="strict_truth") == 1.0


def test_error_may_grow_with_size():
    # at 4 mm the spread is 0.4, at 8 mm 0.8: Φ(0) and Φ(-4 / 0.8)
    error = normal_error(lambda x: x / 10, lambda x: 0 * x)
    lost = lost_fraction([4.0, 8.0], error, minimum_mm=4)
    assert lost == pytest.approx((0.5 + stats.norm.cdf(-5)) / 2, abs=1e-15)


def test_observed_errors_of_different_sizes_are_separate():
    sizes, errors = np.array([3.0, 3.0, 8.0, 8.0]), np.array([1.0, 2.0, -5.0, 0.0])
    error = binned_error(sizes, errors, edges_mm=(6.0,))
    assert lost_fraction([4.5, 7.0], error, minimum_mm=4) == 0.25  # only 7.0 by -5
    with undefined(match="size class 3 of 3 has no observed errors"):
        binned_error(sizes, errors, edges_mm=(6.0, 9.0))


def test_sensitivity_falls_by_the_lost_fraction():
    assert limited_sensitivity(0.9, 0.1) == pytest.approx(0.81)


def test_nothing_on_one_side_of_the_limit_is_undefined():
    with undefined(match="no nodule reaches the smallest size"):
        lost_fraction([1.0, 2.0], normal_error(1.0), minimum_mm=4)
    with undefined(match="no nodule is below the smallest size"):
        overestimated_share(EXPONENTIAL, normal_error(1.0), minimum_mm=4)
    with undefined(match="no observed size errors"):
        empirical_error([])


def test_strictly_the_tolerance_is_granted_only_within_it():
    # D = 4, tolerance 1, errors of 0 and 1 mm alike: 2.9 mm is beyond the tolerance and reaches
    # 4 mm never, 3 mm and 3.5 mm lie within it and would have to reach 5 mm
    error = empirical_error([0.0, 1.0])
    choice = {"minimum_mm": 4.0, "tolerance_mm": 1.0}
    for size in (2.9, 3.0, 3.5):
        assert overestimated_share([size], error, **choice) == 0
        assert overestimated_share([size], error, **choice, reading="strict_truth") == 0
    # with an error of 1.5 mm 2.9 mm reaches 4 mm, and 3.5 mm reaches 5 mm
    error = empirical_error([0.0, 1.5])
    for size, table, strict in ((2.9, 0.0, 0.5), (3.0, 0.0, 0.0), (3.4, 0.0, 0.0), (3.5, 0.5, 0.5)):
        assert overestimated_share([size], error, **choice) == table
        assert overestimated_share([size], error, **choice, reading="strict_truth") == strict


def test_no_nodule_on_the_requested_side_is_refused():
    for sizes in (stats.uniform(0, 3), [1.0, 3.9]):
        with pytest.raises(UndefinedError) as error:
            lost_fraction(sizes, normal_error(1.0), minimum_mm=4)
        assert error.value.code == "no_large_nodule"
    for sizes in (stats.uniform(5, 3), [4.0, 5.0]):
        with pytest.raises(UndefinedError) as error:
            overestimated_share(sizes, normal_error(1.0), minimum_mm=4)
        assert error.value.code == "no_small_nodule"


def test_the_first_class_without_observations_is_named():
    with pytest.raises(UndefinedError) as error:
        binned_error(np.array([1.0]), np.array([0.1]), edges_mm=(2.0, 4.0))
    assert error.value.values == {"number": 2, "classes": 3}
