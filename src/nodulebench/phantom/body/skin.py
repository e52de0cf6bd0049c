"""Chest -> what lies around its cavity: how thick muscle is, and where the skin."""

import numpy as np

from nodulebench.phantom.body.chest import SIDES, Chest, join, oval
from nodulebench.phantom.canvas import Field, bump

RIB_CAGE_MM = 13.0
"""Ribs and the muscles between them."""
USUAL_WALL_MM = 25.0


def muscle_thickness(chest: Chest, x: Field, y: Field, z: Field) -> Field:
    """How many mm of muscle lie around the cavity: thin in front, thick beside the spine."""
    beside = np.abs(x)
    depth = (y - chest.center_y) / chest.half_depth  # -1 in front, 1 at the back
    above = np.clip((z + 40.0) / 40.0, 0, 1)
    shoulder = np.maximum(0.0, (z - 35.0) / 60.0)
    pectoral = 15.0 * above * bump(beside, 74.0, 36.0) * np.clip(-1.8 * depth - 0.3, 0, 1)
    lateral = 12.0 * bump(depth, 0.2, 0.45) * np.clip(beside / 60.0, 0, 1)
    blade = 20.0 * above * bump(depth, 0.72, 0.32) * np.clip(beside / 50.0 - 0.4, 0, 1)
    erector = 24.0 * bump(beside, 25.0, 20.0) * np.clip(2 * depth - 0.8, 0, 1)
    neck = 52.0 * np.clip((z - chest.apex_z + 30.0) / 40.0, 0, 1) * bump(beside, 0.0, 55.0)
    bulk = chest.wall_mm / USUAL_WALL_MM
    return (
        RIB_CAGE_MM
        + 2.0
        + neck
        + bulk * (pectoral + lateral + blade + erector)
        + shoulder * (8.0 + 56.0 * np.clip((beside - 50.0) / 60.0, 0, 1))
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
