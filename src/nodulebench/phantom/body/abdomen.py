"""Chest -> what lies under its diaphragm on slices: liver, stomach, spleen, bowel, crura."""

import numpy as np

from nodulebench.phantom.body.chest import Chest, oval
from nodulebench.phantom.body.enhancement import Enhancement
from nodulebench.phantom.body.slice import FAT_HU, Plane
from nodulebench.phantom.body.wall import AIR_HU
from nodulebench.phantom.canvas import Field, fill

WALL_HU = 50.0
"""Of stomach and bowel."""
FOOD_HU = 30.0
STOOL_HU = -40.0
GAS_HU = AIR_HU + 10
AIR_LEVEL_Y = -40.0
"""Fluid in the stomach stands level, since the patient lies on the back."""
COLON = ((82.0, -52.0, 15.0, 26.0), (58.0, -72.0, 17.0, 34.0), (100.0, -22.0, 13.0, 40.0))
"""Loops of the left colon: x, y, radius, and how far below the dome they begin, in mm."""


def draw_abdomen(chest: Chest, plane: Plane, enhancement: Enhancement) -> None:
    """All organs of one slice, later ones over earlier ones."""
    if plane.z_mm >= max(chest.right_dome_z, chest.left_dome_z) + 6.0:
        return
    x, y, pixel, hu = plane.surfaces.x, plane.surfaces.y, plane.pixel_mm, plane.hu
    inside = plane.surfaces.cavity + 4.0
    right = np.maximum(plane.surfaces.right_dome + 3.0, inside)
    left = np.maximum(plane.surfaces.left_dome + 3.0, inside)
    spine = oval(x, y - np.float32(chest.spine_y), 30.0, 30.0)
    leftness = np.clip((x + 25.0) / 50.0, 0, 1)
    under = np.maximum(right + leftness * (left - right), -spine)
    fill(hu, under - 3.0, pixel, enhancement.muscle)  # the diaphragm itself
    fill(hu, under, pixel, plane.fat + 8.0)
    crura = np.maximum(np.abs(spine - 4.0) - 2.5, np.maximum(y - np.float32(chest.spine_y), under))
    fill(hu, crura, pixel, enhancement.muscle)
    _draw_liver(chest, plane, enhancement, under, spine)
    _draw_stomach(chest, plane, left)
    _draw_spleen(chest, plane, enhancement, left)
    _draw_colon(chest, plane, left)


def _draw_liver(
    chest: Chest, plane: Plane, enhancement: Enhancement, under: Field, spine: Field
) -> None:
    """A large right and a thinner left lobe, with fat in the fissure between them."""
    x, y = plane.surfaces.x, plane.surfaces.y
    right = oval(x + 66.0, y + 4.0, 92.0, 118.0)
    left = oval(x - 4.0, y + 52.0, 62.0, 40.0)
    slanting = 0.8 * (x + 0.6 * (y + 30.0) - 30.0)  # its border falls back to the right
    lobes = np.minimum(np.maximum(right, slanting), left)
    behind = np.maximum(y - np.float32(chest.spine_y + 25.0), 6.0 - spine)
    liver = np.maximum(np.maximum(under, lobes), behind)
    fill(plane.hu, liver, plane.pixel_mm, 2.5 * plane.patches + np.float32(enhancement.liver))
    fissure = np.abs(x - 8.0 + 0.25 * y) - (1.0 + plane.patches)
    fissure = np.maximum(np.maximum(fissure, y + 28.0), liver)
    fill(plane.hu, fissure, plane.pixel_mm, FAT_HU + 30.0)


def _below(top_z: float, z_mm: float) -> float:
    """How much of its full width an organ has, by its depth below the top: round above."""
    return float(np.sqrt(np.clip((top_z - z_mm) / 40.0, 0.0, 1)))


def _draw_stomach(chest: Chest, plane: Plane, left: Field) -> None:
    """Wall with folds, food, and air in front."""
    scale = chest.half_width / 134.0
    size = max(_below(chest.left_dome_z + 4.0, plane.z_mm), 0.15)
    x, y = plane.surfaces.x, plane.surfaces.y
    stomach = oval(x - 62.0 * scale, y + 16.0, 36.0 * scale * size, 44.0 * size)
    stomach = np.maximum(stomach, left + 5.0)
    fill(plane.hu, stomach, plane.pixel_mm, WALL_HU)
    inner = stomach + 4.5 + 1.5 * np.maximum(plane.bundles, 0) + 0.8 * plane.fine
    fill(plane.hu, inner, plane.pixel_mm, FOOD_HU + 14.0 * plane.patches)
    fill(plane.hu, np.maximum(inner, plane.y - AIR_LEVEL_Y), plane.pixel_mm, GAS_HU)


def _draw_spleen(chest: Chest, plane: Plane, enhancement: Enhancement, left: Field) -> None:
    """A crescent along the ribs, hollow towards the stomach."""
    size = _below(chest.left_dome_z - 8.0, plane.z_mm)
    if size == 0:
        return
    scale = chest.half_width / 134.0
    x, y = plane.surfaces.x, plane.surfaces.y
    spleen = oval(x - 92.0 * scale, y - 46.0, 40.0 * size, 44.0 * size)
    hollow = oval(x - 62.0 * scale, y - 22.0, 30.0, 36.0)
    spleen = np.maximum(np.maximum(spleen, -hollow), left + 4.0)
    fill(plane.hu, spleen, plane.pixel_mm, enhancement.spleen)


def _draw_colon(chest: Chest, plane: Plane, left: Field) -> None:
    """Loops with stool and gas."""
    scale = chest.half_width / 134.0
    for x, y, radius, below_mm in COLON:
        size = _below(chest.left_dome_z - below_mm, plane.z_mm) * radius
        if size < 2.0:
            continue
        loop = oval(plane.surfaces.x - x * scale, plane.surfaces.y - y, size * 1.2, size)
        loop = np.maximum(loop + 2.0 * plane.bundles, left + 3.0)
        fill(plane.hu, loop, plane.pixel_mm, WALL_HU)
        stool = STOOL_HU + 90.0 * plane.fine
        fill(plane.hu, loop + 2.2, plane.pixel_mm, stool)
        gas = np.maximum(loop + 2.5, (plane.y - np.float32(y)) - 8.0 * plane.patches)
        fill(plane.hu, gas, plane.pixel_mm, GAS_HU)
