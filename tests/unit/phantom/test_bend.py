"""Soft tissue is bent, lungs are not."""

import numpy as np
import pytest

from nodulebench.phantom.canvas import BLOCK, Texture, random_texture
from nodulebench.phantom.chest import SIDES, Chest, lung_surface
from nodulebench.phantom.slice import (
    BEND_MM,
    HELD_MM,
    LARGEST_BENDS,
    looseness,
    random_bend,
    surfaces_at,
)
from nodulebench.phantom.tubes import Tubes

CHEST = Chest()
X = np.arange(-170.0, 170.0, 4.0, dtype=np.float32)[None, :]
Y = np.arange(-130.0, 140.0, 4.0, dtype=np.float32)[:, None]


@pytest.fixture(scope="module")
def bend():
    return random_bend(np.random.default_rng(3))


def test_tissue_is_held_at_the_pleura_and_freed_in_proportion_to_the_distance():
    distance = np.array([-30.0, 0.0, 2.0, 17.0, 32.0, 90.0])
    assert looseness(distance).tolist() == [0, 0, 0, 0.5, 1, 1]


@pytest.mark.parametrize("z_mm", [-90.0, -40.0, 0.0, 60.0, 110.0])
def test_nothing_is_shifted_in_the_lungs_or_at_their_surface(bend, z_mm):
    surfaces = surfaces_at(CHEST, bend, X, Y, z_mm)
    is_held = surfaces.pleura <= HELD_MM
    assert is_held.any()
    assert np.array_equal(surfaces.x[is_held], np.broadcast_to(X, is_held.shape)[is_held])
    assert np.array_equal(surfaces.y[is_held], np.broadcast_to(Y, is_held.shape)[is_held])
    assert np.abs(surfaces.x - X).max() > 3.0


def test_the_pleura_is_that_of_the_plain_body(bend):
    z = np.asarray(-20.0, dtype=np.float32)
    plain = np.minimum(*(lung_surface(CHEST, X, Y, z, side) for side in SIDES))
    assert np.array_equal(surfaces_at(CHEST, bend, X, Y, -20.0).pleura, plain)


def test_shifts_are_limited_and_never_fold_the_tissue(bend):
    surfaces = surfaces_at(CHEST, bend, X, Y, -50.0)
    assert np.abs(surfaces.x - X).max() < BEND_MM * LARGEST_BENDS
    # from left to right and from front to back, tissue stays in its order
    assert np.diff(surfaces.x, axis=1).min() > 0
    assert np.diff(surfaces.y, axis=0).min() > 0


def test_tubes_move_with_the_tissue_around_them(bend):
    z = 40.0
    surfaces = surfaces_at(CHEST, bend, X, Y, z)
    # a point far from the lungs: in the skin next to the shoulder
    row, column = 20, 2
    place = np.array([[X[0, column], Y[row, 0], z]], dtype=np.float64)
    source = np.array([[surfaces.x[row, column], surfaces.y[row, column], z]])
    tube = Tubes(source, source + 1e-6, np.array([1.0]), np.array([1.0]))
    moved = bend.bent(CHEST, tube).start
    assert np.linalg.norm(source - place) > 1.0
    # shifts are looked up at the tube instead of where it goes, so they differ a little
    assert np.linalg.norm(moved - place) < 0.5 * np.linalg.norm(source - place)


def test_a_tube_that_touches_the_pleura_stays(bend):
    inside = np.array([[90.0, 0.0, 0.0], [30.0, 60.0, -40.0]])
    tube = Tubes(inside[:1], inside[1:], np.array([5.0]), np.array([5.0]))
    moved = bend.bent(CHEST, tube)
    pieces = tube.cut()
    depth = np.minimum(*(lung_surface(CHEST, *pieces.start.T, side) for side in SIDES))
    touches = depth < 5.0 + HELD_MM
    assert touches.any()
    assert np.array_equal(moved.start[touches], pieces.start[touches])


def test_a_texture_at_points_equals_that_on_slices():
    texture = random_texture(np.random.default_rng(1), 2.0, 5.0)
    x, y = np.array([-3.3, 10.1, 300.0]), np.array([0.0, 7.7])
    on_slice = texture.on_slice(x, y, -12.34)
    points = np.array([[a, b, -12.34] for b in y for a in x])
    assert texture.at(points).reshape(2, 3) == pytest.approx(on_slice, abs=1e-5)


def test_a_texture_is_linear_between_its_voxels():
    values = np.zeros((BLOCK,) * 3, dtype=np.float32)
    values[1, 2, 3] = 8.0  # z, y, x
    texture = Texture(values, 1.0)
    assert texture.at(np.array([[3.0, 2.0, 1.0], [3.5, 2.5, 0.5]])).tolist() == [8.0, 1.0]
