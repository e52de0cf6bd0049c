import numpy as np
import pytest
from scipy import stats

from builders.words import undefined
from nodulebench.core.errors import UndefinedError
from nodulebench.i18n.translator import in_english
from nodulebench.statistics.groups import (
    GroupSummary,
    friedman,
    one_way_anova,
    paired_t,
    repeated_measures_anova,
    summarize_group,
    unpaired_t,
    wilcoxon,
)

TABLE = np.array([[1.0, 2, 4], [2, 2, 5], [3, 5, 5], [4, 5, 9]])
RANDOM = np.random.default_rng(7).normal(size=(9, 4)) + np.array([0, 0.3, 0.6, 0.9])


def test_group_summary_uses_the_sample_standard_deviation() -> None:
    assert summarize_group([2.0, 4.0, 6.0]) == GroupSummary(mean=4.0, sd=2.0, count=3)


def test_one_value_has_no_standard_deviation() -> None:
    with undefined(match="needs at least two values"):
        summarize_group([1.0])


def test_one_way_anova_by_hand() -> None:
    # groups 1 2 3 and 3 4 5: between 3 * (1 + 1) = 6 on 1, within 2 + 2 = 4 on 4: F = 6
    test = one_way_anova([summarize_group([1.0, 2, 3]), summarize_group([3.0, 4, 5])])
    assert test.statistic == pytest.approx(6.0)
    assert test.degrees_of_freedom == (1.0, 4.0)
    assert test.p_value == pytest.approx(float(stats.t.sf(np.sqrt(6), 4) * 2))


def test_one_way_anova_from_summaries_equals_scipy_on_the_values() -> None:
    groups = [np.array([3.0, 4, 8, 1]), np.array([6.0, 7, 9]), np.array([1.0, 2, 2, 5, 4])]
    test = one_way_anova([summarize_group(group) for group in groups])
    expected = stats.f_oneway(*groups)
    assert test.statistic == pytest.approx(expected.statistic)
    assert test.p_value == pytest.approx(expected.pvalue)


def test_unpaired_t_pools_the_variance() -> None:
    # means 2 and 4, pooled variance 1: t = -2 / sqrt(2/3)
    test = unpaired_t(GroupSummary(2, 1, 3), GroupSummary(4, 1, 3))
    assert test.statistic == pytest.approx(-2 / np.sqrt(2 / 3))
    assert test.degrees_of_freedom == (4.0,)


def test_repeated_measures_by_hand() -> None:
    # two conditions: F is the square of the paired t
    repeated = repeated_measures_anova(TABLE[:, :2]).uncorrected
    paired = paired_t(TABLE[:, 0], TABLE[:, 1])
    assert repeated.statistic == pytest.approx(paired.statistic**2)
    assert repeated.p_value == pytest.approx(paired.p_value)
    assert repeated.degrees_of_freedom == (1.0, 3.0)


def test_three_conditions_by_hand() -> None:
    # TABLE: condition means 2.5 3.5 5.75, unit means 7/3 3 13/3 6, grand mean 47/12.
    # conditions 4 * sum of squares = 22.1667 on 2; error 6.5 - see residuals - on 6
    residual = TABLE - TABLE.mean(0) - TABLE.mean(1, keepdims=True) + TABLE.mean()
    error = float((residual**2).sum())
    between = 4 * ((2.5 - 47 / 12) ** 2 + (3.5 - 47 / 12) ** 2 + (5.75 - 47 / 12) ** 2)
    test = repeated_measures_anova(TABLE)
    assert test.uncorrected.statistic == pytest.approx((between / 2) / (error / 6))
    assert test.uncorrected.degrees_of_freedom == (2.0, 6.0)


def test_epsilon_is_between_its_bounds_and_shrinks_both_degrees() -> None:
    test = repeated_measures_anova(RANDOM)
    assert 1 / 3 <= test.epsilon <= 1
    assert test.corrected.degrees_of_freedom == pytest.approx((3 * test.epsilon, 24 * test.epsilon))
    assert test.corrected.p_value >= test.uncorrected.p_value


def test_two_conditions_are_always_spherical() -> None:
    assert repeated_measures_anova(TABLE[:, :2]).epsilon == pytest.approx(1.0)


def test_epsilon_from_eigenvalues_of_the_contrast_covariance() -> None:
    # (sum of eigenvalues)^2 / ((k - 1) sum of squares), of orthonormal contrasts
    contrast = np.linalg.svd(np.eye(4) - 1 / 4)[0][:, :3]
    root = np.linalg.eigvalsh(contrast.T @ np.cov(RANDOM.T) @ contrast)
    expected = root.sum() ** 2 / (3 * (root**2).sum())
    assert repeated_measures_anova(RANDOM).epsilon == pytest.approx(expected)


def test_a_constant_shift_of_a_unit_changes_no_paired_test() -> None:
    shifted = RANDOM + np.arange(9)[:, np.newaxis] * 10
    assert repeated_measures_anova(shifted).uncorrected.p_value == pytest.approx(
        repeated_measures_anova(RANDOM).uncorrected.p_value
    )


def test_friedman_by_hand() -> None:
    # each of 3 units ranks the conditions 1 2 3: chi-square = 12/(3*3*4) * (9+36+81) - 3*3*4 = 6
    test = friedman(np.array([[1.0, 2, 3], [4, 6, 9], [0, 1, 7]]))
    assert test.statistic == pytest.approx(6.0)
    assert test.p_value == pytest.approx(np.exp(-3))


