"""Chest: one person's body as surfaces, each a signed distance in mm (negative inside).

Coordinates are the patient's (x to the left, y to the back, z to the head) with the origin at the
carina. Every function takes arrays that broadcast, so that a slice is drawn from one row of x, one
column of y and one z, and a nodule is placed by a list of points. Distances are exact in sign and
near the surface, and good to a few tens of percent far from it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from nodulebench.core.arrays import IntArray
from nodulebench.phantom.canvas import Field, bump

RIGHT, LEFT = -1, 1
"""A side is the sign of its x."""
SIDES = (RIGHT, LEFT)

SQUARENESS = 0.035
"""How far a section bulges between its axes: a cross-section of a chest is not quite an ellipse."""
LUNG_CENTER_X = 46.0
MEDIAL_HALF_WIDTH = 62.0
SPINE_HALF_WIDTH = 27.0
FRONT_NARROWING_MM = 16.0
HEART_CENTER = (22.0, -26.0, -66.0)
"""Of the ventricles of a heart of usual size."""
HEART_AXIS = (0.661, -0.421, -0.621)
"""From the atria to the apex."""


@dataclass(frozen=True, slots=True)
class Chest:
    """The sizes (mm) and densities (HU) in which people differ."""

    is_female: bool = False
    half_width: float = 134.0
    """Of the chest cavity, at its widest."""
    half_depth: float = 96.0
    apex_z: float = 120.0
    right_dome_z: float = -95.0
    left_dome_z: float = -107.0
    heart_scale: float = 1.0
    wall_mm: float = 24.0
    """Ribs and muscles around the cavity."""
    fat_mm: float = 14.0
    """Under the skin."""
    fissure_tilt: float = 1.1
    fissure_z: float = -32.0
    parenchyma_hu: float = -910.0
    gravity_hu: float = 45.0
    """How much denser the lung is at the back than at the front."""
    texture_hu: float = 28.0
    """How uneven lung is from one millimetre to the next."""
    blood_hu: float = 42.0
    """Of heart, great vessels and lung vessels; contrast medium raises it."""

    @property
    def center_y(self) -> float:
        return 5.0

    @property
    def spine_y(self) -> float:
        return self.center_y + self.half_depth - 38.0

    @property
    def is_enhanced(self) -> bool:
        return self.blood_hu > 100.0

    @property
    def lowest_z(self) -> float:
        return min(self.right_dome_z, self.left_dome_z) - 62.0


def random_chest(random: np.random.Generator) -> Chest:
    is_female = bool(random.random() < 0.5)
    size = float(np.clip(random.normal(0.88 if is_female else 0.95, 0.04), 0.8, 1.03))
    dome = -95.0 * size + float(random.uniform(-10, 10))
    has_contrast = random.random() < 0.35
    return Chest(
        is_female=is_female,
        half_width=133.0 * size * float(random.uniform(0.96, 1.04)),
        half_depth=95.0 * size * float(random.uniform(0.94, 1.06)),
        apex_z=118.0 * size,
        right_dome_z=dome,
        left_dome_z=dome - float(random.uniform(4, 18)),
        heart_scale=size * float(random.uniform(0.94, 1.06)),
        wall_mm=float(random.uniform(20, 26)) if is_female else float(random.uniform(23, 31)),
        fat_mm=float(random.uniform(10, 30)) if is_female else float(random.uniform(6, 24)),
        fissure_tilt=float(random.uniform(0.95, 1.25)),
        fissure_z=float(random.uniform(-40, -25)),
        parenchyma_hu=float(random.uniform(-945, -900)),
        gravity_hu=float(random.uniform(25, 60)),
        blood_hu=float(random.uniform(160, 290)) if has_contrast else float(random.uniform(36, 48)),
    )


def join(surfaces: Iterable[Field], rounding_mm: float) -> Field:
    """The union of surfaces, with its edges rounded."""

    def joined(first: Field, other: Field) -> Field:
        closeness = np.maximum(rounding_mm - np.abs(first - other), 0)
        smaller: Field = np.minimum(first, other) - closeness * closeness / (4 * rounding_mm)
        return smaller

    return reduce(joined, surfaces)


def oval(across: Field, down: Field, half_width: Field | float, half_depth: Field | float) -> Field:
    """Distance to a slightly squared ellipse around the origin."""
    squared = (across / half_width) ** 2, (down / half_depth) ** 2
    total = squared[0] + squared[1] + 1e-6
    reach = np.sqrt(total) * (1 - 4 * SQUARENESS * squared[0] * squared[1] / (total * total))
    distance: Field = np.sqrt(across * across + down * down + 1e-6) * (1 - 1 / reach)
    return distance


def oval_reach(angle: Field, half_width: Field | float, half_depth: Field | float) -> Field:
    """How far from its centre an :func:`oval` is in a direction (0: along x, in radians)."""
    squared = (np.cos(angle) / half_width) ** 2, (np.sin(angle) / half_depth) ** 2
    total = squared[0] + squared[1]
    squaring = 1 - 4 * SQUARENESS * squared[0] * squared[1] / (total * total)
    return 1 / (np.sqrt(total) * squaring)


def _either(is_first: Field, first: float, second: float) -> Field:
    return np.where(is_first, np.float32(first), np.float32(second))


def _costal_axes(chest: Chest, is_lateral: Field, z: Field) -> tuple[Field, Field, Field]:
    """Half width, half depth and y of the middle of one side's cavity."""
    # 1 around the carina, a little less at the waist, 0 at the apex
    height = np.clip((z - 10.0) / (chest.apex_z - 10.0), 0.0, 0.9999)
    waist = 1 - 0.05 * np.clip((-50.0 - z) / 110.0, 0, 1) ** 2
    width = waist * (1 - height**2.2) ** 0.6
    lateral = chest.half_width - LUNG_CENTER_X
    half_width = _either(is_lateral, lateral, MEDIAL_HALF_WIDTH) * width
    half_depth = chest.half_depth * (0.25 + 0.75 * width) * np.minimum(1, width * 2.5)
    return half_width, half_depth, chest.center_y + 14.0 * (1 - width)  # the apex is further back


