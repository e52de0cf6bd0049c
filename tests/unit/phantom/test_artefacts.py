import numpy as np
import pytest

from nodulebench.phantom.artefacts import BREATH_BAND_MM, blur_by_motion
from nodulebench.phantom.canvas import Canvas
from nodulebench.phantom.chest import Chest, heart_surface
from nodulebench.phantom.disease import Condition

CHEST = Chest()
X, Y, Z = np.arange(-120.0, 120.0, 2.0), np.arange(-100.0, 100.0, 2.0), np.arange(-170.0, 60.0, 2.5)


@pytest.fixture
def canvas():
    hu = np.random.default_rng(0).normal(-800, 100, (len(Z), len(Y), len(X))).astype(np.float32)
    return Canvas(hu, X, Y, Z)


def test_a_beating_heart_mixes_its_surroundings_and_nothing_far_away(canvas):
    before = canvas.hu.copy()
    blur_by_motion(CHEST, canvas, Condition(heart_mm=3.0))
    z, y, x = np.meshgrid(Z, Y, X, indexing="ij")
    distance = heart_surface(CHEST, x, y, z)
    changed = np.abs(canvas.hu - before)
    assert np.abs(changed[distance > 60.0]).max() < 2.0
    near = (distance > 0) & (distance < 5.0)
    assert canvas.hu[near].std() < 0.9 * before[near].std()
    assert canvas.hu.mean() == pytest.approx(before.mean(), abs=1.0)


def test_breathing_doubles_the_diaphragm_and_nothing_above(canvas):
    canvas.hu[:] = -850.0
    top = CHEST.right_dome_z + BREATH_BAND_MM
    low, high = np.searchsorted(Z, (CHEST.right_dome_z - 20.0, top + 20.0))
    for slab in (low, high):
        canvas.hu[slab] = 40.0
    blur_by_motion(CHEST, canvas, Condition(breath_mm=5.0))  # two planes
    assert canvas.hu[high].max() == 40.0
    assert canvas.hu[high - 2].max() == -850.0
    assert canvas.hu[low].max() == pytest.approx((40.0 - 850.0) / 2, abs=1.0)
    assert canvas.hu[low - 2].max() == pytest.approx((40.0 - 850.0) / 2, abs=1.0)
    assert canvas.hu[low - 1].max() == -850.0


def test_a_still_patient_is_not_blurred(canvas):
    before = canvas.hu.copy()
    blur_by_motion(CHEST, canvas, Condition())
    assert np.array_equal(canvas.hu, before)
