import numpy as np
import pytest

from builders.tables import case, cohort, false_mark, mark, nodule
from nodulebench.core.cohort import LabelledCohort
from nodulebench.evaluation.comparison.compare import delong_test
from nodulebench.statistics.delong import compare_auc

TRUTH = (0.0, 0.0, 0.0, 1.0, 1.0, 1.0)


def rated(*stated: float | None) -> LabelledCohort:
    """Six nodules in six cases, three of them malignant; None: not stated."""
    return cohort(
        *(
            case(f"c{number}", nodule(malignancy=truth), mark(0.5, malignancy=entry))
            for number, (truth, entry) in enumerate(zip(TRUTH, stated, strict=True))
        )
    )


def test_delong_needs_ratings_of_the_same_nodules() -> None:
    first, second = (0.1, 0.5, 0.3, 0.4, 0.9, 0.8), (0.2, 0.3, 0.7, 0.6, 0.1, 0.9)
    units = np.arange(6)
    significance = delong_test("malignancy_auc", rated(*first), rated(*second), units)
    both = np.array([first, second])
    expected = compare_auc(both[:, 3:], both[:, :3]).significance  # each nodule its own patient
    assert significance is not None
    assert (significance.statistic, significance.p_value) == pytest.approx(
        (expected.statistic, expected.p_value)
    )
    assert delong_test("recall", rated(*first), rated(*second), units) is None


def test_ratings_of_other_nodules_are_not_compared() -> None:
    first, second = (0.1, None, 0.3, 0.4, 0.9, 0.8), (0.1, 0.2, None, 0.4, 0.9, 0.8)
    assert delong_test("malignancy_auc", rated(*first), rated(*second), np.arange(6)) is None


def test_areas_that_do_not_vary_have_no_test() -> None:
    cases = [case(f"a{number}", nodule(), mark(0.9)) for number in range(3)]
    cases += [case(f"n{number}", false_mark(0.1)) for number in range(3)]
    same = cohort(*cases)
    assert delong_test("case_roc_area", same, same, np.arange(6)) is None
