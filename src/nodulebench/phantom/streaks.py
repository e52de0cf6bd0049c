"""Dense contrast medium in a vein -> the vein, and the streaks that run from it through slices."""

import numpy as np

from nodulebench.phantom.body.chest import Chest
from nodulebench.phantom.canvas import Canvas
from nodulebench.phantom.tubes import OUTSIDE_LUNG, Tubes, paint_tubes, path

VEIN_HU = 2400.0
STREAK_HU = 130.0
"""How strong streaks are beside a wide section of the vein, along the wide body."""
ALONG_SHARE = 0.3
"""How strong they are across it, as a share of that."""
REACH_MM = 40.0
"""Where they are half as strong."""
RAYS = 720
RAY_GRAIN = 1.6
"""Neighbouring rays are alike over about so many."""
WIDE_MM2 = 60.0
SLICE_GRAIN_MM = 4.0


def subclavian_vein(chest: Chest, side: int) -> Tubes:
    """From the armpit over the first rib to the upper vena cava."""
    back = chest.spine_y
    points = [
        (side * (chest.half_width + 30.0), chest.center_y - 6.0, chest.apex_z - 40.0),
        (side * (chest.half_width - 6.0), chest.center_y - 42.0, chest.apex_z - 22.0),
        (side * 62.0, back - 82.0, chest.apex_z - 10.0),
        (side * 28.0, back - 74.0, chest.apex_z - 24.0),
        (-20.0, back - 70.0, 56.0),
    ]
    return path(points, [4.5, 5.0, 5.5, 6.0, 6.0], smoothness=2)


def draw_streaks(chest: Chest, canvas: Canvas, side: int, random: np.random.Generator) -> None:
    """Draw the vein, then dark and bright rays around its sections."""
    from scipy import ndimage

    vein = subclavian_vein(chest, side)
    paint_tubes(canvas, vein, VEIN_HU, OUTSIDE_LUNG)
    heights = np.concatenate([vein.start[:, 2], vein.end[:, 2]])
    low, high = np.searchsorted(canvas.z_mm, (heights.min() - 8.0, heights.max() + 8.0))
    step = canvas.steps_mm[0]
    rays = random.standard_normal((int(high - low) + 1, RAYS))
    rays = ndimage.gaussian_filter(rays, (SLICE_GRAIN_MM / step, RAY_GRAIN), mode="wrap")
    rays = (rays / rays.std()).astype(np.float32)
    x, y = canvas.x_mm.astype(np.float32), canvas.y_mm.astype(np.float32)
    area = canvas.steps_mm[1] * canvas.steps_mm[2]
    for number, ray in zip(range(int(low), int(high)), rays, strict=False):
        plane = canvas.hu[number]
        rows, columns = np.nonzero(plane > 0.6 * VEIN_HU)
        if not len(rows):
            continue
        across, down = x[None, :] - x[columns].mean(), y[:, None] - y[rows].mean()
        apart = np.sqrt(across * across + down * down)
        turn = (np.arctan2(down, across) * np.float32(RAYS / (2 * np.pi))).astype(np.int64) % RAYS
        strength = np.float32(STREAK_HU * min(1.0, len(rows) * area / WIDE_MM2))
        along = ALONG_SHARE + (1 - ALONG_SHARE) * (across / np.maximum(apart, 1e-3)) ** 2
        fading = strength * along * REACH_MM / (REACH_MM + apart)
        is_body = plane > -1000.0 + 20.0
        plane += ray[turn] * fading * np.minimum(apart / np.float32(6.0), 1) * is_body
