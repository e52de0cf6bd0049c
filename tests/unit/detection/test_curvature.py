import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.detection.curvature import curvature


def _image(density_of_distance, axes=(0, 1, 2), size=41):
    """An image whose density depends on the distance from the middle along some axes."""
    along = np.arange(size, dtype=np.float32) - size // 2
    squared = sum(
        along.reshape([-1 if axis == other else 1 for other in range(3)]) ** 2 for axis in axes
    )
    return np.broadcast_to(density_of_distance(np.sqrt(squared)), (size,) * 3).astype(np.float32)


def _at(image, *places, sigma=1.0):
    where = np.zeros(image.shape, dtype=bool)
    for place in places:
        where[place] = True
    return curvature(image, sigma, where)


def falling(distance):
    return 100.0 - distance**2


@pytest.mark.parametrize("radius", [5, 8, 12])
def test_a_bright_ball_has_shape_index_one_and_the_curvedness_of_its_radius(radius):
    # k1 = k2 = 1/r, so SI = 1 and CV = sqrt(2)/r; a paraboloid stays one under a Gaussian
    curved = _at(_image(falling), (20, 20, 20 + radius), (20 - radius, 20, 20))
    assert curved.shape_index == pytest.approx(1.0, abs=1e-2)
    assert curved.curvedness == pytest.approx(np.sqrt(2) / radius, rel=1e-2)


def test_a_dark_ball_has_shape_index_minus_one():
    curved = _at(-_image(falling), (20, 28, 20))
    assert curved.shape_index == pytest.approx(-1.0, abs=1e-2)


@pytest.mark.parametrize("axes", [(1, 2), (0, 2), (0, 1)])
def test_a_bright_tube_has_shape_index_one_half(axes):
    # k1 = 1/r, k2 = 0: (2/pi) arctan(1) = 0.5 and CV = 1/r
    place = [20, 20, 20]
    place[axes[0]] += 6
    curved = _at(_image(falling, axes), tuple(place))
    assert curved.shape_index == pytest.approx(0.5, abs=1e-2)
    assert curved.curvedness == pytest.approx(1 / 6, rel=1e-2)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_plane_does_not_curve(axis):
    ramp = np.moveaxis(np.broadcast_to(np.arange(41.0, dtype=np.float32), (41,) * 3), 2, axis)
    curved = _at(ramp, (20, 20, 20))
    assert curved.curvedness == pytest.approx(0.0, abs=2e-3)


def test_a_saddle_has_shape_index_zero():
    # z = (x^2 - y^2) / 20: k1 = -k2 = 1/10 at the origin of the surface z = 0
    along = np.arange(41, dtype=np.float32) - 20
    saddle = along[:, None, None] - (along[None, :, None] ** 2 - along[None, None, :] ** 2) / 20
    curved = _at(saddle, (20, 20, 20))
    assert curved.shape_index == pytest.approx(0.0, abs=1e-3)
    assert curved.curvedness == pytest.approx(np.sqrt(2) / 10, rel=1e-3)


def test_the_level_of_the_image_leaves_no_trace():
    ball = _image(falling)
    curved = _at(ball - 30000, (20, 20, 28), sigma=1.5)
    assert curved.curvedness == pytest.approx(np.sqrt(2) / 8, rel=1e-2)


def test_where_the_image_is_flat_nothing_curves_and_nothing_divides_by_zero():
    curved = _at(np.full((9, 9, 9), -850, dtype=np.float32), (4, 4, 4))
    assert curved.shape_index.tolist() == [0.0]
    assert curved.curvedness.tolist() == [0.0]


def test_an_ellipsoid_has_the_curvatures_of_geometry():
    # x^2/a^2 + y^2/b^2 + z^2/c^2 = 1 at its pole (c along slices): k = c/a^2 and c/b^2
    a, b, c = 14.0, 10.0, 8.0
    along = np.arange(61, dtype=np.float32) - 30
    image = -(
        (along[:, None, None] / c) ** 2
        + (along[None, :, None] / b) ** 2
        + (along[None, None, :] / a) ** 2
    ).astype(np.float32)
    curved = _at(image * 1000, (38, 30, 30), sigma=0.5)
    k1, k2 = c / b**2, c / a**2
    assert curved.shape_index == pytest.approx(
        2 / np.pi * np.arctan((k1 + k2) / (k1 - k2)), abs=0.01
    )
    assert curved.curvedness == pytest.approx(np.hypot(k1, k2), rel=0.01)


@given(seed=st.integers(0, 1000), axis=st.integers(0, 2))
def test_turning_and_mirroring_the_image_turns_the_values_with_it(seed, axis):
    image = np.random.default_rng(seed).normal(0, 100, (9, 9, 9)).astype(np.float32)
    everywhere = np.ones(image.shape, dtype=bool)
    plain = curvature(image, 1.0, everywhere).shape_index.reshape(image.shape)
    mirrored = curvature(np.flip(image, axis), 1.0, everywhere).shape_index.reshape(image.shape)
    turned = curvature(np.moveaxis(image, 0, axis), 1.0, everywhere).shape_index
    assert np.allclose(np.flip(mirrored, axis), plain, atol=1e-2)
    assert np.allclose(np.moveaxis(turned.reshape(image.shape), axis, 0), plain, atol=1e-2)


@given(scale=st.floats(1.0, 50.0), shift=st.floats(-500.0, 500.0))
def test_brightness_and_contrast_change_nothing(scale, shift):
    ball = _image(lambda distance: np.exp(-(distance**2) / 30), size=15)
    where = ball > 0.2
    plain = curvature(ball * 100, 1.0, where)
    other = curvature((ball * 100 * scale + shift).astype(np.float32), 1.0, where)
    assert np.allclose(plain.curvedness, other.curvedness, rtol=0.02, atol=0.02)
