import numpy as np
import pytest
from scipy import stats

from builders.words import undefined
from nodulebench.core.notices import Notice
from nodulebench.i18n.translator import in_english
from nodulebench.statistics.delong import auc_covariance, placements
from nodulebench.statistics.mrmc import (
    ReaderMetrics,
    components,
    metrics_from_jackknife,
    metrics_from_ratings,
    obuchowski_rockette,
    one_treatment,
    readers_against_algorithm,
)

RANDOM = np.random.default_rng(12)
IS_ABNORMAL = np.arange(40) < 18
RATING = (
    RANDOM.normal(size=(3, 4, 40))
    + RANDOM.normal(size=40)
    + 1.5 * IS_ABNORMAL
    + np.array([0.0, 0.2, 0.5])[:, np.newaxis, np.newaxis] * IS_ABNORMAL
)


def slow_area(rating: np.ndarray, is_abnormal: np.ndarray) -> float:
    above, below = rating[is_abnormal][:, np.newaxis], rating[~is_abnormal]
    return float(((above > below) + 0.5 * (above == below)).mean())


def test_jackknife_covariance_equals_leaving_out_one_case_after_the_other() -> None:
    keep = ~np.eye(40, dtype=bool)
    left_out = np.array(
        [
            [[slow_area(row[used], IS_ABNORMAL[used]) for used in keep] for row in treatment]
            for treatment in RATING
        ]
    )
    value = np.array([[slow_area(row, IS_ABNORMAL) for row in treatment] for treatment in RATING])
    slow = metrics_from_jackknife(value, left_out)
    fast = metrics_from_ratings(RATING, IS_ABNORMAL)
    assert fast.value == pytest.approx(value)
    assert fast.covariance == pytest.approx(slow.covariance)
    assert fast.method == "jackknife"


def test_delong_covariance_is_that_of_all_areas_together() -> None:
    metrics = metrics_from_ratings(RATING, IS_ABNORMAL, "delong")
    rows = RATING.reshape(12, 40)
    matrix = auc_covariance(placements(rows[:, IS_ABNORMAL], rows[:, ~IS_ABNORMAL]))
    assert metrics.covariance.reshape(12, 12) == pytest.approx(matrix)


def by_hand() -> ReaderMetrics:
    """Two treatments, two readers, with round covariances."""
    covariance = np.full((2, 2, 2, 2), 0.1)  # other reader, other treatment
    for treatment in range(2):
        covariance[treatment, :, treatment, :] = 0.2  # same treatment
        covariance[treatment, :, 1 - treatment, :][np.eye(2, dtype=bool)] = 0.3  # same reader
        covariance[treatment, :, treatment, :][np.eye(2, dtype=bool)] = 0.8
    return ReaderMetrics(np.array([[0.5, 0.7], [0.8, 0.8]]), covariance, "given")


def test_components_by_hand() -> None:
    part = components(by_hand())
    assert (part.variance, part.covariance_1) == pytest.approx((0.8, 0.3))
    assert (part.covariance_2, part.covariance_3) == pytest.approx((0.2, 0.1))
    # treatment means .6 .8: 2 * (.01 + .01); residuals ± .05: 4 * .0025
    assert part.treatment_square == pytest.approx(0.04)
    assert part.treatment_reader_square == pytest.approx(0.01)


def test_three_analyses_by_hand() -> None:
    study = obuchowski_rockette(by_hand())
    # error .01 + 2 * (.2 - .1), degrees (.21 / .01)^2
    both = study.random_readers_random_cases
    assert both.significance.statistic == pytest.approx(0.04 / 0.21)
    assert both.significance.degrees_of_freedom == pytest.approx((1.0, 441.0))
    assert both.differences[0, 1].value == pytest.approx(-0.2)
    # .8 - .3 + (2 - 1) * .1
    assert study.fixed_readers.significance.statistic == pytest.approx(0.04 / 0.6)
    assert study.fixed_cases.significance.statistic == pytest.approx(4.0)
    assert study.fixed_cases.significance.degrees_of_freedom == (1.0, 1.0)


def test_a_negative_difference_of_covariances_counts_as_none() -> None:
    given = by_hand()
    turned = given.covariance.copy()
    turned[0, 0, 1, 1] = turned[0, 1, 1, 0] = turned[1, 0, 0, 1] = turned[1, 1, 0, 0] = 0.4
    study = obuchowski_rockette(ReaderMetrics(given.value, turned, "given"))
    assert study.random_readers_random_cases.significance.statistic == pytest.approx(4.0)
    assert study.fixed_readers.significance.statistic == pytest.approx(0.04 / 0.5)


