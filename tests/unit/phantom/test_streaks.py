import numpy as np

from nodulebench.phantom.artefacts import VEIN_HU, draw_streaks, subclavian_vein
from nodulebench.phantom.canvas import Canvas
from nodulebench.phantom.chest import LEFT, RIGHT, Chest

CHEST = Chest()
X, Y, Z = np.arange(-190.0, 190.0, 3.0), np.arange(-120.0, 130.0, 3.0), np.arange(-60.0, 140.0, 3.0)


def drawn(side):
    canvas = Canvas(np.full((len(Z), len(Y), len(X)), 30.0, dtype=np.float32), X, Y, Z)
    canvas.hu[:, :6] = -1000.0  # air
    draw_streaks(CHEST, canvas, side, np.random.default_rng(1))
    return canvas.hu


def test_the_vein_of_one_arm_is_dense_and_rays_run_from_it():
    hu = drawn(LEFT)
    vein = subclavian_vein(CHEST, LEFT)
    assert hu.max() > 0.8 * VEIN_HU
    bright = np.argwhere(hu > 0.6 * VEIN_HU)
    assert np.mean(X[bright[:, 2]] > 20.0) > 0.6  # of the left side, where x is positive
    lowest = min(vein.start[:, 2].min(), vein.end[:, 2].min())
    assert np.all(hu[lowest - 12.0 > Z][:, 6:] == 30.0)
    assert np.all(hu[:, :6] == -1000.0)
    plane = hu[bright[len(bright) // 2, 0]]
    rest = plane[(plane < 0.3 * VEIN_HU) & (plane > -900.0)]
    assert rest.std() > 20.0
    assert abs(np.median(rest) - 30.0) < 40.0
    near, far = (_spread(plane, reach) for reach in ((10, 40), (120, 200)))
    assert near > 1.5 * far


def _spread(plane, reach):
    rows, columns = np.nonzero(plane > 0.6 * VEIN_HU)
    apart = np.hypot(X[None] - X[columns].mean(), Y[:, None] - Y[rows].mean())
    ring = (apart > reach[0]) & (apart < reach[1]) & (plane > -900.0) & (plane < 1000.0)
    return plane[ring].std()


def test_the_other_arm_gives_the_other_side():
    bright = np.argwhere(drawn(RIGHT) > 0.6 * VEIN_HU)
    assert np.mean(X[bright[:, 2]] < -20.0) > 0.6
