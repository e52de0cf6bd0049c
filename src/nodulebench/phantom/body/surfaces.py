"""Chest -> the distances to its surfaces on slices, exact every few mm and interpolated between.

Distances change slowly along z, so a straight line between two exact slices is as good and costs a
tenth.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.phantom.body.bend import Bend
from nodulebench.phantom.body.chest import (
    LEFT,
    RIGHT,
    SIDES,
    Chest,
    cavity_surface,
    diaphragm_surface,
    heart_surface,
    lung_surface,
    mediastinum_surface,
)
from nodulebench.phantom.body.skin import muscle_thickness, skin_surface
from nodulebench.phantom.canvas import Field

KEY_MM = 6.0


class Surfaces(NamedTuple):
    """Signed distances in mm on one slice, negative inside."""

    skin: Field
    cavity: Field
    heart: Field
    right_dome: Field
    left_dome: Field
    pleura: Field
    muscle_mm: Field
    """How thick muscle is around the cavity: no distance."""
    x: Field
    """Where the tissue of a pixel lies in the plain body, see ``bend``."""
    y: Field


def surfaces_at(chest: Chest, bend: Bend, x: Field, y: Field, z_mm: float) -> Surfaces:
    """The exact distances at one height: to the pleura as it is, to all else in bent tissue."""
    z = np.asarray(z_mm, dtype=np.float32)
    between = mediastinum_surface(chest, x, y, z)
    pleura = np.minimum(*(lung_surface(chest, x, y, z, side, between) for side in SIDES))
    bent_x, bent_y = bend.on_slice(x, y, z_mm, pleura)
    return Surfaces(
        skin=skin_surface(chest, bent_x, bent_y, z),
        cavity=cavity_surface(chest, bent_x, bent_y, z),
        heart=heart_surface(chest, bent_x, bent_y, z),
        right_dome=diaphragm_surface(chest, bent_x, bent_y, z, RIGHT),
        left_dome=diaphragm_surface(chest, bent_x, bent_y, z, LEFT),
        pleura=pleura,
        muscle_mm=muscle_thickness(chest, bent_x, bent_y, z),
        x=bent_x,
        y=bent_y,
    )


def surfaces_along(
    chest: Chest, bend: Bend, x: Field, y: Field, z_mm: FloatArray
) -> Iterator[Surfaces]:
    """The distances on slices at rising heights."""
    exact: dict[int, Surfaces] = {}
    for z in z_mm.tolist():
        below = int(np.floor(z / KEY_MM))
        above = below + 1
        exact = {
            key: exact[key] if key in exact else surfaces_at(chest, bend, x, y, key * KEY_MM)
            for key in (below, above)
        }
        share = np.float32(z / KEY_MM - below)
        yield Surfaces(
            *(
                low + share * (high - low)
                for low, high in zip(exact[below], exact[above], strict=True)
            )
        )
