from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from builders.tables import case, cohort, false_mark, mark, nodule
from builders.words import undefined
from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.metrics.froc import cpm
from nodulebench.metrics.operating_point import precision, recall
from nodulebench.statistics import bootstrap as resample
from nodulebench.statistics.bootstrap import Bootstrap
from nodulebench.statistics.multiplicity import holm
from nodulebench.statistics.paired import (
    Comparison,
    MarginTest,
    PairedRows,
    Replicates,
    compare_all,
    paired_difference,
    replicate_metric,
)


def replicates(value: list[float], *rows: list[float] | FloatArray) -> Replicates:
    names = ("new", "old", "older")[: len(value)]
    return Replicates(names, np.array(value), np.array(rows))


def margin_of(comparison: Comparison) -> MarginTest:
    assert comparison.margin is not None
    return comparison.margin


FIVE = replicates([0.8, 0.7], [0.70, 0.80, 0.82, 0.90, 0.84], [0.72, 0.72, 0.70, 0.75, 0.70])
"""Differences -.02 .08 .12 .15 .14, observed .1."""


def test_difference_is_algorithm_minus_baseline_replicate_by_replicate() -> None:
    comparison = paired_difference(FIVE, "new", "old")
    assert comparison.difference.value == pytest.approx(0.1)
    assert comparison.difference.mean == pytest.approx(0.094)
    assert comparison.standard_error == pytest.approx(
        np.std([-0.02, 0.08, 0.12, 0.15, 0.14], ddof=1)
    )


def test_interval_is_the_central_share_of_the_differences() -> None:
    comparison = paired_difference(FIVE, "new", "old", level=0.5)
    assert (comparison.difference.low, comparison.difference.high) == pytest.approx((0.08, 0.14))


def test_the_p_value_is_where_the_interval_begins_to_exclude_zero() -> None:
    # 41 differences from -0.095 to 0.305: the quantile is 0 at 9.5 of 40 steps
    drawn = np.linspace(-0.095, 0.305, 41)
    both = replicates([0.6, 0.5], drawn, np.zeros(41))
    comparison = paired_difference(both, "new", "old")
    assert comparison.p_value == pytest.approx(2 * 9.5 / 40)
    at_limit = paired_difference(both, "new", "old", level=1 - comparison.p_value)
    assert at_limit.difference.low == pytest.approx(0, abs=1e-12)


def test_no_p_value_is_smaller_than_the_replicates_can_show() -> None:
    # the interval of five replicates excludes 0 at 2 * 0.05, but five can show 2 / (1 + 5) at best
    assert paired_difference(FIVE, "new", "old").p_value == pytest.approx(2 / 6)


def test_normal_p_value_divides_by_the_standard_error() -> None:
    comparison = paired_difference(FIVE, "new", "old")
    from scipy import stats

    assert comparison.normal_p_value == pytest.approx(
        2 * stats.norm.sf(0.1 / comparison.standard_error)
    )


def test_swapping_the_two_turns_the_signs() -> None:
    there, back = paired_difference(FIVE, "new", "old"), paired_difference(FIVE, "old", "new")
    assert back.difference.value == pytest.approx(-0.1)
    assert there.difference.high is not None
    assert back.difference.low == pytest.approx(-there.difference.high)
    assert back.p_value == there.p_value


def test_an_algorithm_does_not_differ_from_itself() -> None:
    same = paired_difference(FIVE, "new", "new")
    assert same.difference.value == 0
    assert same.p_value == 1
    assert same.normal_p_value == 1


def test_undefined_replicates_are_left_out_and_counted() -> None:
    holes = replicates([0.8, 0.7], [0.8, np.nan, 0.9], [0.7, 0.7, np.nan])
    with undefined(match="nearly every replicate of it"):
        paired_difference(holes, "new", "old")
    more = replicates([0.8, 0.7], [0.8, np.nan, 0.9], [0.7, 0.7, 0.6])
    comparison = paired_difference(more, "new", "old")
    assert (comparison.replicates, comparison.undefined_replicates) == (2, 1)


def test_an_undefined_metric_has_no_difference() -> None:
    with pytest.raises(UndefinedError):
        paired_difference(replicates([np.nan, 0.7], [0.8, 0.9], [0.7, 0.7]), "new", "old")


