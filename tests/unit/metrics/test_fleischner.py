import numpy as np
import pytest

from builders.tables import case, cohort, nodule
from nodulebench.metrics.fleischner import FLEISCHNER_SIZES, fleischner_size, fleischner_strata


@pytest.mark.parametrize(
    ("mean", "expected"),
    [(5.4, "<6 mm"), (5.5, "6-8 mm"), (6.0, "6-8 mm"), (8.4, "6-8 mm"), (8.5, ">8 mm")],
)
def test_sizes_are_rounded_to_whole_millimetres(mean: float, expected: str) -> None:
    assert FLEISCHNER_SIZES[fleischner_size(np.array([mean]))[0]] == expected


def test_what_is_not_measured_has_no_class() -> None:
    sized = cohort(case("a", nodule(20, long_mm=8.0, short_mm=6.0), nodule(None, (100, 0, 0))))
    np.testing.assert_array_equal(fleischner_strata(sized), [1, -1])