def costal_surface(chest: Chest, x: Field, y: Field, z: Field, side: int) -> Field:
    """Distance to the ribs' inner side around one lung, which is open towards the diaphragm."""
    outward = side * x - LUNG_CENTER_X
    half_width, half_depth, middle = _costal_axes(chest, outward > 0, z)
    distance = oval(outward, y - middle, half_width, half_depth)
    # the chest is narrower in front
    front = np.clip((middle - y) / chest.half_depth, 0, 1)
    distance = distance + FRONT_NARROWING_MM * front * front * np.clip(outward / 60.0, 0, 1)
    return np.maximum(distance, z - chest.apex_z)


def costal_point(chest: Chest, angle: Field, z: Field, side: int, outside_mm: float) -> Field:
    """Points (n x 3) ``outside_mm`` from the ribs' inner side, seen from the middle of a lung.

    ``angle`` is 0 at the side, positive to the back and negative to the front, in radians.
    """
    half_width, half_depth, middle = _costal_axes(chest, np.cos(angle) > 0, z)
    reach = oval_reach(angle, half_width, half_depth)
    front = np.clip(-reach * np.sin(angle) / chest.half_depth, 0, 1)
    narrowing = FRONT_NARROWING_MM * front * front * np.clip(reach * np.cos(angle) / 60.0, 0, 1)
    reach = reach - narrowing + outside_mm
    x = side * (LUNG_CENTER_X + reach * np.cos(angle))
    y = middle + reach * np.sin(angle)
    return np.stack([x, y, z], axis=-1)


def cavity_surface(chest: Chest, x: Field, y: Field, z: Field) -> Field:
    return join((costal_surface(chest, x, y, z, side) for side in SIDES), 24.0)


def diaphragm_surface(chest: Chest, x: Field, y: Field, z: Field, side: int) -> Field:
    """Distance to one dome, which falls to a deep groove at the side and the back."""
    top = chest.right_dome_z if side == RIGHT else chest.left_dome_z
    scale = chest.half_width / 134.0
    outward = side * x - 62.0 * scale
    down = y - chest.center_y + 14.0
    across_drop = _either(outward > 0, 58.0, 12.0) * (outward / (76.0 * scale)) ** 2
    depth_drop = _either(down > 0, 72.0, 34.0) * (down / chest.half_depth) ** 2
    return 0.75 * (z - (top - across_drop - depth_drop))