def test_with_two_treatments_the_interval_and_the_test_agree() -> None:
    study = obuchowski_rockette(metrics_from_ratings(RATING[:2], IS_ABNORMAL))
    for analysis in (
        study.random_readers_random_cases,
        study.fixed_readers,
        study.fixed_cases,
    ):
        level = 1 - analysis.significance.p_value
        again = obuchowski_rockette(metrics_from_ratings(RATING[:2], IS_ABNORMAL), level=level)
        tests = (again.random_readers_random_cases, again.fixed_readers, again.fixed_cases)
        bounds = [
            test.differences[0, 1]
            for test in tests
            if test.significance.method == analysis.significance.method
        ]
        assert min(abs(bounds[0].low or 0), abs(bounds[0].high or 0)) == pytest.approx(0, abs=1e-9)


def test_three_treatments_have_three_differences() -> None:
    study = obuchowski_rockette(metrics_from_ratings(RATING, IS_ABNORMAL))
    both = study.random_readers_random_cases
    assert list(both.differences) == [(0, 1), (0, 2), (1, 2)]
    assert both.significance.degrees_of_freedom[0] == 2
    assert len(study.treatment_means) == 3


def test_one_treatment_on_reader_differences_equals_the_study_of_two_treatments() -> None:
    metrics = metrics_from_ratings(RATING[:2], IS_ABNORMAL)
    both = obuchowski_rockette(metrics).random_readers_random_cases
    matrix = metrics.covariance
    single = one_treatment(
        metrics.value[0] - metrics.value[1],
        matrix[0, :, 0] + matrix[1, :, 1] - matrix[0, :, 1] - matrix[1, :, 0],
        "jackknife",
    )
    assert single.significance.statistic**2 == pytest.approx(both.significance.statistic)
    assert single.significance.p_value == pytest.approx(both.significance.p_value)
    assert single.difference.low == pytest.approx(both.differences[0, 1].low)


def test_readers_against_an_algorithm_by_hand() -> None:
    # readers .7 .9, algorithm .6: differences .1 .3, mean .2, variance .02.
    # covariances: readers .5 with .1 between, algorithm .4 with .2 to both:
    # of differences between readers .1 - .2 - .2 + .4 = .1
    covariance = np.array([[0.5, 0.1, 0.2], [0.1, 0.5, 0.2], [0.2, 0.2, 0.4]])
    metrics = ReaderMetrics(
        np.array([[0.7, 0.9, 0.6]]), covariance[np.newaxis, :, np.newaxis], "given"
    )
    analysis = readers_against_algorithm(metrics)
    assert analysis.difference.value == pytest.approx(0.2)
    total = 0.02 + 2 * 0.1
    assert analysis.significance.statistic == pytest.approx(0.2 / np.sqrt(total / 2))
    assert analysis.significance.degrees_of_freedom == pytest.approx(((total / 0.02) ** 2,))
    assert analysis.fixed_cases.statistic == pytest.approx(0.2 / np.sqrt(0.02 / 2))
    assert analysis.fixed_cases.degrees_of_freedom == (1.0,)


def test_an_algorithm_equal_to_the_readers_mean_differs_by_nothing() -> None:
    metrics = metrics_from_ratings(RATING[:1], IS_ABNORMAL)
    value = metrics.value.copy()
    value[0, -1] = value[0, :-1].mean()
    analysis = readers_against_algorithm(ReaderMetrics(value, metrics.covariance, "jackknife"))
    assert analysis.difference.value == pytest.approx(0, abs=1e-12)
    assert analysis.significance.p_value == pytest.approx(1)


def test_a_study_needs_two_readers_and_two_treatments() -> None:
    for part in (RATING[:1], RATING[:, :1]):
        with undefined(match="needs two treatments and two readers"):
            obuchowski_rockette(metrics_from_ratings(part, IS_ABNORMAL))


def test_readers_who_all_change_alike_leave_f_undefined() -> None:
    given = by_hand()
    alike = ReaderMetrics(np.array([[0.5, 0.7], [0.6, 0.8]]), given.covariance, "given")
    with undefined(match="all readers change alike"):
        obuchowski_rockette(alike)


def test_the_test_rejects_equal_treatments_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    is_abnormal = np.arange(60) < 30
    rejected = 0
    for _ in range(200):
        case = random.normal(size=60) + 1.2 * is_abnormal
        reader_case = random.normal(scale=0.5, size=(1, 4, 60))
        rating = case + reader_case + random.normal(scale=0.7, size=(2, 4, 60))
        study = obuchowski_rockette(metrics_from_ratings(rating, is_abnormal))
        rejected += study.random_readers_random_cases.significance.p_value < 0.05
    assert rejected / 200 < 0.09


