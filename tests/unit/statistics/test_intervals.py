import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nodulebench.core.notices import Notice
from nodulebench.core.protocol import IntervalChoice
from nodulebench.statistics.intervals import (
    all_or_none_interval,
    bca_interval,
    clopper_pearson_interval,
    cluster_ratio_interval,
    jackknife_interval,
    make_estimate,
    percentile_interval,
    proportion_intervals,
    sorted_index_interval,
    wilson_interval,
)


@pytest.mark.parametrize(("successes", "trials"), [(1166, 1186), (20, 20), (0, 7), (3, 8)])
def test_binomial_intervals_agree_with_scipy(successes: int, trials: int) -> None:
    test = stats.binomtest(successes, trials)
    for ours, name in ((wilson_interval, "wilson"), (clopper_pearson_interval, "exact")):
        theirs = test.proportion_ci(confidence_level=0.95, method=name)
        assert ours(successes, trials, 0.95) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_of_1166_of_1186_is_the_published_one() -> None:
    low, high = wilson_interval(1166, 1186, 0.95)
    assert (round(low, 6), round(high, 6)) == (0.974096, 0.989057)


def test_cluster_ratio_by_hand() -> None:
    # two patients with nodules: 1 of 2 and 3 of 4 found; the third patient has none
    low, high = cluster_ratio_interval(np.array([1.0, 3.0, 0.0]), np.array([2.0, 4.0, 0.0]), 0.95)
    ratio = 4 / 6
    variance = 2 / (1 * 36) * ((1 - 2 * ratio) ** 2 + (3 - 4 * ratio) ** 2)
    half = 1.959963984540054 * math.sqrt(variance)
    assert (low, high) == pytest.approx((ratio - half, ratio + half))


def test_cluster_ratio_of_one_patient_is_undefined() -> None:
    assert all(map(math.isnan, cluster_ratio_interval(np.ones(1), np.ones(1) * 2, 0.95)))


def test_sorted_index_bounds_are_elements_25_and_975_of_1000() -> None:
    values = np.random.default_rng(0).permutation(1000).astype(float)
    low, high = sorted_index_interval(values, 0.95)
    assert (low, high) == (25, 975)


def test_percentile_interval_is_the_central_share() -> None:
    assert percentile_interval(np.arange(101.0), 0.9) == pytest.approx((5, 95))


def test_bca_agrees_with_scipy_on_the_same_replicates() -> None:
    sample = np.random.default_rng(3).lognormal(size=40)
    expected = stats.bootstrap(
        (sample,), np.mean, n_resamples=4000, method="BCa", rng=np.random.default_rng(1)
    )
    left_out = np.array([np.delete(sample, i).mean() for i in range(len(sample))])
    low, high = bca_interval(sample.mean(), expected.bootstrap_distribution, left_out, 0.95)
    theirs = expected.confidence_interval
    assert (low, high) == pytest.approx((theirs.low, theirs.high), rel=2e-3)


def test_bca_falls_back_where_all_replicates_lie_on_one_side() -> None:
    replicates = np.linspace(1, 2, 101)
    assert bca_interval(0.5, replicates, np.arange(5.0), 0.9) == percentile_interval(
        replicates, 0.9
    )


def test_jackknife_of_a_mean_is_its_standard_error() -> None:
    sample = np.array([1.0, 4.0, 2.0, 8.0])
    left_out = np.array([np.delete(sample, i).mean() for i in range(4)])
    low, high = jackknife_interval(sample.mean(), left_out, 0.95)
    assert (high - low) / 2 == pytest.approx(1.959963984540054 * sample.std(ddof=1) / 2)


