import numpy as np
import pytest

from nodulebench.phantom.canvas import random_texture
from nodulebench.phantom.chest import Chest
from nodulebench.phantom.disease import HAZE_HU, Condition, draw_disease, random_disease
from nodulebench.phantom.slice import Bend, SliceGrid, make_plane, random_textures, surfaces_at

CHEST = Chest()
LUNG_HU = -870.0


@pytest.fixture(scope="module")
def ground():
    random = np.random.default_rng(6)
    grid = SliceGrid(np.arange(-150.0, 150.0, 2.0), np.arange(-110.0, 120.0, 2.0))
    bend = Bend(random_texture(random, 8.0, 32.0))
    return grid, bend, random_textures(random), random_disease(random)


def drawn(ground, condition, z_mm):
    """An even lung changed by disease: HU, and the depth of each pixel."""
    grid, bend, textures, where = ground
    surfaces = surfaces_at(CHEST, bend, grid.x, grid.y, z_mm)
    hu = np.where(surfaces.pleura < 0, LUNG_HU, 40.0).astype(np.float32)
    plane = make_plane(hu, surfaces, textures, grid, z_mm)
    draw_disease(CHEST, plane, condition, where)
    return plane.hu, -surfaces.pleura


def test_nothing_changes_without_disease_or_outside_the_lungs(ground):
    hu, depth = drawn(ground, Condition(), 20.0)
    assert set(np.unique(hu)) == {np.float32(LUNG_HU), np.float32(40.0)}
    ill, _ = drawn(ground, Condition(emphysema=1.0, fibrosis=1.0, ground_glass=1.0), 20.0)
    assert np.all(ill[depth < -2.0] == 40.0)


def test_emphysema_makes_holes_and_more_of_them_above(ground):
    shares = []
    for z_mm in (-90.0, 40.0):
        hu, depth = drawn(ground, Condition(emphysema=1.0), z_mm)
        inside = hu[depth > 3.0]
        assert inside.max() <= LUNG_HU
        assert inside.min() > -990.0
        shares.append(np.mean(inside < -950.0))
    assert 0.0 < shares[0] < shares[1] < 0.4
    mild, depth = drawn(ground, Condition(emphysema=0.3), 40.0)
    assert np.mean(mild[depth > 3.0] < -950.0) < shares[1]


def test_fibrosis_is_a_net_under_the_pleura_and_mostly_below(ground):
    low, depth = drawn(ground, Condition(fibrosis=1.0), -80.0)
    rim, middle = (depth > 2.0) & (depth < 8.0), depth > 30.0
    assert (low[rim] - LUNG_HU).mean() > 4 * (low[middle] - LUNG_HU).mean()
    assert low[rim].std() > 60.0
    high, depth_high = drawn(ground, Condition(fibrosis=1.0), 60.0)
    rim_high = (depth_high > 2.0) & (depth_high < 8.0)
    assert (high[rim_high] - LUNG_HU).mean() < 0.6 * (low[rim] - LUNG_HU).mean()


def test_ground_glass_is_in_patches(ground):
    hu, depth = drawn(ground, Condition(ground_glass=1.0), 0.0)
    change = hu[depth > 3.0] - LUNG_HU
    assert change.min() == 0.0
    assert change.max() == pytest.approx(HAZE_HU, abs=1.0)
    assert 0.05 < np.mean(change > 0.3 * HAZE_HU) < 0.6
    less, _ = drawn(ground, Condition(ground_glass=0.3), 0.0)
    assert (less[depth > 3.0] - LUNG_HU).mean() < 0.5 * change.mean()