def test_an_error_below_zero_leaves_the_analysis_undefined() -> None:
    given = by_hand()
    covariance = given.covariance.copy()
    covariance[0, 0, 1, 0] = covariance[1, 0, 0, 0] = 2.0  # beyond the variance: no real data
    with undefined(match="fixed readers and random cases is not positive"):
        obuchowski_rockette(ReaderMetrics(given.value, covariance, "given"))


def test_one_reader_cannot_represent_all() -> None:
    with undefined(match="needs two readers"):
        one_treatment(np.array([0.1]), np.array([[0.2]]), "given")


def test_readers_who_do_not_differ_have_a_mean_without_interval() -> None:
    given = by_hand()
    value = np.array([[0.5, 0.7], [0.8, 0.8]])
    study = obuchowski_rockette(ReaderMetrics(value, given.covariance, "given"))
    assert study.treatment_means[1].value == pytest.approx(0.8)
    assert study.treatment_means[1].low is None
    assert in_english(study.treatment_means[1].reason).startswith("the readers do not differ")


def test_the_jackknife_needs_two_cases_of_each_kind() -> None:
    with undefined(match="two abnormal and two normal cases"):
        metrics_from_ratings(RATING[..., 17:], IS_ABNORMAL[17:])


def test_bounds_lie_a_quantile_of_t_on_either_side_of_a_difference() -> None:
    study = obuchowski_rockette(by_hand(), level=0.9)
    both = study.random_readers_random_cases.differences[0, 1]
    half = stats.t.ppf(0.95, 441) * np.sqrt(2 * 0.21 / 2)
    assert (both.low, both.high) == pytest.approx((-0.2 - half, -0.2 + half))
    fixed = study.fixed_readers
    half = stats.norm.ppf(0.95) * np.sqrt(2 * 0.6 / 2)
    assert (fixed.differences[0, 1].low, fixed.differences[0, 1].high) == pytest.approx(
        (-0.2 - half, -0.2 + half)
    )
    assert fixed.significance.p_value == pytest.approx(stats.chi2.sf(0.04 / 0.6, 1))
    # readers .5 .7, covariance .2: variance .02 + 2 x .2, degrees (.42 / .02)^2
    mean = study.treatment_means[0]
    half = stats.t.ppf(0.95, 441) * np.sqrt(0.42 / 2)
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.6, 0.6 - half, 0.6 + half))
    assert study.treatment_means[1].reason == Notice("readers_do_not_differ")


def test_bounds_of_readers_less_an_algorithm() -> None:
    analysis = one_treatment(np.array([0.1, 0.3]), np.full((2, 2), 0.1), "given")
    half = stats.t.ppf(0.975, (0.22 / 0.02) ** 2) * np.sqrt(0.22 / 2)
    assert (analysis.difference.low, analysis.difference.high) == pytest.approx(
        (0.2 - half, 0.2 + half)
    )
    fixed = analysis.fixed_cases
    assert (fixed.statistic, fixed.degrees_of_freedom) == (pytest.approx(2.0), (1.0,))
    assert fixed.p_value == pytest.approx(2 * stats.t.sf(2, 1))


def test_values_that_cannot_vary_with_the_cases_are_undefined_for_fixed_readers() -> None:
    metrics = ReaderMetrics(np.array([[0.5, 0.7], [0.8, 0.8]]), np.zeros((2, 2, 2, 2)), "given")
    with undefined(match="not positive"):
        obuchowski_rockette(metrics)


def test_three_treatments_by_hand() -> None:
    value = np.array([[0.5, 0.7], [0.8, 0.8], [0.9, 0.7]])
    covariance = np.full((3, 2, 3, 2), 0.1)
    for index in range(3):
        for reader in range(2):
            covariance[index, reader, index, reader] = 0.5
    study = obuchowski_rockette(ReaderMetrics(value, covariance, "given"))
    # means .6 .8 .8: 2 (.0178 + .0044 + .0044) / 2; residuals of readers -.1 0 .1: .04 / 2
    part = study.components
    assert part.treatment_square == pytest.approx(0.08 / 3)
    assert part.treatment_reader_square == pytest.approx(0.02)
    both = study.random_readers_random_cases.significance
    assert both.statistic == pytest.approx(4 / 3)
    assert both.degrees_of_freedom == pytest.approx((2, 2))
    fixed = study.fixed_readers.significance
    assert fixed.statistic == pytest.approx(0.08 / 3 / 0.4)
    assert fixed.p_value == pytest.approx(stats.chi2.sf(2 * 0.08 / 3 / 0.4, 2))


def test_readers_who_covary_negatively_count_as_independent() -> None:
    analysis = one_treatment(np.array([0.1, 0.3]), np.full((2, 2), -0.1), "given")
    assert analysis.significance.statistic == pytest.approx(0.2 / np.sqrt(0.02 / 2))
    assert analysis.significance.degrees_of_freedom == pytest.approx((1,))
