"""Canvas -> the same while heart and diaphragm move: double and blurred contours."""

import numpy as np

from nodulebench.phantom.body.chest import Chest, heart_surface
from nodulebench.phantom.canvas import Canvas
from nodulebench.phantom.conditions import Condition

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
    """Around the heart, half of a voxel's density comes from beside it."""
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
