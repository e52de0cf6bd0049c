import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from builders.words import undefined
from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.i18n.translator import in_english
from nodulebench.statistics.delong import (
    auc_covariance,
    auc_estimate,
    compare_auc,
    hanley_mcneil_standard_error,
    placements,
)

POSITIVE, NEGATIVE = np.array([3.0, 5.0, 4.0]), np.array([1.0, 4.0])


def test_placements_count_ties_by_half() -> None:
    placed = placements(POSITIVE, NEGATIVE)
    assert placed.positive.tolist() == [[0.5, 1.0, 0.75]]
    assert placed.negative == pytest.approx(np.array([[1.0, 0.5]]))
    assert placed.auc == pytest.approx([0.75])


def test_delong_variance_by_hand() -> None:
    # V10 .5 1 .75: variance .0625; V01 1 .5: variance .125; .0625 / 3 + .125 / 2
    covariance = auc_covariance(placements(POSITIVE, NEGATIVE))
    assert covariance[0, 0] == pytest.approx(0.0625 / 3 + 0.125 / 2)


SCORES = st.lists(st.integers(0, 5), min_size=2, max_size=12)


@settings(max_examples=50)
@given(SCORES, SCORES)
def test_the_area_is_that_of_scikit_learn(positive: list[int], negative: list[int]) -> None:
    truth = [1] * len(positive) + [0] * len(negative)
    area = placements(np.array(positive, float), np.array(negative, float)).auc[0]
    assert area == pytest.approx(roc_auc_score(truth, positive + negative))


def test_covariance_by_pairwise_comparison() -> None:
    # the definition of DeLong et al.: sample covariances of placement values
    random = np.random.default_rng(3)
    above, below = random.integers(2, 9, (2, 12)), random.integers(0, 6, (2, 15))
    wins = (above[:, :, None] > below[:, None, :]) + 0.5 * (above[:, :, None] == below[:, None, :])
    expected = np.cov(wins.mean(2)) / 12 + np.cov(wins.mean(1)) / 15
    covariance = auc_covariance(placements(above.astype(float), below.astype(float)))
    assert covariance == pytest.approx(expected)


def test_single_units_make_obuchowski_equal_delong() -> None:
    placed = placements(POSITIVE, NEGATIVE)
    clustered = auc_covariance(
        placed, positive_unit=np.array([7, 1, 3]), negative_unit=np.array([2, 9])
    )
    assert clustered == pytest.approx(auc_covariance(placed))


def test_obuchowski_by_hand() -> None:
    # patients: 0 has the positive 3 and the negative 1; 1 the positives 5, 4; 2 the negative 4.
    # deviations: positives -.25 | .25 + 0; negatives .25 | -.25 (patients 0 and 2)
    # S10 = 2/1 * (.0625 + .0625) / 3^2, S01 = 2/1 * (.0625 + .0625) / 2^2,
    # S11 = 3/2 * (-.25 * .25) * 2 / (3 * 2)
    covariance = auc_covariance(
        placements(POSITIVE, NEGATIVE),
        positive_unit=np.array([0, 1, 1]),
        negative_unit=np.array([0, 2]),
    )
    assert covariance[0, 0] == pytest.approx(0.25 / 9 + 0.25 / 4 - 1.5 * 0.0625 * 2 / 6)


def test_doubling_every_patient_s_nodules_changes_no_clustered_variance() -> None:
    random = np.random.default_rng(8)
    above, below = random.normal(1, 1, 20), random.normal(0, 1, 25)
    units = np.arange(20), 20 + np.arange(25)
    once = auc_covariance(placements(above, below), positive_unit=units[0], negative_unit=units[1])
    twice = auc_covariance(
        placements(np.tile(above, 2), np.tile(below, 2)),
        positive_unit=np.tile(units[0], 2),
        negative_unit=np.tile(units[1], 2),
    )
    assert twice == pytest.approx(once)


def test_interval_is_symmetric_around_the_area_and_cut_at_one() -> None:
    error = np.sqrt(0.0625 / 3 + 0.125 / 2)
    area = auc_estimate(POSITIVE, NEGATIVE, level=0.5)
    assert area.value == pytest.approx(0.75)
    half = 0.67448975 * error
    assert (area.low, area.high) == pytest.approx((0.75 - half, 0.75 + half))
    wide = auc_estimate(POSITIVE, NEGATIVE)
    assert (wide.low, wide.high) == pytest.approx((0.75 - 1.959964 * error, 1.0))
    assert in_english(area.method) == "DeLong, normal"


