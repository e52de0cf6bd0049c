"""Chest -> its bones: ribs, clavicles and shoulders as tubes, spine and sternum by slice."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nodulebench.phantom.canvas import Field, fill
from nodulebench.phantom.chest import SIDES, Chest, costal_point, oval
from nodulebench.phantom.slice import Plane
from nodulebench.phantom.tubes import Tubes, path

CORTEX_HU = 780.0
MARROW_HU = 120.0
CARTILAGE_HU = 95.0
DISC_HU = 75.0
CORD_HU = 25.0
CORTEX_MM = 1.3
RIB_FLATTENING = (1.0, 1.0, 0.6)
"""A rib is taller than it is thick."""
RIB_RADIUS_MM = 4.3
RIB_OUTSIDE_MM = 6.5
RIB_STEP_MM = 24.0
TRABECULAE_HU = 75.0
"""How uneven marrow is, before the slice averages it."""
VERTEBRA_MM = 24.0
DISC_SHARE = 0.2
PLATE_SHARE = 0.06
PLATE_HU = 260.0
PEDICLE_PHASE = 0.5
"""From half of a vertebra upwards it has pedicles and transverse processes."""


@dataclass(frozen=True)
class Skeleton:
    """Bones as tubes."""

    ribs: Tubes
    cartilages: Tubes
    long_bones: Tubes


def build_skeleton(chest: Chest) -> Skeleton:
    ribs, cartilages, long_bones = [], [], []
    for side in SIDES:
        for number in range(12):
            bone, cartilage = _rib(chest, number, side)
            ribs.append(bone)
            if cartilage is not None:
                cartilages.append(cartilage)
        front = chest.center_y - chest.half_depth
        top = chest.apex_z
        clavicle = [
            (side * 18.0, front + 6.0, top - 30.0),
            (side * 70.0, front + 16.0, top - 6.0),
            (side * 150.0, front + 78.0, top + 14.0),
        ]
        long_bones.append(path(clavicle, 6.2, smoothness=2))
        shoulder = (side * (chest.half_width + 34.0), chest.center_y + 26.0, top + 8.0)
        beyond = (shoulder[0] + side * 8.0, shoulder[1] - 4.0, shoulder[2] + 60.0)
        long_bones.append(path([shoulder, beyond], [23.0, 14.0], smoothness=0))
    return Skeleton(Tubes.joined(*ribs), Tubes.joined(*cartilages), Tubes.joined(*long_bones))


def _rib(chest: Chest, number: int, side: int) -> tuple[Tubes, Tubes | None]:
    """One rib from the spine around the cavity, falling to the front; lower ones end earlier."""
    behind = chest.apex_z + 2.0 - RIB_STEP_MM * number * chest.apex_z / 118.0
    is_floating = number >= 10
    ending = -30.0 if is_floating else -78.0 + 2.0 * number
    angle = np.radians(np.linspace(112.0, ending, 26))
    progress = (angle[0] - angle) / (angle[0] - np.radians(-80.0))
    drop = (78.0 + 8.0 * min(number, 5)) * np.clip(progress, 0, 1) ** 1.15
    height = np.minimum(behind - drop, chest.apex_z - 1.0)
    points = costal_point(chest, angle, height, side, RIB_OUTSIDE_MM)
    points[:, 2] = behind - drop
    tube = path(points, RIB_RADIUS_MM, smoothness=0)
    if is_floating or number >= 9:
        return tube, None
    count = 4
    return tube.chosen(slice(None, -count)), tube.chosen(slice(-count, None))


def paint_spine(chest: Chest, plane: Plane) -> None:
    middle = chest.spine_y + 28.0
    near = plane.box((-58.0, 58.0), (middle - 70.0, middle + 70.0))
    if near is None:
        return
    part, pixel_mm, trabeculae = near.hu, near.pixel_mm, TRABECULAE_HU * near.fine
    across, down = _stiff(near)
    down = down - np.float32(chest.spine_y)
    z = plane.z_mm
    phase = ((z + 200.0) / VERTEBRA_MM) % 1.0
    is_disc = phase < DISC_SHARE
    waist = 1 - 0.10 * np.sin(np.pi * (phase - DISC_SHARE) / (1 - DISC_SHARE)) if not is_disc else 1
    body = oval(across, down, 17.5 * waist, 14.0 * waist)
    # plates of dense bone end each body
    is_end = phase < DISC_SHARE + PLATE_SHARE or phase > 1 - PLATE_SHARE
    marrow = trabeculae + (MARROW_HU + (PLATE_HU if is_end else 60.0))
    arch = _arch(np.abs(across), down, phase)
    if is_disc:
        _shell(part, body, pixel_mm, CORTEX_HU * 0.2, DISC_HU, CORTEX_MM)
    else:
        arch = np.minimum(arch, body)
    _shell(part, arch, pixel_mm, CORTEX_HU * 0.8, marrow, CORTEX_MM)
    canal = oval(across, down - 22.0, 9.5, 8.0)
    fill(part, canal, pixel_mm, -20.0)
    fill(part, canal + 2.2, pixel_mm, CORD_HU)


def _arch(across: Field, down: Field, phase: float) -> Field:
    """Distance to the arch of a vertebra: laminae, spinous process, and by height the others."""
    parts = [
        _segment(across, down, (13.5, 20.0), (1.0, 34.0), 3.6),
        _segment(across, down, (0.0, 33.0), (0.0, 40.0 + 14.0 * phase), 2.8),
    ]
    if phase > PEDICLE_PHASE:
        parts.append(_segment(across, down, (12.0, 8.0), (13.5, 22.0), 4.0))
        parts.append(_segment(across, down, (14.0, 22.0), (32.0, 35.0), 4.4))
    nearest: Field = np.minimum.reduce(parts)
    return nearest


def _stiff(plane: Plane) -> tuple[Field, Field]:
    """The position of each pixel's bone in the plain body: bones bend half as much as tissue."""
    return (plane.x + plane.surfaces.x) / 2, (plane.y + plane.surfaces.y) / 2


