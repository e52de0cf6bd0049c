import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from builders.words import undefined
from nodulebench.i18n.translator import in_english
from nodulebench.statistics.paired import Replicates, paired_difference
from nodulebench.statistics.ranking import kendall_tau, rank_algorithms, ranks


def drawn(centre: list[float], noise: float, seed: int = 0, count: int = 500) -> Replicates:
    random = np.random.default_rng(seed)
    rows = np.array(centre)[:, np.newaxis] + random.normal(scale=noise, size=(len(centre), count))
    return Replicates(tuple("abcdef"[: len(centre)]), np.array(centre), rows)


def test_lines_are_sorted_from_the_best_down() -> None:
    ranking = rank_algorithms(drawn([0.5, 0.9, 0.7], 0.001))
    assert [line.name for line in ranking.lines] == ["b", "c", "a"]
    assert [line.rank for line in ranking.lines] == [1, 2, 3]
    assert [(line.best_rank, line.worst_rank) for line in ranking.lines] == [(1, 1), (2, 2), (3, 3)]
    assert [line.group for line in ranking.lines] == [1, 2, 3]
    assert ranking.kendall_tau.value == 1
    assert ranking.lines[0].share_first == 1


def test_where_lower_is_better_the_order_turns() -> None:
    ranking = rank_algorithms(drawn([0.5, 0.9, 0.7], 0.001), better="lower")
    assert [line.name for line in ranking.lines] == ["a", "c", "b"]


def test_equal_values_share_the_better_rank() -> None:
    ranking = rank_algorithms(drawn([0.7, 0.9, 0.7, 0.1], 0.001))
    assert [line.rank for line in ranking.lines] == [1, 2, 2, 4]


def test_rank_intervals_are_ranks_that_occur() -> None:
    # b beats a in one of four replicates
    table = Replicates(
        ("a", "b"), np.array([0.6, 0.5]), np.array([[0.6, 0.6, 0.6, 0.4], [0.5, 0.5, 0.5, 0.5]])
    )
    ranking = rank_algorithms(table, level=0.9)
    assert [(line.best_rank, line.worst_rank) for line in ranking.lines] == [(1, 2), (1, 2)]
    assert ranking.lines[0].share_first == 0.75
    assert ranking.kendall_tau.value == pytest.approx(0.5)


def test_algorithms_not_separable_from_the_leader_share_its_group() -> None:
    ranking = rank_algorithms(drawn([0.80, 0.79, 0.60, 0.59], 0.01))
    assert [(line.name, line.group) for line in ranking.lines] == [
        ("a", 1),
        ("b", 1),
        ("c", 2),
        ("d", 2),
    ]
    assert "joins the group of the leader" in in_english(ranking.tie_rule)


def test_a_group_is_measured_from_its_leader_not_in_a_chain() -> None:
    # neighbours are inseparable, the ends are far apart
    ranking = rank_algorithms(drawn([0.90, 0.885, 0.87, 0.855, 0.84], 0.007, count=4000))
    assert [line.group for line in ranking.lines] == [1, 1, 2, 2, 3]


def test_groups_are_based_on_all_pairs() -> None:
    ranking = rank_algorithms(drawn([0.5, 0.9, 0.7], 0.001))
    assert len(ranking.comparisons) == 3
    assert {comparison.adjustment for comparison in ranking.comparisons} == {"holm"}


def test_differences_from_the_best_are_the_pairs_turned_towards_it() -> None:
    table = drawn([0.5, 0.9, 0.7], 0.001)
    ranking = rank_algorithms(table).from_best
    assert list(ranking) == ["a", "c"]
    for name, comparison in ranking.items():
        single = paired_difference(table, name, "b")
        assert (comparison.algorithm, comparison.baseline) == (name, "b")
        assert comparison.difference.value == pytest.approx(single.difference.value)
        bounds = (single.difference.low, single.difference.high)
        assert (comparison.difference.low, comparison.difference.high) == pytest.approx(bounds)
        assert (
            comparison.difference.low < comparison.difference.value < comparison.difference.high < 0
        )
        assert comparison.p_value == pytest.approx(single.p_value)


