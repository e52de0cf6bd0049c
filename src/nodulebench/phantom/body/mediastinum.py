"""Chest -> the heart on slices: fat in its grooves, muscle, four chambers, coronary arteries."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nodulebench.phantom.body.chest import HEART_AXIS, HEART_CENTER, Chest, join, oval
from nodulebench.phantom.body.enhancement import Enhancement
from nodulebench.phantom.body.slice import Plane
from nodulebench.phantom.canvas import Field, bump, fill

TOWARDS_RIGHT_VENTRICLE = (-0.504, -0.863, 0.049)
"""At right angles to the heart's axis: the right ventricle lies in front of the left one."""
BEATING_MM = 3.0
"""Edges of the heart are as soft as its motion makes them."""
PERICARDIUM_HU = -5.0
VALVES_MM = -12.0
"""Where the valves lie along the heart's axis; atria before it, ventricles behind."""
SEPTUM_MM = -5.0
"""Where the groove between the ventricles lies, towards the right one."""
LEFT_WALL_MM, RIGHT_WALL_MM = 9.5, 3.5
LEFT_ATRIUM_Z = -46.0
LEFT_ATRIUM_MM = (28.0, 19.0, 25.0)
VEINS_MM = (44.0, 8.0)
"""Veins of both lungs where they enter it."""


class HeartPlace(NamedTuple):
    """Where pixels lie in a heart of usual size: along its axis, towards the right ventricle."""

    along: Field
    rightward: Field
    aside: Field


def heart_place(chest: Chest, x: Field, y: Field, z_mm: float) -> HeartPlace:
    """Coordinates in mm that turn and scale with the heart."""
    scale = chest.heart_scale
    middle = np.array(HEART_CENTER) * scale
    third = np.cross(HEART_AXIS, TOWARDS_RIGHT_VENTRICLE)
    across, down = x - np.float32(middle[0]), y - np.float32(middle[1])
    up = np.float32(z_mm - middle[2])

    def towards(axis: Sequence[float]) -> Field:
        share = [np.float32(part / scale) for part in axis]
        return across * share[0] + down * share[1] + up * share[2]

    return HeartPlace(
        towards(HEART_AXIS), towards(TOWARDS_RIGHT_VENTRICLE), towards(third.tolist())
    )


def draw_heart(chest: Chest, plane: Plane, enhancement: Enhancement) -> None:
    """Fat, pericardium, muscle and chambers; without contrast medium blood looks like muscle."""
    near = plane.around(plane.surfaces.heart, 2.0)
    if near is None:
        return
    hu, heart = near.hu, near.surfaces.heart
    place = heart_place(chest, near.surfaces.x, near.surfaces.y, near.z_mm)
    groove = 8.0 * bump(place.along, VALVES_MM, 5.0) + 7.0 * bump(place.rightward, SEPTUM_MM, 5.0)
    fat_mm = 1.5 + 2.2 * np.clip(near.patches + 0.4 + near.waves, 0, 3) + groove
    fill(hu, np.abs(heart + 1.2) - 0.6, near.pixel_mm, PERICARDIUM_HU)
    surface = heart + fat_mm
    fill(hu, surface, BEATING_MM, enhancement.heart_muscle)
    left = _left_ventricle(place) * np.float32(chest.heart_scale)
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
    """The chamber between heart and spine, which the veins of the lungs enter."""
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


def _left_ventricle(place: HeartPlace) -> Field:
    """Distance to the left ventricle with its muscle, an egg that points to the apex."""
    reach = np.sqrt(
        ((place.along - 8.0) / 47.0) ** 2
        + ((place.rightward + 17.0) / 27.0) ** 2
        + (place.aside / 30.0) ** 2
    )
    return (reach - 1) * 27.0
