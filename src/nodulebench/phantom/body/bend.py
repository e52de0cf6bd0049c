"""Chest -> shifts in mm that make its soft tissue irregular and vanish in and at the lungs.

Without them everything would be as symmetric and as round as the formulas it is drawn by. Lungs,
their surface and so the truth of nodules stay where they are.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.phantom.body.chest import SIDES, Chest, lung_surface
from nodulebench.phantom.canvas import Field
from nodulebench.phantom.texture import Texture, random_texture
from nodulebench.phantom.tubes import Tubes

BEND_MM = 7.0
"""Standard deviation of a shift where nothing holds the tissue."""
LARGEST_BENDS = 1.8
"""No shift is longer than so many standard deviations: the skin stays above the table."""
GRAIN_MM = 32.0
"""Over which shifts change: the size of a chamber of the heart, or of a muscle."""
HELD_MM, LOOSE_MM = 2.0, 32.0
"""Nothing moves so near to the pleura, and everything is free so far from it."""
APART_MM = 400.0
"""Shifts along x and y are taken so far apart from one field, which makes them independent."""


@dataclass(frozen=True)
class Bend:
    """The shifts of one person."""

    texture: Texture

    def on_slice(self, x: Field, y: Field, z_mm: float, pleura: Field) -> tuple[Field, Field]:
        """Where in the plain body the tissue of each pixel comes from: its x and y."""
        loose = looseness(pleura) * np.float32(BEND_MM)
        row, column = x[0].astype(np.float64), y[:, 0].astype(np.float64)
        along_x, along_y = (
            _limited(self.texture.on_slice(row + apart, column, z_mm)) for apart in (0.0, APART_MM)
        )
        return x + loose * along_x, y + loose * along_y

    def bent(self, chest: Chest, tubes: Tubes) -> Tubes:
        """Tubes shifted with the tissue around them, as far as the pleura leaves them room."""
        pieces = tubes.cut()
        return Tubes(
            self._shifted(chest, pieces.start, pieces.start_radius),
            self._shifted(chest, pieces.end, pieces.end_radius),
            pieces.start_radius,
            pieces.end_radius,
        )

    def _shifted(self, chest: Chest, point: FloatArray, radius: FloatArray) -> FloatArray:
        x, y, z = point.T
        pleura = np.minimum(*(lung_surface(chest, x, y, z, side) for side in SIDES))
        loose = looseness(pleura - radius) * BEND_MM
        shifted = point.copy()
        for axis, apart in ((0, 0.0), (1, APART_MM)):
            values = self.texture.at(point + np.array([apart, 0.0, 0.0]))
            shifted[:, axis] -= loose * _limited(values)
        return shifted


def _limited(values: Field) -> Field:
    """Values that approach ``LARGEST_BENDS`` smoothly: a cut would leave corners in the skin."""
    return values / np.sqrt(1 + (values / np.float32(LARGEST_BENDS)) ** 2)


def looseness(pleura: Field) -> Field:
    """How free tissue is to move, by its distance to the pleura: 0 in and at a lung, 1 far away."""
    return np.clip((pleura - HELD_MM) / (LOOSE_MM - HELD_MM), 0, 1)


def random_bend(random: np.random.Generator) -> Bend:
    """The shifts of another person."""
    return Bend(random_texture(random, 8.0, GRAIN_MM))
