import numpy as np
import pytest

from builders.random_cohorts import random_cases
from builders.tables import case, cohort, false_mark, mark, nodule
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics.froc import cpm, cpm_exact, froc_curve, sensitivity_at_fp_rate
from nodulebench.metrics.luna16_program import official_sensitivity


def tied() -> LabelledCohort:
    """Two cases; one hit and two false positives share a score, a second hit comes after."""
    return cohort(
        case("a", nodule(), mark(0.5), false_mark(0.5), false_mark(0.5, 1)),
        case("b", nodule(), mark(0.4)),
    )


def test_the_curve_has_one_point_per_score() -> None:
    curve = froc_curve(tied())
    np.testing.assert_array_equal(curve.threshold, [np.inf, 0.5, 0.4])
    np.testing.assert_array_equal(curve.x, [0, 1, 1])
    np.testing.assert_array_equal(curve.y, [0, 0.5, 1])


def test_reading_inside_a_group_of_equal_scores() -> None:
    points = {"operating_points": (0.25, 0.5, 1.0, 4.0)}
    everyone = np.ones((1, 2), dtype=np.int32)
    linear = sensitivity_at_fp_rate(tied(), everyone, interpolation="linear", **points)
    step = sensitivity_at_fp_rate(tied(), everyone, interpolation="step", **points)
    np.testing.assert_allclose(linear, [[0.125, 0.25, 1.0, 1.0]])
    np.testing.assert_allclose(step, [[0, 0, 1.0, 1.0]])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_readings_lie_on_the_curve(seed: int) -> None:
    many = cohort(*random_cases(seed, abnormal=12, normal=9))
    points = tuple((0.013 + np.arange(30) / 11).tolist())
    everyone = np.ones((1, many.case_count), dtype=np.int32)
    curve = froc_curve(many)
    read = sensitivity_at_fp_rate(many, everyone, operating_points=points)
    np.testing.assert_allclose(read[0], np.interp(points, curve.x, curve.y), rtol=1e-12)


def test_the_cpm_is_the_mean_over_the_protocols_points() -> None:
    everyone = np.ones((1, 2), dtype=np.int32)
    points = (0.25, 0.5, 1.0, 4.0)
    assert cpm(tied(), everyone, operating_points=points)[0] == pytest.approx(2.375 / 4)
    step = cpm(tied(), everyone, operating_points=points, interpolation="step")
    assert step[0] == pytest.approx(0.5)
    assert cpm_exact(tied(), everyone, operating_points=points)[0] == pytest.approx(2.375 / 4)


def test_luna16_readings_come_from_the_official_program() -> None:
    many = cohort(*random_cases(3, abnormal=12, normal=9))
    weights = np.random.default_rng(1).integers(0, 3, (5, many.case_count))
    points = (0.125, 0.5, 2.0)
    official = official_sensitivity(many, weights, operating_points=points)
    settings = {"operating_points": points, "interpolation": "luna16"}
    np.testing.assert_array_equal(sensitivity_at_fp_rate(many, weights, **settings), official)
    np.testing.assert_array_equal(cpm(many, weights, **settings), official.mean(axis=1))


def test_false_positives_of_cases_not_drawn_do_not_count() -> None:
    crowd = [false_mark(1.0 - number / 1000, number) for number in range(200)]
    late = [false_mark(0.5 - number / 1000, number) for number in range(40)]
    both = cohort(case("a", *crowd), case("b", nodule(), mark(0.495), *late))
    labelled = cohort(case("b", nodule(), mark(0.495), *late))
    points = (4.0, 5.0, 8.0)
    drawn = sensitivity_at_fp_rate(both, np.array([[0, 2], [1, 0]]), operating_points=points)
    expected = sensitivity_at_fp_rate(labelled, np.ones((1, 1)), operating_points=points)
    np.testing.assert_allclose(drawn[0], expected[0])
    np.testing.assert_allclose(expected[0], [0.0, 0.0, 1.0])  # tied with the sixth false positive
    assert np.isnan(drawn[1]).all()
