"""Scores in order: thresholds at a rate, and counts around a rate however many marks there are."""

from dataclasses import replace

import numpy as np
import pytest

from builders.tables import case, cohort, false_mark, mark, nodule, protocol
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics.score_order import (
    at_operating_point,
    find_brackets,
    score_order,
    sort_scores,
    threshold_at,
)


def four_cases() -> LabelledCohort:
    """False positives .9 .7 .7 .5 on four cases, hits .95 .8 .6."""
    return cohort(
        case("a", nodule(), mark(0.95), false_mark(0.9)),
        case("b", nodule(), mark(0.8), false_mark(0.7, 1), false_mark(0.7, 2)),
        case("c", nodule(), mark(0.6), false_mark(0.5)),
        case("d"),
    )


@pytest.mark.parametrize(
    ("rate", "threshold"),
    [(0.0, 0.95), (0.24, 0.95), (0.25, 0.8), (0.74, 0.8), (0.75, 0.6), (1.0, 0.5), (9.0, 0.5)],
)
def test_a_threshold_is_the_lowest_score_that_keeps_the_rate(rate: float, threshold: float) -> None:
    assert threshold_at(four_cases(), rate) == threshold


def test_no_score_keeps_a_rate_that_the_highest_false_positive_exceeds() -> None:
    assert threshold_at(cohort(case("a", nodule(), false_mark(0.9))), 0.5) == np.inf


def test_points_around_a_number_of_false_positives() -> None:
    order = score_order(four_cases())
    allowed = np.array([[0.0, 1, 2, 2.9, 3, 4, 99]])
    around = find_brackets(order, np.ones((1, 4), np.int32), allowed)
    # counts 0 falses: 1 hit; 1: 2; 3: 3; 4: 3 of 3
    assert around.hits.tolist() == [[1, 2, 2, 2, 3, 3, 3]]
    assert around.falses.tolist() == [[0, 1, 1, 1, 3, 4, 4]]
    assert around.next_hits.tolist() == [[1, 2, 2, 2, 3, 3, 3]]
    assert around.next_falses.tolist() == [[1, 3, 3, 3, 4, 4, 4]]


def test_counts_do_not_depend_on_how_far_is_looked_ahead() -> None:
    """Many false positives lie in a case that replicates lack: far more than allowed are passed."""
    cases = [case("a", *(false_mark(1 - n / 1000, n) for n in range(700)))]
    cases += [
        case(f"b{n}", nodule(), mark(0.3 - n / 100), false_mark(0.3 - n / 100)) for n in range(20)
    ]
    order = score_order(cohort(*cases))
    weight = np.ones((3, 21), np.int32)
    weight[1:, 0] = 0
    weight[2, 1:11] = 0
    allowed = np.array([[5.0, 705], [0, 5], [5, 99]])
    around = find_brackets(order, weight, allowed)
    assert around.hits.tolist() == [[0, 5], [0, 5], [5, 10]]
    assert around.falses.tolist() == [[5, 705], [0, 5], [5, 10]]


def declared(threshold: float | None, of: LabelledCohort) -> LabelledCohort:
    return replace(of, submission=replace(of.submission, threshold=threshold))


def test_a_declared_threshold_counts_unless_the_protocol_has_one() -> None:
    labelled = four_cases()
    assert at_operating_point(labelled, protocol()).is_hit.tolist() == [True, True, True]
    at_07 = at_operating_point(declared(0.7, labelled), protocol())
    assert (at_07.is_hit.tolist(), len(at_07.false_case)) == ([True, True, False], 3)
    of_protocol = at_operating_point(declared(0.7, labelled), protocol(score_threshold=0.5))
    assert of_protocol.is_hit.tolist() == [True, True, True]
    silent = replace(declared(0.7, labelled), has_scores=False)
    assert at_operating_point(silent, protocol()) is silent
    at_rate = at_operating_point(declared(0.7, labelled), protocol(operating_point=0.25))
    assert (at_rate.is_hit.tolist(), len(at_rate.false_case)) == ([True, True, False], 1)


def test_an_allowed_number_that_is_just_met_looks_at_the_next_point_too() -> None:
    # of a hundred false positives three are drawn: the first two, and the first one ahead
    order = sort_scores(np.array([0]), np.array([0.5]), np.arange(1, 101), np.linspace(2, 1, 100))
    weight = np.zeros((1, 101), dtype=np.int32)
    weight[0, [0, 1, 2, 67]] = 1
    brackets = find_brackets(order, weight, np.array([[2.0]]))
    assert (brackets.falses.item(), brackets.next_falses.item()) == (2, 3)


def test_a_row_at_a_time_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    order = score_order(four_cases())
    weight, allowed = np.array([[1, 1, 1, 1], [2, 0, 1, 1]]), np.array([[1.0, 3.0], [2.0, 0.5]])
    whole = find_brackets(order, weight, allowed)
    monkeypatch.setattr("nodulebench.metrics.score_order._ELEMENTS", 1)
    parts = find_brackets(order, weight, allowed)
    for name in ("hits", "falses", "next_hits", "next_falses"):
        assert getattr(parts, name).tolist() == getattr(whole, name).tolist()
