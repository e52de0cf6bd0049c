import json

import numpy as np
import pytest

from nodulebench.core.notices import Notice, read_notice
from nodulebench.i18n.translator import in_english
from nodulebench.runner.command import Marks
from nodulebench.runner.robustness import (
    as_many,
    found_and_nothing_else,
    is_found,
    never_rising,
    partners,
    same_marks,
    still_found,
    unchanged_marks,
)
from nodulebench.runner.scan_variants import InsertedNodule


def marks(*rows):
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return Marks(table[:, :3], table[:, 3])


NODULE, SMALL = InsertedNodule(0.0, 0.0, 0.0, 12.0), InsertedNodule(50.0, 0.0, 0.0, 4.0)


def test_partners_are_each_others_nearest():
    points = np.array([[0.0, 0, 0], [1.0, 0, 0], [10.0, 0, 0]])
    other = np.array([[0.9, 0, 0], [13.5, 0, 0]])
    first, second = partners(points, other, 3.0)
    # the first point's nearest prefers the second point; the third is 3.5 mm away
    assert (first.tolist(), second.tolist()) == ([1], [0])
    assert len(partners(points, np.empty((0, 3)), 3.0)[0]) == 0


def test_agreement_counts_partners_of_both_lists():
    before = marks((0, 0, 0, 1), (20, 0, 0, 2), (40, 0, 0, 3))
    after = marks((0.5, 0, 0, 1), (20, 1, 0, 2))
    verdict = same_marks(before, after, tolerance_mm=2.0, least=0.8)
    # 2 pairs: 4 of 5 marks
    assert verdict.is_passed
    assert in_english(verdict.measured) == "2 of 3 and 2 marks agree (0.80), at least 0.8"
    assert same_marks(before, after, tolerance_mm=2.0, least=0.81).is_passed is False


def test_partners_with_other_scores_do_not_agree_where_scores_count():
    before = marks((0, 0, 0, 0.0), (20, 0, 0, 1.0))
    after = marks((0, 0, 0, 0.04), (20, 0, 0, 0.8))
    verdict = same_marks(before, after, tolerance_mm=1.0, least=1.0, score_tolerance=0.05)
    assert (verdict.is_passed, in_english(verdict.measured)[:7]) == (False, "1 of 2 ")
    assert same_marks(before, after, tolerance_mm=1.0, least=1.0).is_passed


def test_nothing_can_be_tested_without_marks():
    assert same_marks(marks(), marks(), tolerance_mm=1.0, least=1.0).is_passed is None
    assert same_marks(marks((0, 0, 0, 1)), marks(), tolerance_mm=1.0, least=0.5).is_passed is False
    verdict = unchanged_marks(marks(), marks((0, 0, 0, 1)), tolerance_mm=1.0, count=10, least=0.5)
    assert verdict.is_passed is None


def test_only_the_highest_scores_have_to_stay():
    before = marks((0, 0, 0, 0.9), (20, 0, 0, 0.8), (40, 0, 0, 0.1))
    after = marks((0, 0, 0, 0.1), (20, 0, 0, 0.1), (90, 0, 0, 0.9))
    assert unchanged_marks(before, after, tolerance_mm=1.0, count=2, least=1.0).is_passed
    verdict = unchanged_marks(before, after, tolerance_mm=1.0, count=3, least=0.8)
    assert verdict.is_passed is False
    assert in_english(verdict.measured) == (
        "2 of the 3 marks with the highest scores remain (0.67), at least 0.8; of all marks 0.67"
    )


def test_a_nodule_is_hit_within_its_radius_or_the_tolerance():
    near = marks((5.9, 0, 0, 1), (47.1, 0, 0, 1))
    assert is_found([NODULE, SMALL], near, 3.0).tolist() == [True, True]
    assert is_found([NODULE, SMALL], near, 1.0).tolist() == [True, False]
    assert is_found([NODULE], marks(), 3.0).tolist() == [False]


