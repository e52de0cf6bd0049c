"""Chest -> slices in HU: its wall, heart, abdomen, bones, lung; tubes and nodules come later."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nodulebench.phantom.bones import paint_scapulae, paint_spine, paint_sternum
from nodulebench.phantom.canvas import Field, bump, fill
from nodulebench.phantom.chest import (
    HEART_AXIS,
    HEART_CENTER,
    RIB_CAGE_MM,
    SIDES,
    Chest,
    fissure_surfaces,
    join,
    oval,
)
from nodulebench.phantom.slice import FAT_HU, Enhancement, Plane, SliceGrid

AIR_HU = -1000.0
SKIN_HU = 15.0
SKIN_MM = 1.8
ARMPIT_Z = (-10.0, 105.0)
GLAND_HU = 15.0
GLAND_X = 80.0
GLAND_EDGE_MM = 3.0
"""Strands of gland fade into fat."""
TABLE_HU = 480.0
"""Of the carbon shell under the patient."""
TABLE_MM = 2.0
TABLE_HALF_WIDTH_MM = 205.0
MATTRESS_MM = 11.0
BUNDLES_APART = 1.4
"""In standard deviations of their field: fat is where it passes multiples of this."""
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
    low, high = ARMPIT_Z
    height = (2 * plane.z_mm - low - high) / (high - low)
    if abs(height) >= 1:
        return
    swell = float(np.sqrt(1 - height * height))
    for side in SIDES:
        middle = side * (chest.half_width + 16.0)
        near = plane.box((middle - 40.0, middle + 40.0), (-60.0, 50.0))
        if near is not None:
            across, down = near.surfaces.x - np.float32(middle), near.surfaces.y + 6.0
            pit = oval(across - 0.3 * side * down, down, 13.0 * swell, 32.0 * swell)
            pit = np.maximum(pit + 3.0 * near.patches, RIB_CAGE_MM + 2.0 - near.surfaces.cavity)
            fill(near.hu, np.maximum(pit, near.surfaces.skin + 4.0), near.pixel_mm, near.fat + 8.0)


def _draw_glands(chest: Chest, plane: Plane) -> None:
    height = (plane.z_mm + 45.0) / 46.0
    if abs(height) >= 1:
        return
    swell = float(np.sqrt(1 - height * height))
    front = chest.center_y - chest.half_depth - 0.75 * (chest.wall_mm + chest.fat_mm) + 14.0
    for side in SIDES:
        middle = side * GLAND_X
        near = plane.box((middle - 50.0, middle + 50.0), (front - 36.0, front + 36.0))
        if near is not None:
            across, down = near.surfaces.x - np.float32(middle), near.surfaces.y - np.float32(front)
            gland = np.maximum(oval(across, down, 40.0 * swell, 20.0 * swell), 0)
            strands = gland + 2.0 - 2.0 * near.patches - 2.2 * near.fine - 2.0 * near.waves
            fill(near.hu, np.maximum(strands, near.surfaces.skin + 7.0), GLAND_EDGE_MM, GLAND_HU)


WALL_HU = 50.0
"""Of stomach and bowel."""
FOOD_HU = 30.0
STOOL_HU = -40.0
GAS_HU = AIR_HU + 10
AIR_LEVEL_Y = -40.0
"""Fluid in the stomach is level, since the patient is on the back."""
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


TOWARDS_RIGHT_VENTRICLE = (-0.504, -0.863, 0.049)
"""At right angles to the heart's axis: the right ventricle is in front of the left one."""
BEATING_MM = 3.0
"""Edges of the heart are as soft as its motion makes them."""
PERICARDIUM_HU = -5.0
VALVES_MM = -12.0
"""Where the valves lie along the heart's axis; atria before it, ventricles behind."""
SEPTUM_MM = -5.0
"""The position of the groove between the ventricles, towards the right one."""
LEFT_WALL_MM, RIGHT_WALL_MM = 9.5, 3.5
LEFT_ATRIUM_Z = -46.0
LEFT_ATRIUM_MM = (28.0, 19.0, 25.0)
VEINS_MM = (44.0, 8.0)
"""Veins of both lungs where they enter it."""


class HeartPosition(NamedTuple):
    """Where pixels lie in a heart of usual size: along its axis, towards the right ventricle."""

    along: Field
    rightward: Field
    aside: Field


def heart_position(chest: Chest, x: Field, y: Field, z_mm: float) -> HeartPosition:
    """Coordinates in mm that turn and scale with the heart."""
    scale = chest.heart_scale
    middle = np.array(HEART_CENTER) * scale
    third = np.cross(HEART_AXIS, TOWARDS_RIGHT_VENTRICLE)
    across, down = x - np.float32(middle[0]), y - np.float32(middle[1])
    up = np.float32(z_mm - middle[2])

    def towards(axis: Sequence[float]) -> Field:
        share = [np.float32(part / scale) for part in axis]
        return across * share[0] + down * share[1] + up * share[2]

    return HeartPosition(
        towards(HEART_AXIS), towards(TOWARDS_RIGHT_VENTRICLE), towards(third.tolist())
    )


