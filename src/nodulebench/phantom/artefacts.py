"""Canvas -> the same while heart and diaphragm move: double and blurred contours."""

import numpy as np

from nodulebench.phantom.canvas import Canvas
from nodulebench.phantom.chest import Chest, heart_surface
from nodulebench.phantom.disease import Condition
from nodulebench.phantom.tubes import OUTSIDE_LUNG, Tubes, paint_tubes, path

HEART_REACH_MM = 22.0
"""How far from the heart the lung moves with it."""
BEAT_MM = 17.0
"""How far the table goes during a heart beat: the shift comes and goes along z."""
BREATH_BAND_MM = 55.0
"""Above the diaphragm, where breathing is seen."""


def blur_by_motion(chest: Chest, canvas: Canvas, condition: Condition) -> None:
    """Mix each plane with itself as it was a moment earlier."""
    if condition.heart_mm:
        _beat(chest, canvas, condition.heart_mm)
    if condition.breath_mm:
        _breathe(chest, canvas, condition.breath_mm)


def _beat(chest: Chest, canvas: Canvas, heart_mm: float) -> None:
    """Around the heart, half of a voxel's density comes from next to it."""
    scale = chest.heart_scale
    reach = np.array([85.0, 80.0, 85.0]) * scale
    middle = np.array([14.0, -20.0, -64.0]) * scale
    box = canvas.box(middle - reach, middle + reach)
    if box is None:
        return
    part, x, y, z = box
    pixel = canvas.steps_mm[2]
    for plane, height in zip(part, z[:, 0, 0].tolist(), strict=True):
        phase = np.cos(2 * np.pi * height / BEAT_MM)
        shift = round(heart_mm * phase / pixel)
        if not shift:
            continue
        distance = heart_surface(chest, x[0], y[0], np.asarray(height, dtype=np.float32))
        share = 0.5 * np.exp(-((np.maximum(distance, 0) / np.float32(HEART_REACH_MM)) ** 2))
        earlier = np.roll(plane, (shift, shift), axis=(0, 1))
        plane += share * (earlier - plane)


def _breathe(chest: Chest, canvas: Canvas, breath_mm: float) -> None:
    """Near the diaphragm, half of a plane comes from the one that a breath brings there."""
    step = canvas.steps_mm[0]
    apart = max(1, round(breath_mm / step))
    top = max(chest.right_dome_z, chest.left_dome_z) + BREATH_BAND_MM
    last = min(int(np.searchsorted(canvas.z_mm, top)), len(canvas.z_mm) - apart)
    for number in range(last):
        share = np.float32(0.5 * min(1.0, (last - number) * step / BREATH_BAND_MM * 2))
        plane = canvas.hu[number]
        plane += share * (canvas.hu[number + apart] - plane)


VEIN_HU = 2400.0
STREAK_HU = 130.0
"""How strong streaks are next to a wide section of the vein, along the wide body."""
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