def test_wilcoxon_by_hand() -> None:
    # all five differences positive: two-sided P = 2 / 2^5
    test = wilcoxon(np.array([1.0, 3, 5, 7, 9]), np.array([0.0, 1, 2, 3, 4]))
    assert test.p_value == pytest.approx(2 / 32)
    assert in_english(test.method) == "Wilcoxon signed-rank test (exact)"


def test_wilcoxon_says_when_ties_make_it_approximate() -> None:
    test = wilcoxon(np.array([1.0, 2, 3, 4]), np.array([0.0, 1, 1, 1]))
    assert in_english(test.method) == "Wilcoxon signed-rank test (normal approximation)"


@pytest.mark.parametrize("same", [paired_t, wilcoxon])
def test_pairs_that_never_differ_leave_the_test_undefined(same: object) -> None:
    with pytest.raises(UndefinedError):
        same(np.ones(4), np.ones(4))  # type: ignore[operator]


def test_a_constant_difference_leaves_the_t_test_undefined() -> None:
    first = np.array([0.1, 0.2, 0.3])
    with undefined(match="do not vary between units"):
        paired_t(first, first + 0.1)


def test_groups_that_do_not_vary_leave_f_undefined() -> None:
    with undefined(match="do not vary within the groups"):
        one_way_anova([GroupSummary(1, 0, 3), GroupSummary(2, 0, 3)])


def test_friedman_needs_three_conditions() -> None:
    with undefined(match="at least three conditions"):
        friedman(TABLE[:, :2])


@pytest.mark.parametrize(
    ("p_value", "mark"), [(0.01, "**"), (0.0101, "*"), (0.05, "*"), (0.051, "ns")]
)
def test_marks_are_inclusive_at_their_bounds(p_value: float, mark: str) -> None:
    from nodulebench.core.documents.comparison import Significance

    assert Significance("any", 1.0, p_value).mark == mark


def test_one_group_has_no_analysis_of_variance() -> None:
    with undefined(match="at least two groups"):
        one_way_anova([GroupSummary(1, 1, 3)])


def test_two_groups_that_do_not_vary_leave_t_undefined() -> None:
    with undefined(match="neither group varies"):
        unpaired_t(GroupSummary(1, 0, 3), GroupSummary(2, 0, 3))


def test_conditions_that_never_differ_leave_friedman_undefined() -> None:
    with undefined(match="the conditions do not differ"):
        friedman(np.array([[1.0, 1, 1], [2, 2, 2]]))


def test_one_unit_is_not_a_pair() -> None:
    with undefined(match="at least two units"):
        repeated_measures_anova(TABLE[:1])


def test_one_condition_is_nothing_to_compare() -> None:
    with undefined(match="at least two units"):
        repeated_measures_anova(TABLE[:, :1])
    with undefined(match="at least two units"):
        repeated_measures_anova(TABLE[:, 0])


def test_degrees_of_freedom_are_one_less_than_conditions_or_pairs() -> None:
    assert friedman(TABLE).degrees_of_freedom == (2.0,)
    assert paired_t(TABLE[:, 0], TABLE[:, 1]).degrees_of_freedom == (3.0,)


@pytest.mark.parametrize("unit", [1e-13, 1e13])
def test_the_unit_of_measurement_changes_no_test(unit: float) -> None:
    plain, other = repeated_measures_anova(TABLE), repeated_measures_anova(unit * TABLE)
    assert other.corrected.p_value == pytest.approx(plain.corrected.p_value)
    columns = TABLE[:, 0], TABLE[:, 1]
    scaled = paired_t(unit * columns[0], unit * columns[1])
    assert scaled.p_value == pytest.approx(paired_t(*columns).p_value)
    with undefined(match="do not vary between units"):
        paired_t(unit * columns[0], unit * (columns[0] + 0.1))


def test_wilcoxon_is_exact_up_to_fifty_pairs() -> None:
    for count, method in ((50, "wilcoxon_exact"), (51, "wilcoxon_normal")):
        difference = np.arange(1.0, count + 1) * np.where(np.arange(count) % 3, 1, -1)
        assert wilcoxon(difference, np.zeros(count)).method.code == method


def test_three_values_are_summarised_and_two_groups_analysed() -> None:
    assert summarize_group([1.0, 3.0]) == GroupSummary(mean=2.0, sd=2**0.5, count=2)
    one_sided = unpaired_t(GroupSummary(1, 0, 3), GroupSummary(2, 1, 3))
    assert one_sided.statistic == pytest.approx(-1 / (0.5 * 2 / 3) ** 0.5)


def test_unequal_groups_are_pooled_by_their_degrees_of_freedom() -> None:
    # (2 x 1 + 4 x 4) / 6 = 3; t = -2 / sqrt(3 (1/3 + 1/5)), on 6 degrees
    test = unpaired_t(GroupSummary(2, 1, 3), GroupSummary(4, 2, 5))
    assert test.statistic == pytest.approx(-2 / np.sqrt(1.6))
    assert test.degrees_of_freedom == (6.0,)
    assert test.p_value == pytest.approx(2 * stats.t.sf(2 / np.sqrt(1.6), 6))


def test_a_group_that_varies_a_little_varies() -> None:
    small, flat = summarize_group([0.1, 0.2, 0.3]), summarize_group([0.5, 0.5, 0.5])
    # pooled variance (2 * 0.1^2 + 0) / 4 = 0.005
    test = unpaired_t(small, flat)
    assert test.statistic == pytest.approx(-0.3 / np.sqrt(0.005 * 2 / 3))
    assert test.p_value == pytest.approx(2 * stats.t.cdf(test.statistic, 4))
