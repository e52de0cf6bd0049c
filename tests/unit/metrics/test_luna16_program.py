"""The program's curve and its readings, bit by bit against scikit-learn's ROC routine."""

import math

import numpy as np
import pytest

from builders.plain_luna16 import sensitivity_at
from builders.random_cohorts import random_cases
from builders.tables import case, cohort, false_mark, mark, nodule
from builders.words import undefined
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics.luna16_program import (
    GRID,
    grid_neighbours,
    official_curve,
    official_sensitivity,
)

RATES = (0.0, 0.1, 0.125, 0.2, 0.25, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 2.0, 4.0)


def entries(of: LabelledCohort, times: list[int] | None = None) -> list[tuple[int, float, bool]]:
    """What the program pools of cases, each as often as drawn: (is nodule, score, is missed)."""
    drawn = times or [1] * of.case_count
    pooled = []
    for number, is_hit, score in zip(of.nodule_case, of.is_hit, of.hit_score, strict=True):
        pooled += [(1, float(score) if is_hit else -1e9, not is_hit)] * drawn[number]
    for number, score in zip(of.false_case, of.false_score, strict=True):
        pooled += [(0, float(score), False)] * drawn[number]
    return pooled


@pytest.mark.parametrize("seed", range(8))
def test_readings_of_replicates_are_those_of_their_cases_pooled(seed: int) -> None:
    labelled = cohort(*random_cases(seed, abnormal=8, normal=3))
    weight = np.random.default_rng(seed).multinomial(11, np.full(11, 1 / 11), 12).astype(np.int32)
    sensitivity = official_sensitivity(labelled, weight, operating_points=RATES)
    for row, times in zip(sensitivity, weight.tolist(), strict=True):
        assert (
            row.tolist() == sensitivity_at(entries(labelled, times), 11, np.array(RATES)).tolist()
        )


@pytest.mark.parametrize("scans", [3, 7, 49])
def test_a_rate_that_a_count_meets_only_up_to_rounding_is_read_as_the_program_does(
    scans: int,
) -> None:
    # 1 / 49 * 49 is not 1: points land next to the rates they should meet
    cases = [
        case(f"{n}", nodule(), mark(1 - n / 50 + 0.001), false_mark(1 - n / 50), false_mark(n / 99))
        for n in range(scans)
    ]
    labelled = cohort(*cases)
    rates = tuple(count / scans for count in range(2 * scans + 2))
    sensitivity = official_sensitivity(
        labelled, np.ones((1, scans), np.int32), operating_points=rates
    )[0]
    assert (
        sensitivity.tolist() == sensitivity_at(entries(labelled), scans, np.array(rates)).tolist()
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_curve_is_that_of_scikit_learn(seed: int) -> None:
    from sklearn.metrics import roc_curve

    labelled = cohort(*random_cases(seed))
    pooled = [entry for entry in entries(labelled) if not entry[2]]
    truth, score = [entry[0] for entry in pooled], [entry[1] for entry in pooled]
    fpr, tpr, threshold = roc_curve(truth, score)
    hits, falses = sum(truth), len(truth) - sum(truth)
    curve = official_curve(labelled)
    assert curve.x.tolist() == (fpr * falses / labelled.case_count).tolist()
    assert curve.y.tolist() == (tpr * hits / labelled.nodule_count).tolist()
    assert curve.threshold.tolist() == threshold.tolist()


def test_without_a_false_positive_the_curve_rises_at_once() -> None:
    labelled = cohort(case("a", nodule(), mark(0.9)), case("b", nodule(), mark(0.5)), case("c"))
    assert official_curve(labelled).x.tolist() == [0, 0, 0]
    assert official_curve(labelled).y.tolist() == [0, 0.5, 1]
    weight = np.ones((1, 3), np.int32)
    assert official_sensitivity(labelled, weight, operating_points=(0.0, 1.0)).tolist() == [[1, 1]]


def test_a_curve_of_one_score_has_its_two_ends() -> None:
    labelled = cohort(case("a", nodule(), mark(0.5), false_mark(0.5)), case("b"))
    curve = official_curve(labelled)
    assert (curve.x.tolist(), curve.y.tolist()) == ([0, 0.5], [0, 1])
    weight = np.ones((1, 2), np.int32)
    # half way along the only group of equal scores
    assert official_sensitivity(labelled, weight, operating_points=(0.25,)).tolist() == [[0.5]]


def test_the_program_gives_nothing_without_a_hit() -> None:
    with undefined(match="stops"):
        official_curve(cohort(case("a", nodule())))
    with undefined(match="NaN"):
        official_curve(cohort(case("a", nodule(), false_mark(0.5))))
    labelled = cohort(case("a", nodule(), mark(0.9)), case("b", nodule(), false_mark(0.2)))
    sensitivity = official_sensitivity(
        labelled, np.array([[0, 2]], np.int32), operating_points=(1.0,)
    )
    assert math.isnan(sensitivity[0, 0])


def test_neighbours_on_the_grid_enclose_a_rate() -> None:
    assert len(GRID) == 10_000
    assert grid_neighbours((0.125,)).tolist() == [0]
    assert grid_neighbours((0.05,)).tolist() == [0]
    assert grid_neighbours((8.0,)).tolist() == [9998, 9999]
    assert grid_neighbours((9.0,)).tolist() == [9998, 9999]
    low, high = grid_neighbours((1.0,)).tolist()
    assert high == low + 1
    assert GRID[low] < 1 <= GRID[high]
    assert grid_neighbours((1.0, 0.125, 1.0)).tolist() == [0, low, high]


def test_the_middle_of_three_points_in_a_line_is_left_out() -> None:
    cases = [case(f"{score}", nodule(), mark(score)) for score in (0.9, 0.8, 0.7)]
    curve = official_curve(cohort(*cases))
    assert curve.y.tolist() == pytest.approx([0, 1 / 3, 1])
    assert curve.threshold.tolist() == [math.inf, 0.9, 0.7]


def test_a_count_that_rounding_lifts_above_its_rate_is_not_reached() -> None:
    # 7 / 25 * 25 is more than 7: at 7 false positives per scan the program reads the point before
    assert 7 / 25 * 25 > 7
    falses = [false_mark(1 - n / 400, n) for n in range(25)]
    hits = [
        item
        for n in range(9)
        for item in (nodule(10, (0, 0, 200.0 * n)), mark(1 - n / 400 - 0.001, (0, 0, 200.0 * n)))
    ]
    labelled = cohort(case("a", *falses, *hits))
    rates = tuple(float(count) for count in range(10))
    sensitivity = official_sensitivity(labelled, np.ones((1, 1), np.int32), operating_points=rates)[
        0
    ]
    assert sensitivity.tolist() == sensitivity_at(entries(labelled), 1, np.array(rates)).tolist()
    assert sensitivity[7] == pytest.approx(sensitivity[6])
