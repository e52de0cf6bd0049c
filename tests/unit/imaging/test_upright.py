"""An image on its own grid -> the same image along the patient's axes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.dicom import TURNED
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.volume import Volume, make_volume, upright

SIZE = (9, 11, 7)  # slices, rows, columns
SPACING = (0.8, 0.7, 2.5)  # x, y, z


def places(volume: Volume) -> np.ndarray:
    """World coordinates of every voxel, slice by slice."""
    k, j, i = np.indices(volume.hu.shape).reshape(3, -1).astype(float)
    return volume.geometry.to_world(np.column_stack([i, j, k]))


def ramp(geometry: Geometry, shape: tuple[int, ...]) -> Volume:
    """An image whose value is linear in millimetres, so that linear interpolation is exact."""
    blank = Volume(np.zeros(shape, dtype=np.float32), geometry)
    values = places(blank) @ np.array([3.0, -2.0, 1.5])
    return Volume(values.reshape(shape).astype(np.float32), geometry)


@pytest.mark.parametrize(
    "direction",
    [
        np.eye(3),
        np.diag([-1.0, -1.0, 1.0]),
        np.diag([1.0, 1.0, -1.0]),
        np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]]),  # coronal slices
    ],
)
def test_an_image_along_the_axes_keeps_every_voxel_at_its_place(direction: np.ndarray) -> None:
    values = np.arange(np.prod(SIZE), dtype=np.int16).reshape(SIZE)
    volume = make_volume(values, spacing_mm=SPACING, origin_mm=(5, -7, 11), direction=direction)
    shown = upright(volume)
    assert not shown.is_resampled
    assert shown.original is volume.geometry
    assert np.allclose(shown.volume.geometry.direction, np.eye(3))
    index = np.rint(volume.geometry.to_index(places(shown.volume))).astype(int)
    assert np.array_equal(shown.volume.hu.ravel(), values[index[:, 2], index[:, 1], index[:, 0]])


def leaning(degrees: float) -> np.ndarray:
    """The axes of a gantry tilted so much: the third leans over the second."""
    angle = np.radians(degrees)
    return np.array([[1.0, 0, 0], [0, 1.0, np.sin(angle)], [0, 0, np.cos(angle)]])


@settings(max_examples=25, deadline=None)
@given(degrees=st.floats(1.0, 25.0), is_tilted=st.booleans())
def test_an_oblique_or_tilted_image_is_interpolated_where_it_was(
    degrees: float, is_tilted: bool
) -> None:
    angle = np.radians(degrees)
    turned = np.array(
        [[1.0, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]]
    )
    direction = leaning(degrees) if is_tilted else turned
    grid = Geometry(np.array(SPACING), np.array([5.0, -7.0, 11.0]), direction, np.array(SIZE[::-1]))
    volume = ramp(grid, SIZE)
    shown = upright(volume)
    assert shown.is_resampled
    assert shown.volume.hu.dtype == np.int16
    place = places(shown.volume)
    index = grid.to_index(place)
    is_inside = np.all((index >= 0) & (index <= grid.size - 1), axis=1)
    wanted = place @ np.array([3.0, -2.0, 1.5])
    assert is_inside.sum() > 50
    assert np.abs(shown.volume.hu.ravel() - wanted)[is_inside].max() <= 0.51
    corners = np.array([[i, j, k] for i in (0, 6) for j in (0, 10) for k in (0, 8)], dtype=float)
    assert shown.volume.geometry.contains(grid.to_world(corners)).all()


def test_outside_an_oblique_image_is_air() -> None:
    volume = make_volume(
        np.full((8, 20, 20), 50, dtype=np.int16), spacing_mm=(1, 1, 1), direction=TURNED
    )
    shown = upright(volume)
    assert shown.volume.hu[0, 0, 0] == -1000
    assert (shown.volume.hu == 50).any()


def test_values_that_16_bits_cannot_hold_are_cut() -> None:
    volume = make_volume(np.full((2, 2, 2), 40_000.6, dtype=np.float32), spacing_mm=(1, 1, 1))
    assert (upright(volume).volume.hu == 32_767).all()
