import numpy as np
import pytest

from builders.tables import case, cohort, nodule
from nodulebench.metrics.guidelines import FLEISCHNER_SIZES, fleischner_size, fleischner_strata


@pytest.mark.parametrize(
    ("mean", "solid", "subsolid"),
    [
        (5.4, "solid <6 mm", "subsolid <6 mm"),
        (5.5, "solid 6-8 mm", "subsolid ≥6 mm"),
        (6.0, "solid 6-8 mm", "subsolid ≥6 mm"),
        (8.4, "solid 6-8 mm", "subsolid ≥6 mm"),
        (8.5, "solid >8 mm", "subsolid ≥6 mm"),
    ],
)
def test_table_1_in_whole_millimetres(mean: float, solid: str, subsolid: str) -> None:
    size_class = fleischner_size(
        np.full(4, mean), np.arange(4)
    )  # solid, part-solid, glass, calcified
    assert [FLEISCHNER_SIZES[number] for number in size_class[:3]] == [solid, subsolid, subsolid]
    assert size_class[3] == -1


def test_what_is_not_measured_or_of_unknown_density_has_no_class() -> None:
    sized = cohort(
        case(
            "a",
            nodule(20, long_mm=8.0, short_mm=6.0, density="solid"),
            nodule(None, (100, 0, 0), density="solid"),
            nodule(7, (0, 100, 0)),
        )
    )
    np.testing.assert_array_equal(fleischner_strata(sized), [1, -1, -1])
