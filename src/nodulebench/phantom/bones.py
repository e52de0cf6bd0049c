"""Chest -> its bones: ribs, clavicles and shoulders as tubes, spine and sternum by slice."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nodulebench.phantom.chest import SIDES, Chest, costal_point, oval
from nodulebench.phantom.grid import Field, fill
from nodulebench.phantom.tubes import Tubes, join_tubes, path

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
VERTEBRA_MM = 24.0
DISC_SHARE = 0.2


@dataclass(frozen=True)
class Skeleton:
    """Bones as tubes."""

    ribs: Tubes
    cartilages: Tubes
    long_bones: Tubes


def build_skeleton(chest: Chest) -> Skeleton:
    """Ribs with their cartilages, clavicles and the heads of the arm bones."""
    ribs, cartilages, long_bones = [], [], []
    for side in SIDES:
        for number in range(12):
            bone, cartilage = _rib(chest, number, side)
            ribs.append(bone)
            if cartilage is not None:
                cartilages.append(cartilage)
        front = chest.center_y - chest.half_depth
        top = chest.apex_z
        long_bones.append(
            path(
                [
                    (side * 18.0, front + 6.0, top - 30.0),
                    (side * 70.0, front + 16.0, top - 6.0),
                    (side * 150.0, front + 78.0, top + 14.0),
                ],
                6.2,
                smoothness=2,
            )
        )
        shoulder = (side * (chest.half_width + 34.0), chest.center_y + 26.0, top + 8.0)
        beyond = (shoulder[0] + side * 8.0, shoulder[1] - 4.0, shoulder[2] + 60.0)
        long_bones.append(path([shoulder, beyond], [23.0, 14.0], smoothness=0))
    return Skeleton(join_tubes(*ribs), join_tubes(*cartilages), join_tubes(*long_bones))


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
    bone = Tubes(*(values[:-count] for values in _parts(tube)))
    cartilage = Tubes(*(values[-count:] for values in _parts(tube)))
    return bone, cartilage


def _parts(tube: Tubes) -> tuple[npt.NDArray[np.float64], ...]:
    return tube.start, tube.end, tube.start_radius, tube.end_radius


def paint_spine(
    chest: Chest,
    hu: Field,
    x: Field,
    y: Field,
    z: float,
    pixel_mm: float,
) -> None:
    """Draw the vertebra or disc of one slice: body, arch, processes and canal."""
    columns = np.flatnonzero(np.abs(x[0]) < 52.0)
    rows = np.flatnonzero(np.abs(y[:, 0] - chest.spine_y - 28.0) < 64.0)
    if not len(columns) or not len(rows):
        return
    part = hu[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    across = x[:, columns[0] : columns[-1] + 1]
    down = y[rows[0] : rows[-1] + 1] - np.float32(chest.spine_y)
    phase = ((z + 200.0) / VERTEBRA_MM) % 1.0
    is_disc = phase < DISC_SHARE
    waist = 1 - 0.10 * np.sin(np.pi * (phase - DISC_SHARE) / (1 - DISC_SHARE)) if not is_disc else 1
    body = oval(across, down, 17.5 * waist, 14.0 * waist)
    edge_hu = CORTEX_HU * (0.25 if is_disc else 0.75)
    _shell(part, body, pixel_mm, edge_hu, DISC_HU if is_disc else MARROW_HU + 20, CORTEX_MM)
    if not is_disc:
        arch = np.maximum(
            oval(across, down - 22.0, 17.0, 13.0), -oval(across, down - 22.0, 11.5, 8.5)
        )
        _shell(part, arch, pixel_mm, CORTEX_HU * 0.8, MARROW_HU + 80, CORTEX_MM)
        if phase > 0.45:
            process = _segment(np.abs(across), down, (12.0, 26.0), (31.0, 34.0), 4.2)
            _shell(part, process, pixel_mm, CORTEX_HU * 0.9, MARROW_HU + 60, CORTEX_MM)
    spinous = _segment(across, down, (0.0, 33.0), (0.0, 42.0 + 12.0 * phase), 2.6)
    _shell(part, spinous, pixel_mm, CORTEX_HU * 0.9, MARROW_HU + 60, CORTEX_MM)
    fill(part, oval(across, down - 22.0, 10.0, 8.0), pixel_mm, -20.0)
    fill(part, oval(across, down - 22.0, 7.5, 6.0), pixel_mm, CORD_HU)


def paint_sternum(
    chest: Chest,
    hu: Field,
    x: Field,
    y: Field,
    z: float,
    pixel_mm: float,
) -> None:
    """Draw the breastbone of one slice."""
    top, bottom = chest.apex_z - 34.0, -110.0
    if not bottom < z < top:
        return
    columns = np.flatnonzero(np.abs(x[0]) < 45.0)
    front = chest.center_y - chest.half_depth
    slant = 0.18 * max(0.0, z)
    center = front - 2.0 + slant
    rows = np.flatnonzero(np.abs(y[:, 0] - center) < 16.0)
    if not len(columns) or not len(rows):
        return
    part = hu[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    across = x[:, columns[0] : columns[-1] + 1]
    down = y[rows[0] : rows[-1] + 1] - np.float32(center)
    wide = 15.0 + 13.0 * np.clip((z - 25.0) / 30.0, 0, 1)
    _shell(part, oval(across, down, wide, 6.5), pixel_mm, CORTEX_HU * 0.7, MARROW_HU - 40, 1.1)


def paint_scapulae(
    chest: Chest,
    hu: Field,
    x: Field,
    y: Field,
    z: float,
    pixel_mm: float,
) -> None:
    """Draw the shoulder blades of one slice: a bent plate behind the ribs with its spine."""
    top, bottom = chest.apex_z + 6.0, -25.0
    if not bottom < z < top:
        return
    share = (z - bottom) / (top - bottom)
    angle = np.radians(np.linspace(62.0 - 8 * share, 40.0 - 32.0 * share, 7))
    level = np.full(7, min(z, chest.apex_z - 45.0))
    for side in SIDES:
        line = costal_point(chest, angle, level, side, 19.0 + 4.0 * share)[:, :2]
        near = _near(x, y, line, 24.0)
        if near is None:
            continue
        rows, columns = near
        across, down = x[:, columns], y[rows]
        plate = np.minimum.reduce(
            [_segment(across, down, tuple(a), tuple(b), 2.2) for a, b in pairwise(line)]
        )
        if share > 0.55:
            tip = line[4] + np.array([side * 14.0, 30.0 * (share - 0.3)])
            ridge = _segment(across, down, tuple(line[4]), tuple(tip), 2.4)
            joint = _segment(across, down, tuple(line[-1]), tuple(line[-1]), 7.5)
            plate = np.minimum(plate, np.minimum(ridge, joint))
        _shell(hu[rows, columns], plate, pixel_mm, CORTEX_HU, MARROW_HU + 60, 1.1)


def _near(
    x: Field,
    y: Field,
    line: npt.NDArray[np.float64],
    margin_mm: float,
) -> tuple[slice, slice] | None:
    """Rows and columns of a slice around a line; None where it lies outside."""
    ranges = []
    for axis, values in ((y[:, 0], line[:, 1]), (x[0], line[:, 0])):
        is_near = (axis > values.min() - margin_mm) & (axis < values.max() + margin_mm)
        places = np.flatnonzero(is_near)
        if not len(places):
            return None
        ranges.append(slice(int(places[0]), int(places[-1]) + 1))
    return ranges[0], ranges[1]


def _segment(
    x: Field,
    y: Field,
    start: tuple[float, ...],
    end: tuple[float, ...],
    radius: float,
) -> Field:
    """Distance to a rounded line in the plane."""
    ax, ay = np.float32(end[0] - start[0]), np.float32(end[1] - start[1])
    px, py = x - np.float32(start[0]), y - np.float32(start[1])
    place = np.clip((px * ax + py * ay) / max(ax * ax + ay * ay, np.float32(1e-6)), 0, 1)
    square = (px - place * ax) ** 2 + (py - place * ay) ** 2
    distance: Field = np.sqrt(square) - np.float32(radius)
    return distance


def _shell(
    hu: Field,
    distance: Field,
    pixel_mm: float,
    cortex_hu: float,
    marrow_hu: float,
    cortex_mm: float,
) -> None:
    fill(hu, distance, pixel_mm, cortex_hu)
    fill(hu, distance + np.float32(cortex_mm), pixel_mm, marrow_hu)
