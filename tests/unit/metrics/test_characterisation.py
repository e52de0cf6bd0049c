import numpy as np
import pytest

from builders.tables import case, cohort, mark, nodule
from builders.words import undefined
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics import METRICS
from nodulebench.metrics.characterisation import confusion_table
from nodulebench.metrics.classes import density_pairs


def value(name: str, of: LabelledCohort) -> float:
    return float(METRICS[name](of, np.ones((1, of.case_count)))[0])


def sized() -> LabelledCohort:
    """Long axes 10 -> 12 and 5 -> 4; one size not stated, one not measured, one nodule missed."""
    return cohort(
        case("a", nodule(9, long_mm=10.0), mark(0.5, long_mm=12.0, diameter_mm=11.0)),
        case("b", nodule(6, long_mm=5.0), mark(0.5, long_mm=4.0, diameter_mm=5.0)),
        case("c", nodule(7, long_mm=7.0), mark(0.5)),
        case("d", nodule(None), mark(0.5, long_mm=4.0, diameter_mm=5.0)),
        case("e", nodule(7, long_mm=7.0)),
    )


def test_size_error_rate_is_the_mean_relative_error_of_the_long_axis() -> None:
    assert value("size_error_rate", sized()) == pytest.approx((2 / 10 + 1 / 5) / 2)


def test_diameter_error_keeps_its_sign() -> None:
    assert value("diameter_error_mm", sized()) == pytest.approx((2 - 1) / 2)
    assert value("absolute_diameter_error_mm", sized()) == pytest.approx((2 + 1) / 2)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("size_error_rate", "long axis"),
        ("diameter_error_mm", "diameter"),
        ("absolute_diameter_error_mm", "diameter"),
    ],
)
def test_without_stated_sizes_the_error_is_undefined(name: str, what: str) -> None:
    unsaid = cohort(case("a", nodule(9, long_mm=10.0), mark(0.5)))
    with undefined(match=f"no found nodule has a {what} in both the reference and the mark"):
        value(name, unsaid)


def dense() -> LabelledCohort:
    """Five nodules of known density: one right, one wrong, one not stated, two missed."""
    return cohort(
        case("a", nodule(density="solid"), mark(0.5, density="solid")),
        case("b", nodule(density="solid"), mark(0.5, density="part_solid")),
        case("c", nodule(density="calcified"), mark(0.5)),
        case("d", nodule(density="calcified"), nodule(10, (100, 0, 0), density="solid")),
        case("e", nodule(), mark(0.5, density="solid")),
    )


def test_density_accuracy_is_literal_over_all_nodules() -> None:
    assert value("density_accuracy", dense()) == pytest.approx(1 / 5)


def test_density_accuracy_of_found_nodules_has_its_own_denominator() -> None:
    assert value("density_accuracy_of_found", dense()) == pytest.approx(1 / 3)


def test_an_algorithm_that_tells_no_density_has_no_accuracy() -> None:
    silent = cohort(case("a", nodule(density="solid"), mark(0.5)))
    for name in ("density_accuracy", "density_accuracy_of_found"):
        with undefined(match="no mark states a density"):
            value(name, silent)


def test_a_density_stated_only_for_false_positives_is_an_accuracy_of_zero() -> None:
    wrong = cohort(
        case("a", nodule(density="solid"), mark(0.5, (500, 0, 0), density="solid")),
    )
    assert value("density_accuracy", wrong) == 0.0
    with undefined(match="no found nodule has a density in the reference"):
        value("density_accuracy_of_found", wrong)


def test_a_reference_without_densities_has_no_accuracy() -> None:
    unknown = cohort(case("a", nodule(), mark(0.5, density="solid")))
    with undefined(match="the reference states a density for no nodule"):
        value("density_accuracy", unknown)


def test_the_confusion_table_counts_misses_and_silence() -> None:
    table = confusion_table(dense(), density_pairs(dense()))
    counted = {(row[0], row[1]): row[2] for row in table.rows() if row[2]}
    assert counted == {
        ("solid", "solid"): 1,
        ("solid", "part_solid"): 1,
        ("solid", "missed"): 1,
        ("calcified", "not stated"): 1,
        ("calcified", "missed"): 1,
    }
    assert table.height == 4 * 6


def test_a_size_of_0_means_that_it_was_not_measured() -> None:
    labelled = cohort(
        case("a", nodule(8, long_mm=10.0), mark(0.5, long_mm=12.0)),
        case("b", nodule(8, long_mm=0.0), mark(0.5, long_mm=3.0)),
        case("c", nodule(8, long_mm=0.5), mark(0.5, long_mm=0.75)),
    )
    assert value("size_error_rate", labelled) == pytest.approx((0.2 + 0.5) / 2)
