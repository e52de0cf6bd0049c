import numpy as np
import pytest
from benchmarks.lung_leaks import (
    ATTACKS,
    ChangedScan,
    Scene,
    compare_lungs,
    find_lungs,
    path,
    thin_paths,
)
from scipy import ndimage

from builders.bodies import chest


@pytest.fixture(scope="module")
def scene():
    hu, step_mm = chest().seen()
    return Scene(hu, step_mm, find_lungs(hu, step_mm))


@pytest.mark.parametrize("name", ATTACKS)
def test_lungs_of_a_drawn_chest_stay_after_every_change(scene, name):
    tried = ATTACKS[name](scene, np.random.default_rng(3))
    assert tried.hu.shape == tried.lungs.shape
    dice, volume, is_plausible = compare_lungs(tried, scene.step_mm)
    assert dice > 0.95
    assert abs(volume - 1) < 0.06
    assert is_plausible


def test_paths_join_the_lungs_with_the_air_outside(scene):
    """In three dimensions all air hangs together, so that nothing but form and density parts it."""
    hu = thin_paths(scene, np.random.default_rng(3)).hu
    labels, _ = ndimage.label(hu < -400)
    lung = np.bincount(labels[scene.lungs.mask]).argmax()
    assert lung > 0
    assert lung in labels[:, 0]


def test_a_path_is_a_straight_tube():
    tube = path((1, 9, 9), np.ones(3), np.array([0.0, 4, 0]), np.array([0.0, 4, 8]), 1.0)
    assert tube.sum() == 27
    assert tube[0, 3:6].all()


def test_what_is_not_found_counts_as_nothing(scene):
    tissue = np.full_like(scene.hu, 40.0)
    assert compare_lungs(ChangedScan(tissue, scene.lungs.mask), scene.step_mm) == (0.0, 0.0, False)
