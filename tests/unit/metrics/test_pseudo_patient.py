from dataclasses import replace

import numpy as np
import pytest

from builders.tables import case, cohort, false_mark, mark, nodule
from nodulebench.evaluation.guarded_rows import GuardedCohort
from nodulebench.metrics.afroc import wafroc_area
from nodulebench.metrics.pseudo_patient import (
    PseudoPatient,
    paired_icc,
    perfect_cohort,
    with_pseudo_cases,
    without_cases,
)
from nodulebench.statistics.bootstrap import GuardedBootstrap

TWO = PseudoPatient(size=1.5, falses=3)


def seen():
    return cohort(
        case("a", nodule(), mark(0.9), false_mark(0.2)),
        case("b", nodule(), false_mark(0.4)),
        case("c"),
    )


def test_at_worst_all_nodules_are_missed_below_a_false_positive_above_every_mark() -> None:
    worst = with_pseudo_cases(seen(), "worst", TWO)
    assert worst.case_count == 5
    assert worst.nodule_case.tolist() == [0, 1, 3, 3]
    assert worst.is_hit.tolist() == [True, False, False, False]
    assert worst.false_case[2:].tolist() == [4, 4, 4]
    assert worst.false_score[2:].tolist() == [1.9, 0.2, 0.2]


def test_at_best_all_nodules_are_found_above_every_mark() -> None:
    best = with_pseudo_cases(seen(), "best", TWO)
    assert best.is_hit.tolist() == [True, False, True, True]
    assert best.hit_score[2:].tolist() == [1.9, 1.9]
    assert best.false_case.tolist() == [0, 1]


def test_tables_have_rows_for_what_was_added() -> None:
    best = with_pseudo_cases(seen(), "best", TWO)
    assert best.reference.cases.height == 5
    assert best.truth("diameter_mm")[:2] == pytest.approx([10, 10])
    assert np.isnan(best.truth("diameter_mm")[2:]).all()
    assert np.isnan(best.stated("diameter_mm")[2:]).all()


def test_stated_weights_of_nodules_leave_the_unseen_ones_equal() -> None:
    weighted = cohort(
        case("a", nodule(weight=0.0), nodule(at=(60, 0, 0), weight=1.0), mark(0.9)), case("b")
    )
    row = np.ones((1, 4))
    areas = [
        float(wafroc_area(with_pseudo_cases(weighted, kind, TWO), row)[0])
        for kind in ("worst", "best")
    ]
    # noise: b and the normal unseen case; signal: a's weighted miss and the unseen nodules
    assert areas == [pytest.approx((0.5 + 0.5 + 0 + 0) / 4), pytest.approx((0.5 + 0.5 + 2) / 4)]


def test_scores_so_large_that_one_more_is_nothing() -> None:
    huge = cohort(case("a", nodule(), mark(1e17)), case("b"))
    worst = with_pseudo_cases(huge, "worst", TWO)
    assert worst.false_score.max() > 1e17


def test_without_marks_the_scores_are_one_and_zero() -> None:
    nothing = cohort(case("a", nodule()), case("b"))
    assert with_pseudo_cases(nothing, "worst", TWO).false_score.tolist() == [1.0, 0.0, 0.0]


def test_without_cases_nothing_is_left_but_the_unseen() -> None:
    pseudo = with_pseudo_cases(without_cases(seen()), "worst", TWO)
    assert (pseudo.case_count, pseudo.nodule_count, len(pseudo.false_case)) == (2, 2, 3)


def test_the_unseen_patient_has_as_many_false_positives_as_any() -> None:
    nodules = (nodule(5, (60.0 * number, 0, 0)) for number in range(3))
    falses = (false_mark(number / 10) for number in range(7))
    some = cohort(
        case("a", nodule()),
        case("b", *nodules, *falses),
        case("c", false_mark(0.5), false_mark(0.4)),
    )
    patient = GuardedCohort(some, GuardedBootstrap(np.arange(3), 10, 0)).pseudo_patient
    assert (patient.size, patient.nodules, patient.falses) == (1.75, 2, 7)
    assert patient.share == 0.875
    nothing = GuardedCohort(cohort(case("a")), GuardedBootstrap(np.arange(1), 10, 0))
    assert nothing.pseudo_patient == PseudoPatient(1.0, 1)


def test_at_an_operating_point_curves_and_counts_both_have_the_unseen_patient() -> None:
    point = seen().over(0.3)
    worst = with_pseudo_cases(point, "worst", TWO)
    assert (worst.case_count, worst.at_every_score.case_count) == (5, 5)
    assert worst.false_score.tolist() == [0.4, 1.9, 0.4, 0.4]
    assert worst.at_every_score.false_score.tolist() == [0.2, 0.4, 1.9, 0.2, 0.2]
    assert len(worst.false_mark) == len(worst.false_case)


def test_discordances_are_taken_to_be_more_alike_on_more_than_fifty_patients() -> None:
    assert [paired_icc(units) for units in (3, 20, 50)] == [0.3] * 3
    assert paired_icc(120) == pytest.approx(0.5)
    assert paired_icc(155) == pytest.approx(0.6)
    assert [paired_icc(units) for units in (295, 1000)] == pytest.approx([1.0] * 2)


def test_discordances_are_taken_to_be_more_alike_the_more_patients_there_are() -> None:
    assert [paired_icc(units) for units in (1, 50)] == [0.3, 0.3]
    assert paired_icc(85) == pytest.approx(0.4)  # 35 of 350 beyond 50
    assert paired_icc(295) == pytest.approx(1.0)
    assert paired_icc(294) < 1
    assert paired_icc(1000) == 1


def test_one_row_of_each_table_represents_all_that_was_added() -> None:
    plain = seen()
    for kind, hit_mark in (("worst", -1), ("best", plain.submission.marks.height)):
        added = with_pseudo_cases(plain, kind, TWO)
        nodules = added.reference.nodules
        assert nodules.height == plain.reference.nodules.height + 1
        assert nodules.row(-1, named=True)["case_id"] == added.reference.cases["case_id"][3]
        assert nodules["is_ignored"][-1] is False
        assert added.submission.marks.height == plain.submission.marks.height + 1
        assert added.hit_mark[2:].tolist() == [hit_mark] * 2
        assert added.nodule_row[2:].tolist() == [plain.reference.nodules.height] * 2
    weighted = cohort(case("a", nodule(weight=0.5), mark(0.9)))
    best = with_pseudo_cases(weighted, "best", TWO)
    assert best.reference.nodules["weight"].to_list() == [0.5, 1.0]


def test_a_perfect_algorithm_finds_everything_by_marks_that_say_nothing_more() -> None:
    perfect = perfect_cohort(seen())
    assert perfect.is_hit.tolist() == [True, True]
    assert perfect.hit_score.tolist() == [1.0, 1.0]
    assert perfect.has_scores
    for nothing in (perfect.false_case, perfect.false_score, perfect.false_mark):
        assert len(nothing) == 0
    assert perfect.submission.marks.height == seen().submission.marks.height + 1
    assert np.isnan(perfect.stated("diameter_mm")).all()
    silent = cohort(case("a", nodule()))
    assert perfect_cohort(replace(silent, has_scores=False)).has_scores


def test_a_patient_is_never_smaller_than_one_nodule() -> None:
    for size, nodules in ((0.0, 1), (0.5, 1), (1.0, 1), (1.0 + 1e-12, 1), (1.01, 2)):
        assert PseudoPatient(size, 1).nodules == nodules
