"""Boxes on the same slice: how far apart they are, and how large a nodule is."""

import numpy as np
import polars as pl

from nodulebench.matching.scene import Boxes, SharedSlices, largest_radius_mm


def boxes(owner: list[int], center: list[tuple[float, float, float]], radius: list[float]) -> Boxes:
    count = len(owner)
    return Boxes(
        owner=np.array(owner),
        case=np.zeros(count, dtype=np.int64),
        slice_index=np.zeros(count, dtype=np.int64),
        center_mm=np.array(center, dtype=np.float64),
        length_mm=np.ones(count),
        width_mm=np.ones(count),
        radius_mm=np.array(radius),
        contour=pl.Series([None] * count, dtype=pl.String),
    )


def test_distance_is_measured_within_the_slice() -> None:
    one, other = boxes([0], [(0, 0, 0)], [1.0]), boxes([0], [(3, 4, 12)], [1.0])
    first = np.zeros(1, dtype=np.int64)
    shared = SharedSlices(
        mark_box=first, nodule_box=first, mark=first, nodule=first, marks=other, nodules=one
    )
    assert shared.distance_mm().tolist() == [5.0]


def test_the_largest_box_of_a_nodule_tells_its_radius() -> None:
    radius = largest_radius_mm(boxes([0, 0, 2], [(0, 0, 0)] * 3, [1.0, 3.0, 2.0]), 3)
    np.testing.assert_array_equal(radius, [3.0, np.nan, 2.0])