@pytest.mark.parametrize(
    ("after", "is_passed"),
    [
        (marks((0, 0, 0, 1), (100, 0, 0, 1)), True),  # a small nodule may be missed
        (marks((100, 0, 0, 1)), False),  # a large one may not
        (marks((0, 0, 0, 1), (200, 0, 0, 1)), False),  # another mark went elsewhere
        (marks((0, 0, 0, 1), (10, 0, 0, 1), (100, 0, 0, 1)), True),  # next to the nodule is free
    ],
)
def test_inserted_nodules_are_found_and_other_marks_stay(after, is_passed):
    verdict = found_and_nothing_else(
        [NODULE, SMALL],
        marks((100, 0, 0, 1)),
        after,
        large_mm=10.0,
        tolerance_mm=2.0,
        margin_mm=10.0,
        least=0.9,
    )
    assert verdict.is_passed is is_passed


def test_sensitivity_may_rise_by_chance_only():
    names = [Notice("variant_none"), *(Notice("variant_dose", {"part": n}) for n in (2, 4))]
    assert never_rising(names, (5, 4, 5), 8, 1).is_passed
    assert never_rising(names, (5, 4, 6), 8, 1).is_passed is False
    assert in_english(never_rising(names, (5, 4, 5), 8, 1).measured) == (
        "found of 8: unchanged: 5, dose 1/2: 4, dose 1/4: 5"
    )
    assert never_rising(names, (0, 0, 0), 8, 1).is_passed is None


def test_large_nodules_that_were_found_stay_found():
    def verdict(before, after):
        return still_found([NODULE, SMALL], np.array(before), np.array(after), 10.0).is_passed

    assert verdict([True, True], [True, False])
    assert verdict([True, False], [False, True]) is False
    assert verdict([False, True], [False, True]) is None


DENSE = Notice("variant_density", {"median_hu": -750.0})


@pytest.mark.parametrize(
    ("after", "still_found", "is_passed"),
    [
        ((marks((1, 0, 0, 1), *[(100, 0, k, 1) for k in range(5)])), 1, True),  # 3 -> 6 marks
        ((marks((1, 0, 0, 1), *[(100, 0, k, 1) for k in range(6)])), 1, False),  # 3 -> 7
        ((marks((1, 0, 0, 1), (100, 0, 0, 1))), 1, True),  # a small nodule may be lost
        ((marks((50, 0, 0, 1), (100, 0, 0, 1))), 0, False),  # a large one may not
        ((marks((1, 0, 0, 1))), 1, False),  # 3 -> 1
    ],
)
def test_denser_lungs_have_the_nodules_and_about_as_many_marks(after, still_found, is_passed):
    before = marks((0, 0, 0, 1), (50, 0, 0, 1), (100, 0, 0, 1))
    limits = {"large_mm": 10.0, "tolerance_mm": 2.0, "factor": 2.0, "few": 1}
    runs = [(Notice("variant_nodules"), before), (DENSE, after)]
    verdict = as_many([NODULE, SMALL], runs, **limits)
    assert verdict.is_passed is is_passed
    assert in_english(verdict.measured) == (
        f"{still_found} of 1 large nodules that were found are found again; marks with nodules: 3, "
        f"median -750 HU: {len(after)}; at most 2 times more or fewer"
    )
    assert read_notice(json.loads(json.dumps(verdict.measured.to_json()))) == verdict.measured
    # few marks more or fewer are chance
    assert as_many([SMALL], runs, **limits | {"few": 4}).is_passed
    assert as_many([NODULE], [(DENSE, marks()), runs[1]], **limits).is_passed is None


def test_what_was_measured_next_to_nodules_is_within_what_was_measured_of_them():
    away = marks((100, 0, 0, 1))
    limits = {"large_mm": 10.0, "tolerance_mm": 2.0, "margin_mm": 10.0, "least": 0.9}
    measured = found_and_nothing_else([NODULE, SMALL], away, away, **limits).measured
    assert in_english(measured) == (
        "0 of 1 large nodules found (0 of 2 in all); elsewhere 1 of 1 and 1 marks agree (1.00), "
        "at least 0.9"
    )
    assert read_notice(json.loads(json.dumps(measured.to_json()))) == measured