def heart_surface(chest: Chest, x: Field, y: Field, z: Field) -> Field:
    """Distance to the heart in its fat: ventricles that point left and forward, right atrium."""
    scale = chest.heart_scale
    across, down, up = (
        at - middle * scale for at, middle in zip((x, y, z), HEART_CENTER, strict=True)
    )
    along = across * HEART_AXIS[0] + down * HEART_AXIS[1] + up * HEART_AXIS[2]
    square = across**2 + down**2 + up**2
    long, short = 64.0 * scale, 46.0 * scale
    reach = np.sqrt((square - along * along) / short**2 + along * along / long**2 + 1e-6)
    ventricles = (reach - 1) * short
    squared_mm2 = (x + 16.0 * scale) ** 2 + (y + 14.0 * scale) ** 2 + 0.7 * (z + 60.0 * scale) ** 2
    atrium = np.sqrt(squared_mm2) - 36.0 * scale
    return join((ventricles, atrium), 18.0)


def _midline(chest: Chest, y: Field) -> Field:
    """The x where the lungs meet: the left one gives way to the heart."""
    front = chest.center_y - chest.half_depth
    return 2.0 + 0.06 * np.clip(y - front, 0, chest.half_depth)


def _swelling(z: Field, middle: float, half_height: float) -> Field:
    """1 around a height, falling to nearly 0 above and below."""
    return np.exp(-(((z - middle) / half_height) ** 4)) + 0.02


def mediastinum_surface(chest: Chest, x: Field, y: Field, z: Field) -> Field:
    """Distance to everything between the lungs: heart, great vessels, fat, spine."""
    scale = chest.half_width / 134.0
    front = chest.center_y - chest.half_depth
    back = chest.spine_y
    spine = oval(x, y - back - 16.0, SPINE_HALF_WIDTH, 40.0)
    gutter = oval(x, y - back - 48.0, 56.0, 26.0)  # heads of the ribs and muscles next to them
    core = oval(x - 2.0, y - (back - 42.0 * scale), 21.0 * scale, 34.0 * scale)
    rising = _swelling(z, -30.0, 75.0)
    aorta = oval(x + 7.0, y - (back - 74.0 * scale), 21.0 * scale * rising, 22.0 * scale * rising)
    trunk = _swelling(z, -16.0, 26.0)
    artery = oval(x - 9.0, y - (back - 64.0 * scale), 30.0 * scale * trunk, 20.0 * scale * trunk)
    bend = _swelling(z, 30.0, 22.0)
    arch = oval(x - 9.0, y - (back - 44.0 * scale), 23.0 * scale * bend, 36.0 * scale * bend)
    cava = oval(x + 23.0, y - (back - 66.0), 12.0, 13.0)
    falling = oval(x - 20.0, y - (back - 20.0), 15.0, 16.0)
    falling = np.maximum(falling, z - 40.0)
    # thin layers of fat where the lungs meet behind the sternum
    thin = 3.0 + 16.0 * np.clip((front + 22.0 - y) / 22.0, 0, 1) ** 2
    junction = np.maximum(np.abs(x - _midline(chest, y)) - thin, y - chest.center_y)
    behind = np.maximum(np.abs(x - 4.0) - 11.0, np.abs(y - back + 28.0) - 30.0)
    bones, heart = join((spine, gutter), 22.0), heart_surface(chest, x, y, z)
    vessels = (aorta, artery, arch, cava, falling)
    return join((bones, core, *vessels, junction, behind, heart), 9.0)


def lung_surface(
    chest: Chest, x: Field, y: Field, z: Field, side: int, mediastinum: Field | None = None
) -> Field:
    """Distance to the pleura of one lung; ``mediastinum`` may be given where it is known."""
    between = mediastinum_surface(chest, x, y, z) if mediastinum is None else mediastinum
    outside = costal_surface(chest, x, y, z, side)
    below = -diaphragm_surface(chest, x, y, z, side)
    beyond = -side * (x - _midline(chest, y))
    return -join([-outside, -below, -np.maximum(-between, beyond)], 6.0)


def lobe_of(chest: Chest, point: Field, side: int) -> IntArray:
    """0: lower lobe, 1: upper lobe, 2: middle lobe (right side only), for points n x 3."""
    oblique, horizontal = fissure_surfaces(chest, point[:, 0], point[:, 1], point[:, 2])
    lobe = np.where(oblique < 0, 0, 1)
    return np.where((lobe == 1) & (side == RIGHT) & (horizontal < 0), 2, lobe)


