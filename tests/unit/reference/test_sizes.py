"""Sizes by hand, and of shapes whose sizes are known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.reference.sizes import (
    SIZE_DEFINITIONS,
    area_equivalent_mm,
    drawn_slice_sizes,
    outline_extents,
    region_sizes,
    slice_sizes,
    volume_equivalent_mm,
)

coordinates = st.floats(-50, 50, allow_nan=False).map(lambda value: round(value, 3))
point_sets = st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=25)


def ellipse(long: float, short: float, turn: float = 0.0, corners: int = 720) -> FloatArray:
    angle = np.linspace(0, 2 * math.pi, corners, endpoint=False)
    plain = np.column_stack([long / 2 * np.cos(angle), short / 2 * np.sin(angle)])
    return plain @ rotation(turn).T


def rotation(turn: float) -> FloatArray:
    return np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])


def voxels(*blocks: tuple[range, range, int]) -> IntArray:
    return np.array([(i, j, k) for across, along, k in blocks for i in across for j in along])


def test_a_block_on_two_slices_by_hand() -> None:
    # pixels 0.5 x 0.8 mm, slices 2 mm apart: 4 x 2 pixels on slice 3, 2 x 2 on slice 4
    region = voxels((range(4), range(2), 3), (range(2), range(2), 4))
    owner = np.zeros(len(region), dtype=np.int64)
    slices = slice_sizes(owner, region, np.array([[0.5, 0.8]]))
    assert slices["slice_index"].to_list() == [3, 4]
    assert slices["area_mm2"].to_list() == pytest.approx([8 * 0.4, 4 * 0.4])
    diagonals = [math.hypot(2.0, 1.6), math.hypot(1.0, 1.6)]
    assert slices["long_mm"].to_list() == pytest.approx(diagonals)
    # across the diagonal of a x b, a > b: b * sqrt(a^2 + b^2) / a
    across = [1.6 * diagonals[0] / 2.0, 1.0 * diagonals[1] / 1.6]
    assert slices["short_mm"].to_list() == pytest.approx(across)

    sizes = region_sizes(slices, np.array([2.0])).row(0, named=True)
    volume = 12 * 0.5 * 0.8 * 2.0
    averages = [(long + short) / 2 for long, short in zip(diagonals, across, strict=True)]
    assert sizes["volume_equivalent"] == pytest.approx((6 * volume / math.pi) ** (1 / 3))
    assert sizes["area_equivalent"] == pytest.approx(2 * math.sqrt(3.2 / math.pi))
    assert sizes["long_axis"] == pytest.approx(diagonals[0])
    assert sizes["long_axis_on_largest_slice"] == pytest.approx(diagonals[0])
    assert sizes["average"] == pytest.approx(averages[0])
    assert sizes["average_on_longest_slice"] == pytest.approx(averages[0])
    assert (sizes["long_mm"], sizes["short_mm"]) == pytest.approx((diagonals[0], across[0]))


def test_the_largest_and_the_longest_slice_can_differ() -> None:
    # a long thin slice (10 x 1) and a large square one (6 x 6)
    region = voxels((range(10), range(1), 0), (range(6), range(6), 1))
    slices = slice_sizes(np.zeros(len(region), dtype=np.int64), region, np.ones((1, 2)))
    sizes = region_sizes(slices, np.ones(1)).row(0, named=True)
    assert sizes["long_axis"] == pytest.approx(math.hypot(10, 1))
    assert sizes["long_axis_on_largest_slice"] == pytest.approx(math.hypot(6, 6))
    thin = (math.hypot(10, 1) + math.hypot(10, 1) / 10) / 2
    assert sizes["average_on_longest_slice"] == pytest.approx(thin)
    assert sizes["average"] == pytest.approx(math.hypot(6, 6))


def test_every_definition_is_measured() -> None:
    region = voxels((range(2), range(2), 0))
    slices = slice_sizes(np.zeros(len(region), dtype=np.int64), region, np.ones((1, 2)))
    measured = set(region_sizes(slices, np.ones(1)).columns)
    elsewhere = {"volume_equivalent_with_rim", "outline_extent"}
    assert set(SIZE_DEFINITIONS) - measured == elsewhere


@given(st.sets(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=40))
def test_quick_ways_to_a_size_give_the_same(pixels: set[tuple[int, int, int]]) -> None:
    pixel_array = np.array(sorted(pixels))
    owner, spacing = np.zeros(len(pixel_array), dtype=np.int64), np.array([[0.7, 0.6, 1.25]])
    sizes = region_sizes(slice_sizes(owner, pixel_array, spacing[:, :2]), spacing[:, 2])
    volume = volume_equivalent_mm(np.array([len(pixel_array)]), spacing)
    assert volume.tolist() == pytest.approx(sizes["volume_equivalent"].to_list())
    area = area_equivalent_mm(owner, pixel_array, spacing)
    assert area.tolist() == pytest.approx(sizes["area_equivalent"].to_list())


@pytest.mark.slow
def test_polygons_are_measured_without_the_grain_of_pixels() -> None:
    circle, hole = ellipse(8, 8), ellipse(2, 2)
    slices = drawn_slice_sizes(
        np.array([0, 0, 1]),
        np.array([5, 5, 2]),
        np.array([False, True, False]),
        np.zeros(3, dtype=bool),
        [circle, hole, ellipse(6, 4) + 20],
    )
    assert slices["area_mm2"].to_list() == pytest.approx(
        [math.pi * (16 - 1), math.pi * 6], rel=1e-4
    )
    assert slices["long_mm"].to_list() == pytest.approx([8, 6], rel=1e-4)
    assert slices["short_mm"].to_list() == pytest.approx([8, 4], rel=1e-4)


def test_the_axes_of_a_box_are_its_sides() -> None:
    box = np.array([[0, 0], [6, 0], [6, 8], [0, 8.0]])
    drawn, outlined = (
        drawn_slice_sizes(np.zeros(1, int), np.zeros(1, int), np.zeros(1, bool), is_box, [box])
        for is_box in (np.ones(1, bool), np.zeros(1, bool))
    )
    assert drawn.select("area_mm2", "long_mm", "short_mm").row(0) == (48.0, 8.0, 6.0)
    assert outlined["long_mm"][0] == 10.0


def test_the_extent_of_an_outline_is_between_its_points() -> None:
    points = np.array([[0, 0], [3, 4], [1, 1], [9, 9.0]])
    assert outline_extents(np.array([0, 0, 0, 2]), points, 3).tolist() == [5, 0, 0]