def test_equal_algorithms_have_no_order_to_be_stable() -> None:
    same = Replicates(("a", "b"), np.array([0.5, 0.5]), np.full((2, 10), 0.5))
    ranking = rank_algorithms(same)
    assert ranking.kendall_tau.value is None
    assert in_english(ranking.kendall_tau.reason) == "all algorithms have the same value"
    assert [line.group for line in ranking.lines] == [1, 1]


def test_an_undefined_algorithm_is_named() -> None:
    table = Replicates(("a", "b"), np.array([0.5, np.nan]), np.ones((2, 5)))
    with undefined(match="the metric is undefined for b"):
        rank_algorithms(table)


def test_one_algorithm_has_no_ranking() -> None:
    with undefined(match="needs two algorithms"):
        rank_algorithms(drawn([0.5], 0.1))


VALUES = st.lists(st.integers(0, 4), min_size=2, max_size=7)


@settings(max_examples=80)
@given(VALUES)
def test_ranks_are_those_of_scipy(values: list[int]) -> None:
    rank = ranks(np.array(values, dtype=float)[:, np.newaxis])[:, 0]
    expected = stats.rankdata([-value for value in values], method="min")
    assert rank.tolist() == expected.astype(int).tolist()


@settings(max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=7))
def test_tau_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs, dtype=float).T
    tau = kendall_tau(first, second[:, np.newaxis])[0]
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert np.isnan(tau)
    else:
        assert tau == pytest.approx(stats.kendalltau(first, second).statistic)


def test_replicates_undefined_for_some_algorithm_are_left_out() -> None:
    table = Replicates(
        ("a", "b"),
        np.array([0.6, 0.5]),
        np.array([[0.6, 0.6, np.nan, 0.6], [0.5, 0.7, 0.9, 0.5]]),
    )
    assert rank_algorithms(table).lines[0].share_first == pytest.approx(2 / 3)
    with undefined(match="no replicates in which all algorithms are defined"):
        rank_algorithms(Replicates(table.names, table.value, np.full((2, 4), np.nan)))


def test_two_replicates_that_all_share_are_the_fewest() -> None:
    nan = np.nan
    values = np.array([[0.6, nan, 0.6], [0.5, 0.5, nan]])
    with undefined(match="no replicates in which all algorithms are defined"):
        rank_algorithms(Replicates(("a", "b"), np.array([0.6, 0.5]), values))
    two = np.array([[0.6, 0.6, 0.6], [0.5, 0.5, nan]])
    assert rank_algorithms(Replicates(("a", "b"), np.array([0.6, 0.5]), two)).lines[0].rank == 1


def test_rank_intervals_leave_half_of_the_rest_on_either_side() -> None:
    # a is second in 2 of 20 replicates: beyond 5 % on its side, not beyond 10 %
    first, second = np.ones(20), np.zeros(20)
    second[:2] = 2.0
    both = Replicates(("a", "b"), np.array([1.0, 0.0]), np.array([first, second]))
    for level, worst in ((0.79, 1), (0.81, 2), (0.9, 2)):
        assert rank_algorithms(both, level=level).lines[0].worst_rank == worst


def test_a_p_value_at_the_limit_does_not_separate() -> None:
    # the quantile of nine differences is 0 at 2 of 8 steps: P = 2 * 2 / 8
    first = np.array([-2.0, -1, 0, 1, 2, 3, 4, 5, 6])
    both = Replicates(("a", "b"), np.array([2.0, 0.0]), np.array([first, np.zeros(9)]))
    for level, groups in ((0.5, [1, 1]), (0.4, [1, 2])):
        assert [line.group for line in rank_algorithms(both, level=level).lines] == groups
