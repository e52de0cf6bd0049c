"""Voxel index and patient millimetres undo each other for every image, oblique ones too."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nodulebench.imaging.geometry import Geometry, lps_to_ras, slices_through, voxel_box_mm

SIZE = np.array([64, 80, 50])


@st.composite
def grids(draw: st.DrawFn) -> Geometry:
    """Any spacing, origin and direction: turned about all axes, mirrored or not."""
    spacing = [draw(st.floats(0.3, 5)) for _ in range(3)]
    origin = [draw(st.floats(-500, 500)) for _ in range(3)]
    direction = np.eye(3)
    for axis in range(3):
        angle = draw(st.floats(-np.pi, np.pi))
        first, second = [other for other in range(3) if other != axis]
        turn = np.eye(3)
        turn[first, first] = turn[second, second] = np.cos(angle)
        turn[first, second], turn[second, first] = -np.sin(angle), np.sin(angle)
        direction = turn @ direction
    signs = np.diag([draw(st.sampled_from([-1.0, 1.0])) for _ in range(3)])
    return Geometry(np.array(spacing), np.array(origin), direction @ signs, SIZE)


POINTS = arrays(np.float64, (4, 3), elements=st.floats(-300, 300))
VOXELS = st.tuples(*(st.integers(0, int(count) - 1) for count in SIZE))


@given(grids(), POINTS)
@settings(max_examples=60, deadline=None)
def test_index_and_world_undo_each_other(grid: Geometry, points: np.ndarray) -> None:
    assert grid.to_world(grid.to_index(points)) == pytest.approx(points, abs=1e-6)


@given(grids(), POINTS)
@settings(max_examples=60, deadline=None)
def test_distances_are_those_of_the_voxels(grid: Geometry, points: np.ndarray) -> None:
    index = grid.to_index(points)
    steps = (index[1:] - index[:-1]) * grid.spacing_mm
    distance = np.linalg.norm(points[1:] - points[:-1], axis=1)
    assert np.linalg.norm(steps, axis=1) == pytest.approx(distance, abs=1e-6)


@given(grids(), arrays(np.float64, (3, 3), elements=st.floats(0, 100)))
@settings(max_examples=60, deadline=None)
def test_extents_undo_each_other_and_keep_the_volume(grid: Geometry, extent: np.ndarray) -> None:
    voxels = grid.extent_to_voxels(extent)
    assert grid.extent_to_world(voxels) == pytest.approx(extent, abs=1e-9)
    volume = np.prod(voxels * grid.spacing_mm, axis=1)
    assert volume == pytest.approx(np.prod(extent, axis=1), abs=1e-6)


@given(grids(), VOXELS, VOXELS)
@settings(max_examples=60, deadline=None)
def test_a_box_of_voxels_is_on_the_slices_of_its_voxels(
    grid: Geometry, one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    first = np.minimum(one, other)[None, :].astype(float)
    last = np.maximum(one, other)[None, :].astype(float)
    center, extent = voxel_box_mm(grid, first, last)
    _, number, on_slice = slices_through(grid, center, extent)
    k = sorted(grid.slice_number(number.astype(float)).astype(int).tolist())
    assert k == list(range(int(first[0, 2]), int(last[0, 2]) + 1))
    assert grid.slice_of(on_slice) == pytest.approx(number.astype(float), abs=1e-6)


@given(POINTS)
@settings(max_examples=60, deadline=None)
def test_ras_and_lps_undo_each_other(points: np.ndarray) -> None:
    assert np.array_equal(lps_to_ras(lps_to_ras(points)), points)