def test_complete_separation_has_no_interval() -> None:
    area = auc_estimate(np.array([5.0, 6.0]), np.array([1.0, 2.0]))
    assert (area.value, area.low) == (1.0, None)
    assert in_english(area.reason) == "the scores separate completely: no variance to estimate"


def test_difference_uses_the_covariance() -> None:
    random = np.random.default_rng(4)
    case = random.normal(size=60)
    above = case[:30] + 1.5 + random.normal(scale=0.3, size=(2, 30))
    below = case[30:] + random.normal(scale=0.3, size=(2, 30))
    covariance = auc_covariance(placements(above, below))
    comparison = compare_auc(above, below)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert comparison.standard_error == pytest.approx(np.sqrt(variance))
    assert covariance[0, 1] > 0
    assert comparison.significance.statistic == pytest.approx(
        comparison.difference.value / comparison.standard_error  # type: ignore[operator]
    )


def test_equal_scores_leave_the_difference_undefined() -> None:
    with undefined(match="the difference of the areas has no variance"):
        compare_auc(np.stack([POSITIVE, POSITIVE]), np.stack([NEGATIVE, NEGATIVE]))


def test_a_roc_needs_both_kinds() -> None:
    with undefined(match="needs positives and negatives"):
        placements(POSITIVE, np.empty(0))


def test_one_positive_has_no_variance() -> None:
    with undefined(match="two units with positives"):
        auc_covariance(placements(POSITIVE[:1], NEGATIVE))


def test_rows_are_the_same_algorithms() -> None:
    with pytest.raises(
        InputError, match="of positives come from 2 algorithms, of negatives from 1"
    ):
        placements(np.stack([POSITIVE, POSITIVE]), NEGATIVE)


def test_hanley_mcneil_check_value() -> None:
    assert hanley_mcneil_standard_error(0.9, 50, 50) == pytest.approx(0.032124, abs=5e-7)


def test_hanley_mcneil_by_hand() -> None:
    # A = .5: Q1 = Q2 = 1/3, variance (1/4 + 2/12) / 4 with 2 and 2
    assert hanley_mcneil_standard_error(0.5, 2, 2) ** 2 == pytest.approx((1 / 4 + 2 / 12) / 4)


@pytest.mark.parametrize("level", [0.95, 0.9])
def test_the_difference_has_a_normal_interval_and_p_value(level: float) -> None:
    random = np.random.default_rng(5)
    above, below = random.normal(1, size=(2, 20)), random.normal(size=(2, 25))
    comparison = compare_auc(above, below, level=level)
    value, error = comparison.difference.value, comparison.standard_error
    assert value is not None
    half = stats.norm.ppf((1 + level) / 2) * error
    assert (comparison.difference.low, comparison.difference.high) == pytest.approx(
        (value - half, value + half)
    )
    assert comparison.significance.p_value == pytest.approx(2 * stats.norm.sf(abs(value) / error))
    assert compare_auc(above, below).difference == compare_auc(above, below, level=0.95).difference


def test_one_negative_or_one_positive_has_no_variance() -> None:
    for above, below in (([1.0, 2.0], [0.0]), ([2.0], [0.0, 1.0])):
        with undefined(match="variance"):
            auc_estimate(np.array(above), np.array(below))


def test_an_interval_is_cut_at_0_and_at_1() -> None:
    low, high = np.array([1.0, 2, 3, 9]), np.array([4.0, 5, 6, 0])
    area = auc_estimate(low, high)
    assert area.low == 0
    turned = auc_estimate(high, low)
    assert turned.high == 1
    assert (area.value or 0) + (turned.value or 0) == pytest.approx(1)


def test_units_of_only_one_side_are_refused() -> None:
    above, below = np.array([1.0, 3, 4]), np.array([0.0, 2, 1])
    plain = auc_estimate(above, below)
    assert plain.method == Notice("delong")
    for units in ({"positive_unit": np.zeros(3, int)}, {"negative_unit": np.zeros(3, int)}):
        assert auc_estimate(above, below, **units) == plain


def test_a_difference_is_the_first_area_less_the_second() -> None:
    positive = np.array([[3.0, 5, 4, 6], [1, 5, 2, 2.5]])
    negative = np.array([[1.0, 4, 2, 0], [1.5, 4, 2, 0]])
    areas = placements(positive, negative).auc
    comparison = compare_auc(positive, negative)
    assert comparison.difference.value == pytest.approx(areas[0] - areas[1])
    assert comparison.difference.value != 0
    turned = compare_auc(positive[::-1], negative[::-1])
    assert turned.difference.value == pytest.approx(areas[1] - areas[0])
