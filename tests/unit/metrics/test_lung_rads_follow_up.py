"""Lung-RADS 2022 of nodules that were looked for before, row by row of its table."""

import numpy as np
import pytest

from nodulebench.core.tables import DENSITIES
from nodulebench.metrics.guidelines import LUNG_RADS, follow_up_class


def category(mean, density, change, part=np.nan, days=365):
    (number,) = follow_up_class(
        np.array([mean], dtype=float),
        np.array([DENSITIES.index(density) if density else -1]),
        np.array([part], dtype=float),
        [change],
        np.array([days]),
    )
    return None if number < 0 else LUNG_RADS[number]


@pytest.mark.parametrize(
    ("mean", "density", "change", "expected"),
    [
        (3.9, "solid", "new", "2"),
        (4.0, "solid", "new", "3"),
        (5.9, "solid", "new", "3"),
        (6.0, "solid", "new", "4A"),
        (7.9, "solid", "new", "4A"),
        (8.0, "solid", "new", "4B"),
        (7.9, "solid", "growing", "4A"),
        (8.0, "solid", "growing", "4B"),
        (5.0, "solid", "slowly_growing", "4B"),
        (5.0, "solid", "stable", "2"),
        (7.0, "solid", "stable", "2"),  # 3 at baseline, stable for a year
        (10.0, "solid", "stable", "3"),  # 4A at baseline
        (16.0, "solid", "stable", "4B"),
        (29.9, "ground_glass", "growing", "2"),
        (30.0, "ground_glass", "new", "3"),
        (35.0, "ground_glass", "slowly_growing", "2"),
        (35.0, "ground_glass", "stable", "2"),
        (5.0, "calcified", "growing", "1"),
        (5.0, "part_solid", "new", "3"),
        (8.0, "part_solid", "slowly_growing", "4B"),
        (8.0, "part_solid", "growing", None),  # the solid part is not known
        (5.0, None, "new", None),
        (np.nan, "solid", "growing", None),
        (5.0, "solid", None, None),
    ],
)
def test_categories_of_follow_ups(mean, density, change, expected) -> None:
    assert category(mean, density, change) == expected


@pytest.mark.parametrize(("part", "expected"), [(3.9, "4A"), (4.0, "4B")])
@pytest.mark.parametrize("change", ["new", "growing"])
def test_the_solid_part_decides_for_part_solid_nodules(part, expected, change) -> None:
    assert category(8.0, "part_solid", change, part) == expected


def test_a_nodule_has_to_be_stable_long_enough() -> None:
    assert category(7.0, "solid", "stable", days=179) == "3"
    assert category(10.0, "solid", "stable", days=89) == "4A"


def test_limits_belong_to_the_larger_and_to_the_longer() -> None:
    assert category(5.9, "part_solid", "new", 3.0) == "3"
    assert category(6.0, "part_solid", "new", 3.0) == "4A"
    assert category(7.0, "solid", "stable", days=180) == "2"
    assert category(10.0, "solid", "stable", days=90) == "3"