@given(units=st.integers(1, 3000), level=st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_all_or_none_is_the_exact_binomial_interval(units, level):
    assert all_or_none_interval(1.0, units, level) == pytest.approx(
        clopper_pearson_interval(units, units, level)
    )
    assert all_or_none_interval(0.0, units, level) == pytest.approx(
        clopper_pearson_interval(0, units, level)
    )


def test_bca_without_any_spread_of_the_jackknife_has_no_acceleration() -> None:
    replicates = np.array([0.4, 0.5, 0.5, 0.6])
    low, high = bca_interval(0.5, replicates, np.full(5, 0.5), 0.9)
    assert (low, high) == pytest.approx(percentile_interval(replicates, 0.9))


def test_an_interval_needs_two_replicates_and_half_of_them() -> None:
    chosen = IntervalChoice(method="percentile")
    for drawn in ([math.nan, 0.5], [math.nan, math.nan, math.nan, 0.4, 0.5]):
        estimate = make_estimate(0.5, np.array(drawn), None, chosen)
        assert (estimate.value, estimate.low, estimate.high) == (0.5, None, None)
        assert estimate.reason is not None
        assert estimate.reason.code == "no_interval"
    assert make_estimate(0.5, np.array([math.nan, math.nan, 0.4, 0.6]), None, chosen).low


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_where_every_replicate_is_all_or_none_the_exact_interval_is_given(value: float) -> None:
    chosen = IntervalChoice(method="percentile")
    estimate = make_estimate(value, np.full(50, value), None, chosen, trial_units=20)
    exact = stats.binomtest(round(20 * value), 20).proportion_ci(0.95, "exact")
    assert (estimate.low, estimate.high) == pytest.approx((exact.low, exact.high))
    plain = make_estimate(value, np.full(50, value), None, chosen)
    assert (plain.low, plain.high) == (value, value)


def test_bounds_of_luna16_s_program_are_always_replicates() -> None:
    assert sorted_index_interval(np.array([3.0, 1.0, 2.0]), 1 - 1e-12) == (1, 3)
    assert sorted_index_interval(np.array([7.0]), 0.95) == (7, 7)


def test_in_bca_a_replicate_equal_to_the_value_counts_half() -> None:
    # 2 below, 2 equal of 10: the bias is that of 0.3; no acceleration
    replicates = np.array([0.0, 1, 2, 2, 3, 4, 5, 6, 7, 8])
    bias, z = stats.norm.ppf(0.3), stats.norm.ppf(0.05)
    shares = stats.norm.cdf([2 * bias + z, 2 * bias - z])
    expected = np.quantile(replicates, shares)
    assert bca_interval(2.0, replicates, np.ones(4), 0.9) == pytest.approx(tuple(expected))
    # the same sum in another order is a tie too
    replicates[2:4] += [1e-15, -1e-15]
    assert bca_interval(2.0, replicates, np.ones(4), 0.9) == pytest.approx(tuple(expected))


def test_wilson_s_interval_stays_between_nothing_and_all() -> None:
    for trials in range(1, 400):
        for level in (0.9, 0.95, 0.99):
            assert wilson_interval(0, trials, level)[0] == pytest.approx(0, abs=1e-15)
            assert wilson_interval(0, trials, level)[0] >= 0
            assert 1 - 1e-15 <= wilson_interval(trials, trials, level)[1] <= 1


def test_the_mean_of_replicates_is_given_only_if_there_are_any() -> None:
    drawn, left_out = np.array([0.25, 0.5, 0.75, 1.0]), np.array([0.4, 0.5, 0.6])
    boot, jack = IntervalChoice(method="percentile"), IntervalChoice(method="jackknife")
    assert make_estimate(0.5, drawn, None, boot).mean == 0.625
    assert make_estimate(0.5, None, left_out, jack).mean is None
    same = np.ones(9)
    assert make_estimate(1.0, same, None, boot, trial_units=9).mean == 1.0
    assert make_estimate(1.0, None, same, jack, trial_units=9).mean is None


def test_lost_replicates_are_stated_only_if_any_are_lost() -> None:
    chosen = IntervalChoice(method="percentile")
    whole = make_estimate(0.5, np.array([0.4, 0.5, 0.6]), None, chosen)
    assert whole.reason is None
    some = make_estimate(0.5, np.array([0.4, math.nan, 0.6]), None, chosen)
    assert some.reason == Notice("replicates_lost", {"lost": 1, "replicates": 3})
    assert some.mean == pytest.approx(0.5)
    few = make_estimate(0.5, np.array([0.4, math.nan, math.nan]), None, chosen)
    assert few.reason == Notice("no_interval", {"lost": 2, "replicates": 3})


def test_other_intervals_are_those_asked_for() -> None:
    asked = IntervalChoice(others=("wilson", "clopper_pearson", "cluster_ratio"))
    successes, trials, unit = np.array([1.0, 0, 3]), np.array([2.0, 0, 4]), np.array([0, 1, 2])
    intervals = proportion_intervals(successes, trials, unit, asked)
    assert intervals == {
        "wilson": wilson_interval(4, 6, 0.95),
        "clopper_pearson": clopper_pearson_interval(4, 6, 0.95),
        "cluster_ratio": cluster_ratio_interval(successes, trials, 0.95),
    }
    assert "cluster_ratio" not in proportion_intervals(successes, trials, np.zeros(3, int), asked)
    assert proportion_intervals(np.zeros(3), np.zeros(3), unit, asked) == {}


def test_bca_without_a_jackknife_has_no_acceleration() -> None:
    replicates = np.array([0.0, 1, 2, 2, 3, 4, 5, 6, 7, 8])
    estimate = make_estimate(2.0, replicates, None, IntervalChoice(method="bca", level=0.9))
    assert (estimate.low, estimate.high) == bca_interval(2.0, replicates, np.ones(4), 0.9)


def test_bca_falls_back_where_all_replicates_lie_below() -> None:
    replicates = np.linspace(1, 2, 101)
    expected = percentile_interval(replicates, 0.9)
    assert bca_interval(2.5, replicates, np.arange(5.0), 0.9) == expected


def test_units_with_less_than_one_trial_count_as_any() -> None:
    low, high = cluster_ratio_interval(np.array([0.5, 0.25]), np.array([0.5, 0.5]), 0.95)
    # p = 0.75, residuals 0.125 and -0.125: variance 2 / 1 * 2 * 0.125^2
    error = 0.25
    assert (low, high) == pytest.approx((0.75 - 1.959964 * error, 0.75 + 1.959964 * error))
