import numpy as np
import pytest

from builders.tables import case, cohort, mark, nodule
from builders.words import undefined
from nodulebench.core.protocol import RuleChoice, TestProtocol
from nodulebench.evaluation.evaluate import curves_and_tables
from nodulebench.metrics.characterisation import category_cuts, grade_cuts
from nodulebench.metrics.classes import ClassPairs
from nodulebench.metrics.malignancy import malignancy_cuts


def test_each_cut_between_grades_is_a_binary_problem() -> None:
    pairs = ClassPairs(
        ("low", "middle", "high"), np.array([0, 0, 1, 1, 2, 2, -1]), np.array([0, 1, 1, 2, 2, 0, 1])
    )
    table = grade_cuts(pairs)
    assert table["cut"].to_list() == ["middle", "high"]
    assert table.row(0)[1:5] == (3, 1, 1, 1)
    assert table.row(1)[1:5] == (1, 1, 1, 3)
    np.testing.assert_allclose(table.row(0)[5:], (4 / 6, 3 / 4, 1 / 2))
    np.testing.assert_allclose(table.row(1)[5:], (4 / 6, 1 / 2, 3 / 4))


def test_a_cut_that_no_nodule_reaches_has_no_sensitivity() -> None:
    table = grade_cuts(ClassPairs(("low", "high"), np.array([0]), np.array([0])))
    assert table["sensitivity"].to_list() == [None]
    assert table["specificity"].to_list() == [1.0]


def test_a_graded_reference_gives_a_roc_area_for_each_cut() -> None:
    graded = cohort(
        case("a", nodule(malignancy=0.0), mark(0.5, malignancy=0.2)),
        case("b", nodule(malignancy=0.5), mark(0.5, malignancy=0.1)),
        case("c", nodule(malignancy=0.5), mark(0.5, malignancy=0.6)),
        case("d", nodule(malignancy=1.0), mark(0.5, malignancy=0.6)),
        case("e", nodule(malignancy=1.0)),
    )
    assert malignancy_cuts(graded).rows() == [
        (0.5, 1, 3, pytest.approx(2 / 3)),
        (1.0, 3, 1, pytest.approx(2.5 / 3)),
    ]


def test_one_grade_is_not_a_scale() -> None:
    with undefined(match="fewer than two grades"):
        malignancy_cuts(cohort(case("a", nodule(malignancy=1.0), mark(0.5, malignancy=0.2))))


def test_categories_have_a_row_for_each_cut_in_the_results_of_a_weighted_kappa() -> None:
    labelled = cohort(
        case("a", nodule(category="2"), mark(0.5, category="3")),
        case("b", nodule(category="4A"), mark(0.5, category="4A")),
    )
    table = category_cuts(labelled)
    assert table["cut"].to_list() == ["2", "3", "4A", "4B", "4X"]
    assert table.filter(cut="3").row(0)[1:5] == (1, 0, 1, 0)
    for metric in ("category_kappa_linear", "category_kappa_quadratic"):
        asked = TestProtocol(name="own", rules=(RuleChoice(name="luna16"),), metrics=(metric,))
        assert curves_and_tables(labelled, asked)[1]["category_cuts"] == table.to_dicts()


def test_two_grades_are_a_scale() -> None:
    graded = cohort(
        case("a", nodule(malignancy=0.0), mark(0.5, malignancy=0.2)),
        case("b", nodule(malignancy=1.0), mark(0.5, malignancy=0.9)),
    )
    assert malignancy_cuts(graded).rows() == [(1.0, 1, 1, 1.0)]
