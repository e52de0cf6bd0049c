import numpy as np
import pytest

from builders.lung_scenes import ball, lung_with, rod
from nodulebench.detection.regions import move_to_centres, roundness

DENSITIES = (-750.0, -300.0)


def _round(chest, place, radius):
    places, radii = np.array([place], dtype=np.float64), np.array([radius])
    return roundness(chest.hu, chest.lungs.mask, places, radii, densities_hu=DENSITIES)[0]


def test_a_ball_is_round_a_vessel_is_long():
    assert _round(lung_with(ball((32, 32, 32), 4)), (32, 32, 32), 8.0) == pytest.approx(1, abs=0.01)
    # within a ball of 8: along the vessel 8^2 / 3 at most, across 2^2 / 4 and half a voxel more
    vessel = _round(lung_with(rod((32, 32, 32), 2.0)), (32, 32, 32), 8.0)
    assert vessel == pytest.approx(np.sqrt((2.25**2 / 4) / (8**2 / 3)), abs=0.05)


def test_where_nothing_is_dense_it_is_round():
    assert _round(lung_with(), (20, 20, 20), 5.0) == 1.0


def test_crosses_by_hand():
    hu = np.full((9, 9, 9), -900.0, np.float32)
    hu[4, 4, 3:6] = -300.0
    hu[4, 3:6, 4] = -300.0
    # a cross of five: 2 / 5 along rows and along columns, nothing along slices
    everywhere = np.ones(hu.shape, dtype=np.bool_)
    place, radius = np.array([[4.0, 4.0, 4.0]]), np.array([3.0])
    assert roundness(hu, everywhere, place, radius, densities_hu=DENSITIES)[0] < 1e-6
    hu[3:6, 4, 4] = -300.0
    assert roundness(hu, everywhere, place, radius, densities_hu=DENSITIES)[0] == pytest.approx(1)
    hu[4, 4, 2:7] = -300.0  # along columns (1 + 1 + 4 + 4) / 9, else 2 / 9
    roundness_there = roundness(hu, everywhere, place, radius, densities_hu=DENSITIES)[0]
    assert roundness_there == pytest.approx(np.sqrt(2 / 10))


def test_a_place_on_the_rim_moves_to_the_middle():
    chest = lung_with(ball((32, 32, 32), 4, hu=-500.0))
    start, radius = np.array([[32.0, 32.0, 28.5]]), np.array([5.0])
    moved = move_to_centres(chest.hu, chest.lungs.mask, start, radius, densest_hu=-300.0, steps=6)
    assert moved[0] == pytest.approx([32, 32, 32], abs=0.5)