def spread(centre: float, half: float) -> Replicates:
    """Differences evenly spread around the observed one."""
    drawn = centre + np.linspace(-half, half, 201)
    return replicates([0.5 + centre, 0.5], 0.5 + drawn, np.full(201, 0.5))


def test_not_inferior_where_the_lower_bound_is_above_minus_the_margin() -> None:
    inside = margin_of(paired_difference(spread(-0.01, 0.03), "new", "old", margin=0.05))
    assert (inside.is_non_inferior, inside.is_equivalent, inside.is_superior) == (True, True, False)
    outside = margin_of(paired_difference(spread(-0.03, 0.03), "new", "old", margin=0.05))
    assert (outside.is_non_inferior, outside.is_equivalent) == (False, False)


def test_better_by_more_than_the_margin_is_superior_and_not_equivalent() -> None:
    margin = margin_of(paired_difference(spread(0.08, 0.02), "new", "old", margin=0.05))
    assert (margin.is_non_inferior, margin.is_equivalent, margin.is_superior) == (True, False, True)
    assert margin.non_inferiority_p == pytest.approx(1 / 202)
    assert margin.equivalence_p == 1.0


def test_the_one_sided_p_value_is_the_tail_of_the_bound_at_the_margin() -> None:
    # 41 differences in steps of 0.01 from -0.1: -0.05 is at 5 of 40 steps, 0.05 at 15
    drawn = np.linspace(-0.1, 0.3, 41)
    both = replicates([0.6, 0.5], drawn, np.zeros(41))
    margin = margin_of(paired_difference(both, "new", "old", margin=0.05))
    assert margin.non_inferiority_p == pytest.approx(5 / 40)
    assert margin.equivalence_p == pytest.approx(25 / 40)


def test_where_lower_is_better_the_loss_is_a_rise() -> None:
    fewer = spread(-0.08, 0.02)  # false positives fall by .08
    margin = margin_of(paired_difference(fewer, "new", "old", margin=0.05, better="lower"))
    assert (margin.is_non_inferior, margin.is_superior) == (True, True)
    assert not margin_of(paired_difference(fewer, "new", "old", margin=0.05)).is_non_inferior


def test_a_margin_must_be_positive() -> None:
    with pytest.raises(InputError, match=r"margin: 0 is not positive\. Give the largest loss"):
        paired_difference(FIVE, "new", "old", margin=0.0)


THREE = replicates(
    [0.8, 0.7, 0.6],
    [0.80, 0.81, 0.79, 0.82],
    [0.70, 0.80, 0.80, 0.72],
    [0.60, 0.61, 0.59, 0.62],
)


def test_all_pairs_are_adjusted_as_one_family() -> None:
    comparisons = compare_all(THREE)
    assert [(comparison.algorithm, comparison.baseline) for comparison in comparisons] == [
        ("new", "old"),
        ("new", "older"),
        ("old", "older"),
    ]
    plain = [comparison.p_value for comparison in comparisons]
    assert [comparison.adjusted_p_value for comparison in comparisons] == pytest.approx(
        list(holm(plain))
    )
    assert {comparison.adjustment for comparison in comparisons} == {"holm"}


NEW = cohort(
    case("a", nodule(), mark(0.9)), case("b", nodule(), mark(0.8)), case("c", false_mark(0.5))
)
OLD = cohort(case("a", nodule(), mark(0.9)), case("b", nodule(), false_mark(0.7)), case("c"))


def test_all_algorithms_are_evaluated_on_the_same_weights() -> None:
    bootstrap = Bootstrap(np.arange(3), replicates=50, seed=3)
    table = replicate_metric(recall, {"new": NEW, "old": OLD}, bootstrap)
    weights = np.concatenate(list(bootstrap.blocks()))
    assert table.names == ("new", "old")
    assert table.value == pytest.approx([1.0, 0.5])
    np.testing.assert_array_equal(table.replicate[0], recall(NEW, weights))
    np.testing.assert_array_equal(table.replicate[1], recall(OLD, weights))


def test_patients_are_resampled_whole() -> None:
    # both nodules belong to one patient, found only by the new algorithm: the difference is certain
    bootstrap = Bootstrap(np.array([0, 0, 1]), replicates=200, seed=1)
    table = replicate_metric(recall, {"new": NEW, "old": OLD}, bootstrap)
    drawn = table.replicate[:, np.isfinite(table.replicate[0])]
    assert set(drawn[0] - drawn[1]) == {0.5}


