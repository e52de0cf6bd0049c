"""Chest -> the distances to its surfaces on slices, exact every few mm and interpolated between.

Distances change slowly along z, so a straight line between two exact slices is as good and costs a
tenth.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nodulebench.phantom.chest import (
    LEFT,
    RIGHT,
    SIDES,
    Chest,
    cavity_surface,
    diaphragm_surface,
    heart_surface,
    lung_surface,
    mediastinum_surface,
    skin_surface,
)
from nodulebench.phantom.grid import Field

KEY_MM = 6.0


class Surfaces(NamedTuple):
    """Signed distances in mm on one slice, negative inside."""

    skin: Field
    cavity: Field
    heart: Field
    right_dome: Field
    left_dome: Field
    pleura: Field


def surfaces_at(chest: Chest, x: Field, y: Field, z_mm: float) -> Surfaces:
    """The exact distances at one height."""
    z = np.asarray(z_mm, dtype=np.float32)
    between = mediastinum_surface(chest, x, y, z)
    lungs = [lung_surface(chest, x, y, z, side, between) for side in SIDES]
    return Surfaces(
        skin=skin_surface(chest, x, y, z),
        cavity=cavity_surface(chest, x, y, z),
        heart=heart_surface(chest, x, y, z),
        right_dome=diaphragm_surface(chest, x, y, z, RIGHT),
        left_dome=diaphragm_surface(chest, x, y, z, LEFT),
        pleura=np.minimum(*lungs),
    )


def surfaces_along(
    chest: Chest, x: Field, y: Field, z_mm: npt.NDArray[np.float64]
) -> Iterator[Surfaces]:
    """The distances on slices at rising heights."""
    exact: dict[int, Surfaces] = {}
    for z in z_mm.tolist():
        below = int(np.floor(z / KEY_MM))
        above = below + 1
        exact = {
            key: exact[key] if key in exact else surfaces_at(chest, x, y, key * KEY_MM)
            for key in (below, above)
        }
        share = np.float32(z / KEY_MM - below)
        yield Surfaces(
            *(
                low + share * (high - low)
                for low, high in zip(exact[below], exact[above], strict=True)
            )
        )