def draw_heart(chest: Chest, plane: Plane, enhancement: Enhancement) -> None:
    """Fat, pericardium, muscle and chambers; without contrast medium blood looks like muscle."""
    near = plane.around(plane.surfaces.heart, 2.0)
    if near is None:
        return
    hu, heart = near.hu, near.surfaces.heart
    place = heart_position(chest, near.surfaces.x, near.surfaces.y, near.z_mm)
    groove = 8.0 * bump(place.along, VALVES_MM, 5.0) + 7.0 * bump(place.rightward, SEPTUM_MM, 5.0)
    fat_mm = 1.5 + 2.2 * np.clip(near.patches + 0.4 + near.waves, 0, 3) + groove
    fill(hu, np.abs(heart + 1.2) - 0.6, near.pixel_mm, PERICARDIUM_HU)
    surface = heart + fat_mm
    fill(hu, surface, BEATING_MM, enhancement.heart_muscle)
    # distance to the left ventricle with its muscle, an egg that points to the apex
    reach = np.sqrt(
        ((place.along - 8.0) / 47.0) ** 2
        + ((place.rightward + 17.0) / 27.0) ** 2
        + (place.aside / 30.0) ** 2
    )
    left = (reach - 1) * 27.0 * np.float32(chest.heart_scale)
    behind_valves = VALVES_MM - place.along
    ragged = 1.6 * near.patches
    for chamber, blood in (
        (np.maximum(left + LEFT_WALL_MM + ragged, behind_valves), enhancement.left_heart),
        (
            np.maximum(
                np.maximum(surface + RIGHT_WALL_MM + ragged, 1.5 - left),
                np.maximum(behind_valves, SEPTUM_MM - 4.0 - place.rightward),
            ),
            enhancement.right_heart,
        ),
        (np.maximum(surface + 3.0, 5.0 - behind_valves), enhancement.right_heart),
    ):
        fill(hu, chamber, BEATING_MM, blood)
    for groove_mm in (place.along - VALVES_MM, place.rightward - SEPTUM_MM):
        artery = np.maximum(np.abs(heart + 5.5) - 1.6, np.abs(groove_mm) - 1.6)
        fill(hu, artery, near.pixel_mm, enhancement.left_heart)


def draw_left_atrium(chest: Chest, plane: Plane, enhancement: Enhancement) -> None:
    wide, deep, high = LEFT_ATRIUM_MM
    height = (plane.z_mm - LEFT_ATRIUM_Z) / high
    middle = chest.spine_y - 42.0
    near = plane.box((-50.0, 54.0), (middle - 36.0, middle + 36.0))
    if abs(height) >= 1 or near is None:
        return
    size = float(np.sqrt(1 - height * height)) * chest.heart_scale
    down = near.surfaces.y - np.float32(middle)
    across = near.surfaces.x - 2.0
    veins = oval(across, down - 6.0, VEINS_MM[0], VEINS_MM[1] * size)
    atrium = join((oval(across, down, wide * size, deep * size), veins), 10.0)
    fill(near.hu, atrium, BEATING_MM, enhancement.left_heart)


FISSURE_HU = 80.0
"""How much denser than lung a fissure is, when it fills a voxel."""
COARSE_TEXTURE_HU = 11.0


def draw_slice(chest: Chest, plane: Plane, enhancement: Enhancement) -> None:
    """Draw one slice over an empty one, without tubes and nodules; lung comes over all else."""
    draw_wall(chest, plane, enhancement)
    draw_heart(chest, plane, enhancement)
    draw_left_atrium(chest, plane, enhancement)
    draw_abdomen(chest, plane, enhancement)
    for paint in (paint_sternum, paint_spine, paint_scapulae):
        paint(chest, plane)
    fill(plane.hu, plane.surfaces.pleura, plane.pixel_mm, _parenchyma(chest, plane))


def _parenchyma(chest: Chest, plane: Plane) -> Field:
    """Lung without visible vessels: denser at the back, uneven, with its fissures."""
    lung = plane.fine * np.float32(chest.texture_hu)
    lung += COARSE_TEXTURE_HU * plane.patches
    lung += chest.gravity_hu * (plane.y - chest.center_y) / 180.0 + chest.parenchyma_hu
    oblique, horizontal = fissure_surfaces(
        chest, plane.x, plane.y, np.asarray(plane.z_mm, dtype=np.float32)
    )
    line = np.maximum(1.2 - np.abs(oblique), 0)
    minor_line = np.maximum(1.2 - 0.8 * np.abs(horizontal), 0) * ((oblique > 0) & (plane.x < 0))
    lung += FISSURE_HU * np.maximum(line, minor_line)
    return lung
