import numpy as np
import pytest

from builders.tables import case, cohort, mark, nodule
from builders.words import undefined
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics import METRICS
from nodulebench.metrics.characterisation import kappa
from nodulebench.metrics.classes import counts_by_case, density_pairs


def value(name: str, of: LabelledCohort) -> float:
    return float(METRICS[name](of, np.ones((1, of.case_count)))[0])


def classed(column: str, *pairs: tuple[str | None, str | None]) -> LabelledCohort:
    """One case per pair (class in the reference, stated class)."""
    return cohort(
        *(
            case(f"c{number}", nodule(**{column: truth}), mark(0.5, **{column: stated}))
            for number, (truth, stated) in enumerate(pairs)
        )
    )


def test_kappa_is_agreement_beyond_chance() -> None:
    # 6 of 10 agree, 5.2 of 10 expected from the margins (6, 4) and (6, 4)
    counts = np.array([[4.0, 2.0], [2.0, 2.0]])
    assert kappa(counts) == pytest.approx((0.6 - 0.52) / (1 - 0.52))


def test_a_penalty_makes_far_classes_worse() -> None:
    near = np.array([[4.0, 1, 0], [0, 4, 0], [0, 0, 4]])
    far = np.array([[4.0, 0, 1], [0, 4, 0], [0, 0, 4]])
    assert kappa(near, penalty="linear") > kappa(far, penalty="linear")
    assert kappa(far, penalty="linear") > kappa(far, penalty="quadratic")


def test_kappa_of_one_class_is_undefined() -> None:
    assert np.isnan(kappa(np.array([[5.0, 0], [0, 0]])))


def test_many_tables_at_once() -> None:
    tables = np.array([[[4.0, 2], [2, 2]], [[5, 0], [0, 5]], [[0, 5], [5, 0]]])
    np.testing.assert_allclose(kappa(tables), [1 / 6, 1, -1])


def test_density_kappa_leaves_out_missed_and_unstated_nodules() -> None:
    pairs = (("solid", "solid"), ("solid", "part_solid"), ("part_solid", "part_solid"))
    single = classed("density", *pairs)
    with_gaps = classed("density", *pairs, ("solid", None), (None, "solid"))
    expected = (2 / 3 - 4 / 9) / (1 - 4 / 9)  # margins (2, 1) and (1, 2)
    assert value("density_kappa", single) == pytest.approx(expected)
    assert value("density_kappa", with_gaps) == pytest.approx(expected)


def test_a_type_implies_the_density_where_none_is_given() -> None:
    implied = cohort(
        case("a", nodule(type="pleural_calcified"), mark(0.5, type="calcified")),
        case("b", nodule(type="pleural"), mark(0.5, density="part_solid")),
        case("c", nodule(type="solid", density="ground_glass"), mark(0.5, density="solid")),
    )
    pairs = density_pairs(implied)
    assert [pairs.names[number] for number in pairs.truth] == ["calcified", "solid", "ground_glass"]
    assert [pairs.names[number] for number in pairs.stated] == ["calcified", "part_solid", "solid"]


def test_type_kappa_tells_six_types_apart() -> None:
    types = (("solid", "solid"), ("pleural", "solid"), ("calcified", "calcified"))
    expected = (2 / 3 - 3 / 9) / (1 - 3 / 9)
    assert value("type_kappa", classed("type", *types)) == pytest.approx(expected)


GRADES = (("2", "2"), ("2", "3"), ("3", "3"), ("4B", "3"))


def test_category_metrics_follow_the_grades() -> None:
    graded = classed("category", *GRADES)
    # costs of (2,3) and (4B,3) against the margins 2: 2,1  3: 1,3  4B: 1,0
    assert value("category_agreement", graded) == 0.5
    assert value("category_kappa", graded) == pytest.approx(1 - (2 * 4) / (16 - (2 * 1 + 1 * 3)))
    linear = 2 * 3 * 1 + 1 * 1 * 1 + 1 * 1 * 3 + 1 * 3 * 2
    assert value("category_kappa_linear", graded) == pytest.approx(1 - (1 + 2) * 4 / linear)
    quadratic = 2 * 3 * 1 + 1 * 1 * 1 + 1 * 1 * 9 + 1 * 3 * 4
    assert value("category_kappa_quadratic", graded) == pytest.approx(1 - (1 + 4) * 4 / quadratic)


def test_the_reason_says_why_kappa_is_undefined() -> None:
    with undefined(match="no found nodule has a density in both the reference and the mark"):
        value("density_kappa", classed("density", ("solid", None)))
    with undefined(match="every found nodule has the density 'solid' on both sides"):
        value("density_kappa", classed("density", ("solid", "solid"), ("solid", "solid")))


def test_a_single_nodule_has_no_kappa() -> None:
    with undefined(match="every found nodule has the density 'ground_glass' on both sides"):
        value("density_kappa", classed("density", ("ground_glass", "ground_glass")))


def test_pairs_of_classes_are_counted_case_by_case() -> None:
    two = cohort(
        case(
            "a",
            nodule(density="solid"),
            nodule(10, (100, 0, 0), density="solid"),
            mark(0.5, density="solid"),
            mark(0.5, (100, 0, 0), density="solid"),
        ),
        case("b", nodule(density="part_solid"), mark(0.5, density="solid")),
    )
    pairs = density_pairs(two)
    counts = counts_by_case(two, pairs).reshape(2, 4, 4)
    solid, part_solid = pairs.names.index("solid"), pairs.names.index("part_solid")
    assert (counts[0, solid, solid], counts[1, part_solid, solid]) == (2, 1)
    assert counts.sum() == 3
