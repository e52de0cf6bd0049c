"""Chest -> its wall on slices: skin, fat, breasts, layers and bundles of muscle; and the table."""

import numpy as np

from nodulebench.phantom.body.chest import SIDES, Chest, oval
from nodulebench.phantom.body.enhancement import Enhancement
from nodulebench.phantom.body.skin import RIB_CAGE_MM
from nodulebench.phantom.body.slice import Plane, SliceGrid
from nodulebench.phantom.canvas import Field, fill

AIR_HU = -1000.0
SKIN_HU = 15.0
SKIN_MM = 1.8
ARMPIT_Z = (-10.0, 105.0)
GLAND_HU = 15.0
GLAND_X = 80.0
GLAND_EDGE_MM = 3.0
"""Strands of gland fade into fat."""
TABLE_HU = 480.0
"""Of the carbon shell on which the patient lies."""
TABLE_MM = 2.0
TABLE_HALF_WIDTH_MM = 205.0
MATTRESS_MM = 11.0
BUNDLES_APART = 1.4
"""In standard deviations of their field: fat lies where it passes multiples of this."""
BUNDLE_MM = 18.0
"""About how far bundles of muscle change by one standard deviation."""


def empty_slice(chest: Chest, grid: SliceGrid) -> Field:
    """Air, and the curved table under the patient: two thin shells with foam between."""
    hu = np.full((len(grid.y_mm), len(grid.x_mm)), AIR_HU, dtype=np.float32)
    back = chest.center_y + chest.half_depth + 0.75 * (chest.wall_mm + chest.fat_mm) + 20.0
    depth = grid.y - back + grid.x * grid.x / 900.0
    fill(hu, np.abs(depth - 12.0) - 11.0, grid.pixel_mm, -930.0)
    fill(hu, np.abs(depth - 24.0) - 0.9, grid.pixel_mm, -250.0)
    shell = np.maximum(np.abs(depth) - TABLE_MM / 2, np.abs(grid.x) - TABLE_HALF_WIDTH_MM)
    fill(hu, shell, grid.pixel_mm, TABLE_HU)
    fill(hu, np.abs(depth + MATTRESS_MM) - 0.5, grid.pixel_mm, -780.0)  # its cover
    return hu


def draw_wall(chest: Chest, plane: Plane, enhancement: Enhancement) -> None:
    """Skin, fat and muscle, and the fat within the cavity that organs are drawn into."""
    hu, pixel = plane.hu, plane.pixel_mm
    skin, cavity = plane.surfaces.skin, plane.surfaces.cavity
    fill(hu, skin, pixel, SKIN_HU)
    fill(hu, skin + SKIN_MM, pixel, plane.fat)
    if chest.is_female:
        _draw_glands(chest, plane)
    thickness = plane.surfaces.muscle_mm + 3.0 * plane.waves
    muscle = np.maximum(cavity - thickness, skin + (0.45 * chest.fat_mm + 3.0))
    fill(hu, muscle, pixel, 12.0 * plane.fine + np.float32(enhancement.muscle))
    fill(hu, np.maximum(_fat_planes(plane), muscle + 1.2), pixel, plane.fat + 18.0)
    _draw_armpits(chest, plane)
    fill(hu, cavity - 1.5, pixel, plane.fat)


def _fat_planes(plane: Plane) -> Field:
    """Distance to the fat between muscles: around the rib cage, between bundles, among ribs."""
    cavity, patches = plane.surfaces.cavity, plane.patches
    around = np.abs(cavity - RIB_CAGE_MM - 2.0 * plane.waves) - (0.7 + 0.9 * patches)
    among = np.abs(cavity - 7.0) - (plane.bundles - 0.2)
    shares = (plane.bundles - 0.35) * np.float32(1 / BUNDLES_APART)
    folded = np.abs(shares - np.rint(shares)) * BUNDLES_APART
    high = float(np.clip((plane.z_mm - 20.0) / 80.0, 0, 1))  # muscles lie looser at the shoulders
    bundles = folded * BUNDLE_MM - (0.8 + 1.4 * high + 1.3 * patches)
    bundles = np.maximum(bundles, RIB_CAGE_MM - cavity)
    return np.minimum(np.minimum(around, among), bundles)


def _draw_armpits(chest: Chest, plane: Plane) -> None:
    """Fat between the muscles of chest and shoulder blade."""
    low, high = ARMPIT_Z
    height = (2 * plane.z_mm - low - high) / (high - low)
    if abs(height) >= 1:
        return
    swell = float(np.sqrt(1 - height * height))
    for side in SIDES:
        middle = side * (chest.half_width + 16.0)
        near = plane.box((middle - 40.0, middle + 40.0), (-60.0, 50.0))
        if near is not None:
            beside, down = near.surfaces.x - np.float32(middle), near.surfaces.y + 6.0
            pit = oval(beside - 0.3 * side * down, down, 13.0 * swell, 32.0 * swell)
            pit = np.maximum(pit + 3.0 * near.patches, RIB_CAGE_MM + 2.0 - near.surfaces.cavity)
            fill(near.hu, np.maximum(pit, near.surfaces.skin + 4.0), near.pixel_mm, near.fat + 8.0)


def _draw_glands(chest: Chest, plane: Plane) -> None:
    """Strands of gland in the fat of the breasts."""
    height = (plane.z_mm + 45.0) / 46.0
    if abs(height) >= 1:
        return
    swell = float(np.sqrt(1 - height * height))
    front = chest.center_y - chest.half_depth - 0.75 * (chest.wall_mm + chest.fat_mm) + 14.0
    for side in SIDES:
        middle = side * GLAND_X
        near = plane.box((middle - 50.0, middle + 50.0), (front - 36.0, front + 36.0))
        if near is not None:
            beside, down = near.surfaces.x - np.float32(middle), near.surfaces.y - np.float32(front)
            gland = np.maximum(oval(beside, down, 40.0 * swell, 20.0 * swell), 0)
            strands = gland + 2.0 - 2.0 * near.patches - 2.2 * near.fine - 2.0 * near.waves
            fill(near.hu, np.maximum(strands, near.surfaces.skin + 7.0), GLAND_EDGE_MM, GLAND_HU)