def test_any_metric_can_be_compared() -> None:
    bootstrap = Bootstrap(np.arange(3), replicates=20, seed=3)
    for metric in (precision, cpm):
        table = replicate_metric(metric, {"new": NEW, "old": OLD}, bootstrap)
        assert table.replicate.shape == (2, 20)


def test_algorithms_must_share_the_cases() -> None:
    with pytest.raises(InputError) as error:
        replicate_metric(recall, {"new": NEW}, Bootstrap(np.arange(2), 5, 0))
    assert str(error.value) == (
        "algorithm 'new': was labelled on 3 cases, the resamples have 2. "
        "Compare algorithms on the same cases."
    )


@pytest.mark.slow
def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    # paired binary outcomes, discordant .2 and .1: true difference .1
    random = np.random.default_rng(11)
    covered = 0
    for trial in range(200):
        kind = random.choice(3, p=[0.2, 0.1, 0.7], size=150)
        gain = np.select([kind == 0, kind == 1], [1.0, -1.0], 0.0)
        rows = np.concatenate(list(Bootstrap(np.arange(150), 400, trial).blocks())) @ gain / 150
        drawn = replicates([gain.mean(), 0.0], rows, np.zeros(400))
        estimate = paired_difference(drawn, "new", "old").difference
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= 0.1 <= estimate.high
    assert 0.90 <= covered / 200 <= 0.99


def test_the_error_of_guarded_rows_is_that_of_their_middle() -> None:
    rows = PairedRows(np.array([0.0, 0.1, 0.5]), np.array([0.2, 0.5, 0.7]), Notice("any"))
    both = Replicates(("new", "old"), np.array([0.8, 0.5]), np.empty((2, 0)), lambda *_: rows)
    comparison = paired_difference(both, "new", "old")
    assert comparison.standard_error == pytest.approx(np.std([0.1, 0.3, 0.6], ddof=1))
    assert (comparison.replicates, comparison.undefined_replicates) == (3, 0)


def test_where_lower_is_better_margins_are_tested_from_the_other_side() -> None:
    turned = replicates([-0.8, -0.7], -FIVE.replicate[0], -FIVE.replicate[1])
    higher = margin_of(paired_difference(FIVE, "new", "old", margin=0.05))
    lower = margin_of(paired_difference(turned, "new", "old", margin=0.05, better="lower"))
    assert replace(lower, method=higher.method) == higher
    assert lower.method.values == {"level": 0.95, "better": "lower"}


def guarded(low: FloatArray, high: FloatArray, value: float = 0.0, **more: Any) -> Replicates:
    rows = PairedRows(low, high, Notice("any"), **more)
    return Replicates(("new", "old"), np.array([value, 0.0]), np.empty((2, 0)), lambda *_: rows)


def test_the_p_value_of_guarded_rows_is_that_of_the_row_nearer_to_zero() -> None:
    # steps of 0.02 from -0.1: 0 is at 5 of 40 steps; the higher rows start at 0.1
    low = np.linspace(-0.1, 0.7, 41)
    comparison = paired_difference(guarded(low, low + 0.2, 0.4), "new", "old")
    assert comparison.p_value == comparison.adjusted_p_value == pytest.approx(2 * 5 / 40)
    lower = paired_difference(guarded(-low - 0.2, -low, -0.4), "new", "old")
    assert lower.p_value == pytest.approx(comparison.p_value)


def test_rows_are_ordered_by_value_for_either_direction() -> None:
    """With more false positives the worst pseudo-patient gives the higher row, not the lower."""
    low, high = np.linspace(-0.1, 0.7, 41), np.linspace(0.1, 0.9, 41)
    for first, second in ((low, high), (high, low)):
        rows = PairedRows.ordered(first, second, Notice("any"))
        np.testing.assert_array_equal((rows.low, rows.high), (low, high))


def test_an_observed_difference_of_zero_is_never_significant() -> None:
    rows = np.linspace(0.1, 0.5, 41)  # every replicate above 0, the observed difference is 0
    comparison = paired_difference(guarded(rows, rows + 0.1, 0.0), "new", "old")
    assert (comparison.p_value, comparison.difference.low) == (1.0, 0.0)