def paint_sternum(chest: Chest, plane: Plane) -> None:
    z = plane.z_mm
    top, bottom = chest.apex_z - 34.0, -110.0
    center = chest.center_y - chest.half_depth - 2.0 + 0.18 * max(0.0, z)
    near = plane.box((-48.0, 48.0), (center - 20.0, center + 20.0))
    if near is None or not bottom < z < top:
        return
    across, down = _stiff(near)
    wide = 15.0 + 13.0 * np.clip((z - 25.0) / 30.0, 0, 1)
    bone = oval(across, down - np.float32(center), wide, 6.5)
    marrow = MARROW_HU - 40 + TRABECULAE_HU * near.fine
    _shell(near.hu, bone, near.pixel_mm, CORTEX_HU * 0.7, marrow, 1.1)


def paint_scapulae(chest: Chest, plane: Plane) -> None:
    """Draw the shoulder blades of one slice: a bent plate behind the ribs with its spine."""
    z = plane.z_mm
    top, bottom = chest.apex_z + 6.0, -25.0
    if not bottom < z < top:
        return
    share = (z - bottom) / (top - bottom)
    angle = np.radians(np.linspace(62.0 - 8 * share, 40.0 - 32.0 * share, 7))
    level = np.full(7, min(z, chest.apex_z - 45.0))
    for side in SIDES:
        line = costal_point(chest, angle, level, side, 19.0 + 4.0 * share)[:, :2]
        low, high = line.min(axis=0) - 24.0, line.max(axis=0) + 24.0
        near = plane.box((low[0], high[0]), (low[1], high[1]))
        if near is None:
            continue
        across, down = near.x, near.y
        plate = np.minimum.reduce(
            [_segment(across, down, tuple(a), tuple(b), 2.2) for a, b in pairwise(line)]
        )
        if share > 0.55:
            tip = line[4] + np.array([side * 14.0, 30.0 * (share - 0.3)])
            ridge = _segment(across, down, tuple(line[4]), tuple(tip), 2.4)
            joint = _segment(across, down, tuple(line[-1]), tuple(line[-1]), 7.5)
            plate = np.minimum(plate, np.minimum(ridge, joint))
        marrow = MARROW_HU + 60 + TRABECULAE_HU * near.fine
        _shell(near.hu, plate, plane.pixel_mm, CORTEX_HU, marrow, 1.1)


def _segment(
    x: Field, y: Field, start: tuple[float, ...], end: tuple[float, ...], radius: float
) -> Field:
    ax, ay = np.float32(end[0] - start[0]), np.float32(end[1] - start[1])
    px, py = x - np.float32(start[0]), y - np.float32(start[1])
    place = np.clip((px * ax + py * ay) / max(ax * ax + ay * ay, np.float32(1e-6)), 0, 1)
    square = (px - place * ax) ** 2 + (py - place * ay) ** 2
    return np.sqrt(square) - np.float32(radius)


def _shell(
    hu: Field,
    distance: Field,
    pixel_mm: float,
    cortex_hu: float,
    marrow_hu: float | Field,
    cortex_mm: float,
) -> None:
    fill(hu, distance, pixel_mm, cortex_hu)
    fill(hu, distance + np.float32(cortex_mm), pixel_mm, marrow_hu)
