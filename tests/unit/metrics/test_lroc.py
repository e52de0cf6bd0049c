import numpy as np
import pytest

from builders.random_cohorts import random_cases
from builders.tables import case, cohort, false_mark, mark, nodule
from builders.words import undefined
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics.lroc import lroc_area, lroc_curve, pcl_at_fpf


def everyone(of: LabelledCohort) -> np.ndarray:
    return np.ones((1, of.case_count), dtype=np.int32)


def located() -> LabelledCohort:
    """Normal cases .1 .3 .5 .6; abnormal .9 right, .7 wrong, .55 right, .2 right."""
    return cohort(
        *(case(f"n{score}", false_mark(score)) for score in (0.1, 0.3, 0.5, 0.6)),
        case("a0", nodule(), mark(0.9)),
        case("a1", nodule(), mark(0.4), false_mark(0.7)),
        case("a2", nodule(), mark(0.55)),
        case("a3", nodule(), mark(0.2)),
    )


def test_the_curve_credits_only_the_right_location() -> None:
    curve = lroc_curve(located())
    np.testing.assert_array_equal(curve.threshold, [np.inf, 0.9, 0.6, 0.55, 0.5, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(curve.x, [0, 0, 0.25, 0.25, 0.5, 0.75, 0.75, 1])
    np.testing.assert_allclose(curve.y, [0, 0.25, 0.25, 0.5, 0.5, 0.5, 0.75, 0.75])


def test_reading_on_a_step_takes_its_top() -> None:
    read = pcl_at_fpf(located(), everyone(located()), fpf_points=(0.05, 0.2, 0.25, 0.6, 0.75, 1.0))
    np.testing.assert_allclose(read, [[0.25, 0.25, 0.5, 0.5, 0.75, 0.75]])


def test_the_usual_readings_are_at_one_in_twenty_and_one_in_five() -> None:
    np.testing.assert_allclose(pcl_at_fpf(located(), everyone(located())), [[0.25, 0.25]])


def test_a_fraction_of_a_hundred_cases_meets_its_step() -> None:
    normal = [case(f"n{number}", false_mark(float(number))) for number in range(100)]
    hundred = cohort(*normal, case("a", nodule(), mark(70.5)), case("b", nodule(), mark(71.5)))
    read = pcl_at_fpf(hundred, everyone(hundred), fpf_points=(0.28, 0.29))
    np.testing.assert_allclose(read, [[0.5, 1.0]])  # 29 cases are rated 71 or more


def test_a_line_is_read_between_points_of_equal_scores() -> None:
    tied = cohort(case("n", false_mark(0.5)), case("m"), case("a", nodule(), mark(0.5)))
    read = pcl_at_fpf(tied, everyone(tied), fpf_points=(0.1, 0.25, 0.5, 0.9))
    np.testing.assert_allclose(read, [[0.2, 0.5, 1.0, 1.0]])


def test_a_false_positive_as_high_as_the_hit_leaves_the_location_wrong() -> None:
    doubtful = cohort(case("n"), case("a", nodule(), mark(0.5), false_mark(0.5)))
    np.testing.assert_array_equal(lroc_area(doubtful, everyone(doubtful)), [0.0])


def test_an_unmarked_abnormal_case_is_never_right() -> None:
    silent = cohort(case("n"), case("a", nodule()), case("b", nodule(), mark(0.1)))
    np.testing.assert_array_equal(lroc_area(silent, everyone(silent)), [0.5])
    assert lroc_curve(silent).y[-1] == 0.5


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_area_is_under_the_curve(seed: int) -> None:
    many = cohort(*random_cases(seed, abnormal=12, normal=9))
    curve = lroc_curve(many)
    expected = np.trapezoid(curve.y, curve.x)
    assert lroc_area(many, everyone(many))[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_readings_lie_on_the_curve(seed: int) -> None:
    many = cohort(*random_cases(seed, abnormal=12, normal=9))
    points = tuple((np.arange(1, 20) / 20 + 0.013).tolist())
    curve = lroc_curve(many)
    read = pcl_at_fpf(many, everyone(many), fpf_points=points)[0]
    np.testing.assert_allclose(read, np.interp(points, curve.x, curve.y), rtol=1e-12)


def test_it_needs_normal_cases() -> None:
    only = cohort(case("a", nodule(), mark(0.4)))
    with undefined(match="no case without nodules, which the LROC needs"):
        lroc_area(only, everyone(only))