def test_guarded_rows_without_an_interval_decide_nothing() -> None:
    rows = guarded(np.full(9, 1.0), np.full(9, 2.0), 1.5, reason=Notice("one_patient"))
    comparison = paired_difference(rows, "new", "old", margin=0.5)
    assert (comparison.p_value, comparison.normal_p_value) == (1.0, None)
    assert comparison.margin == MarginTest(0.5, reason=Notice("one_patient"))


@pytest.mark.parametrize(
    ("difference", "is_non_inferior", "is_equivalent", "is_superior", "is_open"),
    [
        (-1.0, False, False, False, False),
        (-0.5, False, False, False, True),  # at the margin: a loss that is not allowed, nor certain
        (0.0, True, True, False, False),
        (0.5, True, False, True, False),
        (1.0, True, False, True, False),
    ],
)
def test_a_bound_at_the_margin_or_at_0_shows_nothing(
    difference: float,
    is_non_inferior: bool,
    is_equivalent: bool,
    is_superior: bool,
    is_open: bool,
) -> None:
    """Differences that never vary, of which the interval is a point."""
    expected = (is_non_inferior, is_equivalent, is_superior)
    for sign, better in ((1, "higher"), (-1, "lower")):
        rows = np.full(9, sign * difference)
        plain = replicates([0.0 + sign * difference, 0.0], rows, np.zeros(9))
        sure = guarded(rows, rows, sign * difference, not_assessable=lambda _: Notice("few"))
        for table in (plain, sure):
            margin = margin_of(paired_difference(table, "new", "old", margin=0.5, better=better))
            assert (margin.is_non_inferior, margin.is_equivalent, margin.is_superior) == expected
        assert margin.reason == (Notice("few") if is_open else None)
        assert margin.non_inferiority_p == (1.0 if difference <= -0.5 else 0.1)
        assert margin.equivalence_p == (1.0 if abs(difference) >= 0.5 else 0.1)
        margin = margin_of(paired_difference(plain, "new", "old", margin=0.5, better=better))
        # half of a law that has no width is above its own position
        assert margin.non_inferiority_normal_p == {-1.0: 1.0, -0.5: 0.5}.get(difference, 0.0)
        assert margin.equivalence_normal_p == {1.0: 1.0, 0.5: 0.5, 0.0: 0.0}[abs(difference)]


def test_guarded_margins_where_lower_is_better_are_those_of_the_turned_rows() -> None:
    low = np.linspace(-0.3, 0.5, 41)
    high = low + 0.2
    higher = paired_difference(guarded(low, high, 0.2), "new", "old", margin=0.4)
    lower = paired_difference(guarded(-high, -low, -0.2), "new", "old", margin=0.4, better="lower")
    here, there = margin_of(higher), margin_of(lower)
    assert replace(there, method=here.method) == here
    # the high row reaches 0.4 at 25 of 40 steps; the low row never falls to -0.4
    assert here.non_inferiority_p == pytest.approx(1 / 42)
    assert here.equivalence_p == pytest.approx(15 / 40)


def test_normal_p_values_of_a_margin_by_hand() -> None:
    from scipy import stats

    error = np.std([-0.02, 0.08, 0.12, 0.15, 0.14], ddof=1)
    margin = margin_of(paired_difference(FIVE, "new", "old", margin=0.1))
    assert margin.non_inferiority_p == pytest.approx(1 / 6)
    assert margin.non_inferiority_normal_p == pytest.approx(stats.norm.sf((0.1 + 0.1) / error))
    wide = margin_of(paired_difference(FIVE, "new", "old", margin=0.3))
    assert wide.equivalence_normal_p == pytest.approx(stats.norm.sf((0.3 - 0.1) / error))


def test_blocks_of_weights_are_put_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    bootstrap = Bootstrap(np.arange(3), replicates=50, seed=3)
    whole = replicate_metric(recall, {"new": NEW, "old": OLD}, bootstrap)
    monkeypatch.setattr(resample, "_BLOCK_ELEMENTS", 40)
    parts = replicate_metric(recall, {"new": NEW, "old": OLD}, bootstrap)
    np.testing.assert_array_equal(parts.replicate, whole.replicate)
