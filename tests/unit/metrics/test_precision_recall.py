import numpy as np

from builders.tables import case, cohort, false_mark, mark, nodule
from builders.words import undefined
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics.operating_point import average_precision, precision_recall_curve


def four_marks() -> LabelledCohort:
    """Hit .9, false .8, hit .7 tied with a false positive; one nodule missed."""
    return cohort(
        case("a", nodule(), mark(0.9), false_mark(0.8)),
        case("b", nodule(), mark(0.7), false_mark(0.7)),
        case("c", nodule()),
    )


def test_average_precision_adds_the_precision_of_each_step() -> None:
    precision = average_precision(four_marks(), np.array([[1, 1, 1], [2, 1, 0], [0, 1, 1]]))
    np.testing.assert_allclose(precision, [(1 + 2 / 4) / 3, (2 + 3 / 6) / 3, (1 / 2) / 2])


def test_the_curve_has_a_point_for_each_threshold() -> None:
    curve = precision_recall_curve(four_marks())
    np.testing.assert_array_equal(curve.threshold, [0.9, 0.8, 0.7])
    np.testing.assert_allclose(curve.x, [1 / 3, 1 / 3, 2 / 3])
    np.testing.assert_allclose(curve.y, [1, 1 / 2, 2 / 4])


def test_without_nodules_the_curve_is_undefined() -> None:
    with undefined(match="no nodules"):
        precision_recall_curve(cohort(case("a", false_mark(0.5))))