def fissure_surfaces(chest: Chest, x: Field, y: Field, z: Field) -> tuple[Field, Field]:
    tilt = chest.fissure_tilt
    bend = 8.0 * np.cos(x / 40.0) + 0.0006 * (y - 20.0) ** 2 * 4
    oblique = (z - tilt * y - chest.fissure_z - bend) / np.hypot(1, tilt)
    horizontal = z + 16.0 - 0.002 * (np.abs(x) - 70.0) ** 2 * 2 + 0.12 * y
    return oblique, horizontal


RIB_CAGE_MM = 13.0
"""Ribs and the muscles between them."""
USUAL_WALL_MM = 25.0


def muscle_thickness(chest: Chest, x: Field, y: Field, z: Field) -> Field:
    """How many mm of muscle there are around the cavity: thin in front, thick next to the spine."""
    across = np.abs(x)
    depth = (y - chest.center_y) / chest.half_depth  # -1 in front, 1 at the back
    above = np.clip((z + 40.0) / 40.0, 0, 1)
    shoulder = np.maximum(0.0, (z - 35.0) / 60.0)
    pectoral = 15.0 * above * bump(across, 74.0, 36.0) * np.clip(-1.8 * depth - 0.3, 0, 1)
    lateral = 12.0 * bump(depth, 0.2, 0.45) * np.clip(across / 60.0, 0, 1)
    blade = 20.0 * above * bump(depth, 0.72, 0.32) * np.clip(across / 50.0 - 0.4, 0, 1)
    erector = 24.0 * bump(across, 25.0, 20.0) * np.clip(2 * depth - 0.8, 0, 1)
    neck = 52.0 * np.clip((z - chest.apex_z + 30.0) / 40.0, 0, 1) * bump(across, 0.0, 55.0)
    bulk = chest.wall_mm / USUAL_WALL_MM
    return (
        RIB_CAGE_MM
        + 2.0
        + neck
        + bulk * (pectoral + lateral + blade + erector)
        + shoulder * (8.0 + 56.0 * np.clip((across - 50.0) / 60.0, 0, 1))
    )


def skin_surface(chest: Chest, x: Field, y: Field, z: Field) -> Field:
    """Distance to the body's outline: wider at the shoulders, with breasts in women."""
    shoulder = np.clip((z - 10.0) / (chest.apex_z + 16.0), 0.0, 1.3) ** 1.5
    margin = chest.wall_mm + chest.fat_mm
    half_width = chest.half_width + margin + 62.0 * shoulder
    half_depth = chest.half_depth + 0.75 * margin + 4.0 - 26.0 * shoulder
    body = oval(x, y - chest.center_y - 2.0 - 12.0 * shoulder, half_width, half_depth)
    if not chest.is_female:
        return body
    swell = np.sqrt(np.maximum(0.01, 1 - ((z + 45.0) / 58.0) ** 2))
    front = chest.center_y - half_depth + 24.0
    breasts = [oval(x - side * 78.0, y - front, 52.0 * swell, 38.0 * swell) for side in SIDES]
    return join([body, *breasts], 24.0)


PARENCHYMA_HU = (-925.0, -785.0)
"""Of lungs after a deep breath, and of those after none; the medians that are measured in them lie
about 20 HU from that."""

AIRY_HU = -910.0

GRAVITY_PER_HU = 0.45
"""How much steeper density rises to the back for each HU that a lung is denser."""

LIFT_MM_PER_HU = 0.18
"""How much higher the diaphragm is, likewise."""

TEXTURE_HU = 24.0
"""How uneven lung is: less than where vessels are many and short."""


def random_breath(chest: Chest, random: np.random.Generator) -> Chest:
    """The chest after a deeper or a shallower breath: with less air, lungs are denser and lower."""
    parenchyma = float(random.uniform(*PARENCHYMA_HU))
    denser = max(0.0, parenchyma - AIRY_HU)
    lift = LIFT_MM_PER_HU * denser
    return replace(
        chest,
        parenchyma_hu=parenchyma,
        texture_hu=TEXTURE_HU,
        gravity_hu=chest.gravity_hu + GRAVITY_PER_HU * denser,
        right_dome_z=chest.right_dome_z + lift,
        left_dome_z=chest.left_dome_z + lift,
    )
