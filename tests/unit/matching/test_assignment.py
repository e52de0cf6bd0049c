import numpy as np
import pytest

from nodulebench.matching.assignment import PossiblePairs, assign_greedily, assign_optimally


def hits(assign, *pairs):
    """Pairs (mark, nodule, cost[, tie]) -> the hit pairs."""
    mark, nodule = (np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (0, 1))
    cost = np.array([pair[2] for pair in pairs], dtype=np.float64)
    tie = np.array([pair[3] if len(pair) > 3 else 0.0 for pair in pairs])
    chosen = assign(PossiblePairs(mark, nodule, cost, tie, mark_place=mark, nodule_place=nodule))
    return {(int(mark[entry]), int(nodule[entry])) for entry in chosen}


@pytest.mark.parametrize("assign", [assign_greedily, assign_optimally])
def test_no_pairs_give_no_hits(assign):
    assert hits(assign) == set()


@pytest.mark.parametrize("assign", [assign_greedily, assign_optimally])
def test_best_of_several_marks_hits_a_nodule(assign):
    assert hits(assign, (0, 0, 3.0), (1, 0, 1.0), (2, 0, 2.0)) == {(1, 0)}


@pytest.mark.parametrize("assign", [assign_greedily, assign_optimally])
def test_second_criterion_then_place_decide_between_equal_costs(assign):
    assert hits(assign, (0, 0, 1.0, 5.0), (1, 0, 1.0, 4.0), (2, 0, 1.0, 4.0)) == {(1, 0)}


def test_greedily_the_first_nodule_takes_a_shared_mark():
    # nodule 1 is nearer to the mark, but nodule 0 comes first
    assert hits(assign_greedily, (0, 0, 2.0), (0, 1, 1.0)) == {(0, 0)}


def test_greedily_the_others_stay_free_for_the_next_nodule():
    assert hits(assign_greedily, (0, 0, 1.0), (1, 0, 2.0), (0, 1, 1.0), (1, 1, 9.0)) == {
        (0, 0),
        (1, 1),
    }


def test_optimally_the_nearer_nodule_takes_a_shared_mark():
    assert hits(assign_optimally, (0, 0, 2.0), (0, 1, 1.0)) == {(0, 1)}


def test_greedy_can_lose_a_nodule_that_the_optimum_finds():
    # mark 0 fits both nodules, mark 1 only nodule 0, which prefers mark 0
    pairs = ((0, 0, 1.0), (1, 0, 2.0), (0, 1, 1.0))
    assert hits(assign_greedily, *pairs) == {(0, 0)}
    assert hits(assign_optimally, *pairs) == {(1, 0), (0, 1)}


def test_optimally_more_hits_come_before_a_lower_cost():
    pairs = ((0, 0, 0.0), (1, 0, 1e9), (0, 1, 1e9))
    assert hits(assign_optimally, *pairs) == {(1, 0), (0, 1)}


def test_optimally_the_lowest_total_cost_comes_next():
    # 1 + 10 against 2 + 3
    pairs = ((0, 0, 1.0), (1, 0, 3.0), (0, 1, 2.0), (1, 1, 10.0))
    assert hits(assign_optimally, *pairs) == {(1, 0), (0, 1)}
    assert hits(assign_greedily, *pairs) == {(0, 0), (1, 1)}


def test_optimally_the_second_criterion_decides_between_equal_totals():
    pairs = ((0, 0, 1.0, 7.0), (1, 0, 1.0, 0.0), (0, 1, 1.0, 1.0), (1, 1, 1.0, 7.0))
    assert hits(assign_optimally, *pairs) == {(1, 0), (0, 1)}


def test_groups_are_solved_apart():
    pairs = ((0, 0, 1.0), (1, 0, 2.0), (0, 1, 1.0), (5, 7, 1.0), (6, 8, 2.0), (6, 9, 1.0))
    assert hits(assign_optimally, *pairs) == {(1, 0), (0, 1), (5, 7), (6, 9)}


def test_as_many_hits_as_possible_come_before_how_good_they_are():
    # three hits that cost 1 each, against two that cost nothing and leave a nodule without a mark
    costly, cheap = ((0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0)), ((0, 1, 0.0), (1, 2, 0.0))
    assert hits(assign_optimally, *costly, *cheap) == {(0, 0), (1, 1), (2, 2)}


@pytest.mark.parametrize("count", [4, 9])
def test_a_long_chain_is_matched_in_full(count):
    costly = tuple((index, index, 1.0) for index in range(count))
    cheap = tuple((index, index + 1, 0.0) for index in range(count - 1))
    assert hits(assign_optimally, *costly, *cheap) == {(index, index) for index in range(count)}


def test_optimally_a_lower_total_cost_comes_before_any_second_criterion():
    # 1 + 1 against 1 + 1.1, though the second criterion is far better there
    straight, crossed = ((0, 0, 1.0, 7.0), (1, 1, 1.0, 7.0)), ((1, 0, 1.0, 0.0), (0, 1, 1.1, 0.0))
    assert hits(assign_optimally, *straight, *crossed) == {(0, 0), (1, 1)}
