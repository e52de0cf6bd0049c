import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.shapes import sphere
from nodulebench.imaging.outlines import area_mm2
from nodulebench.phantom.nodule import Lobe, NoduleShape

RADII = st.floats(1.0, 15.0)
QUICK = settings(max_examples=15, deadline=None)


def rotation(seed):
    matrix, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return matrix


def unit(*vector):
    return np.array(vector) / np.linalg.norm(vector)


@pytest.mark.slow
@given(radius=RADII)
@QUICK
def test_a_ball_has_the_volume_and_the_diameters_of_a_ball(radius):
    ball = sphere((10, -20, 30), radius)
    assert ball.volume_mm3 == pytest.approx(4 / 3 * np.pi * radius**3, rel=1e-9)
    assert ball.long_and_short_mm == pytest.approx((2 * radius, 2 * radius), rel=1e-3)
    assert ball.diameter_mm == pytest.approx(2 * radius, rel=1e-3)
    assert ball.centroid_mm == pytest.approx([10, -20, 30])
    assert ball.extent_z_mm == pytest.approx((30 - radius, 30 + radius), abs=1e-3 * radius)


@given(semi_axes=st.tuples(RADII, RADII, RADII), seed=st.integers(0, 99))
@QUICK
def test_an_ellipsoid_has_the_volume_of_an_ellipsoid_in_every_direction(semi_axes, seed):
    longest = max(semi_axes)
    semi_axes = np.maximum(semi_axes, longest / 3)
    shape = NoduleShape(np.zeros(3), semi_axes, rotation(seed))
    assert shape.volume_mm3 == pytest.approx(4 / 3 * np.pi * np.prod(semi_axes), rel=1e-6)


@given(height=st.floats(0.0, 0.95), seed=st.integers(0, 99))
@QUICK
def test_a_ball_cut_by_a_plane_loses_its_cap(height, seed):
    radius, normal = 6.0, rotation(seed)[:, 0]
    plane = max(height * radius, 1e-6)
    cut = NoduleShape(
        np.zeros(3), np.full(3, radius), np.eye(3), plane_normal=normal, plane_mm=plane
    )
    cap = np.pi * (radius - plane) ** 2 * (2 * radius + plane) / 3
    assert cut.volume_mm3 == pytest.approx(4 / 3 * np.pi * radius**3 - cap, rel=1e-3)


def test_a_half_ball_has_its_centre_of_mass_three_eighths_up():
    half = NoduleShape(
        np.zeros(3), np.full(3, 8.0), np.eye(3), plane_normal=np.array([0, 0, -1.0]), plane_mm=1e-6
    )
    assert half.centroid_mm == pytest.approx([0, 0, 3.0], abs=0.02)


def test_axial_diameters_of_an_ellipsoid_are_its_axes():
    shape = NoduleShape(np.array([1.0, 2, 3]), np.array([6.0, 4, 9]), np.eye(3))
    assert shape.long_and_short_mm == pytest.approx((12.0, 8.0), rel=1e-3)
    assert shape.largest_section_z_mm == pytest.approx(3.0, abs=0.1)


@given(height=st.floats(-4.9, 4.9))
@QUICK
def test_the_outline_of_a_ball_is_a_circle_of_the_right_radius(height):
    outline = sphere((7, 8, 9), 5.0).outline(9 + height)
    radius = np.sqrt(25 - height**2)
    assert np.hypot(*(outline - [7, 8]).T) == pytest.approx(np.full(len(outline), radius), rel=1e-4)


def test_a_plane_next_to_the_nodule_has_no_outline():
    assert sphere((0, 0, 0), 5.0).outline(5.01) is None


def lobulated(seed):
    random = np.random.default_rng(seed)
    lobes = tuple(
        Lobe(tuple(unit(*random.normal(size=3))), float(random.uniform(0.1, 0.42)), 11.0)
        for _ in range(7)
    )
    return NoduleShape(np.array([1.0, 2.0, 3.0]), np.array([6.0, 5.0, 5.5]), rotation(seed), lobes)


@given(seed=st.integers(0, 999))
@QUICK
def test_volume_equals_the_share_of_random_points_inside(seed):
    shape = lobulated(seed)
    half = shape.largest_reach_mm
    points = np.random.default_rng(seed).uniform(-half, half, (40_000, 3)) + shape.center_mm
    share = np.mean(shape.contains(points))
    error = np.sqrt(share * (1 - share) / len(points))
    assert abs(share - shape.volume_mm3 / (2 * half) ** 3) < 5 * error


@pytest.mark.slow
@given(seed=st.integers(0, 999))
@settings(max_examples=6, deadline=None)
def test_sections_add_up_to_the_volume(seed):
    shape = lobulated(seed)
    low, high = shape.extent_z_mm
    heights = np.linspace(low, high, 61)
    areas = [0 if (line := shape.outline(z)) is None else area_mm2(line) for z in heights]
    assert np.trapezoid(areas, heights) == pytest.approx(shape.volume_mm3, rel=0.02)


@pytest.mark.slow
@given(seed=st.integers(0, 99), factor=st.floats(0.5, 2.0))
@settings(max_examples=6, deadline=None)
def test_a_grown_shape_keeps_its_form_and_its_anchor(seed, factor):
    shape = lobulated(seed)
    anchor = np.array([4.0, 0.0, -2.0])
    grown = shape.scaled(factor, anchor)
    assert grown.volume_mm3 == pytest.approx(factor**3 * shape.volume_mm3, rel=1e-9)
    assert grown.diameter_mm == pytest.approx(factor * shape.diameter_mm, rel=1e-3)
    points = np.random.default_rng(0).uniform(-9, 9, (200, 3)) + shape.center_mm
    is_near_edge = np.abs(shape.distance_mm(points)) < 1e-6
    moved = anchor + factor * (points - anchor)
    assert np.array_equal(
        shape.contains(points) | is_near_edge, grown.contains(moved) | is_near_edge
    )


def test_moving_a_shape_moves_everything():
    shape = lobulated(1).moved(np.array([10.0, 20.0, 30.0]))
    assert shape.centroid_mm == pytest.approx(lobulated(1).centroid_mm + np.array([10, 20, 30]))
    assert shape.volume_mm3 == lobulated(1).volume_mm3
