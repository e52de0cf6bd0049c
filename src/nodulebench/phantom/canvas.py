"""Canvas: the volume that a phantom is drawn on, finer along z than the slices made of it."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray

Field: TypeAlias = npt.NDArray[Any]
"""Numbers that are drawn with: HU, coordinates or distances in mm; float32 on slices."""

Part: TypeAlias = tuple[Field, Field, Field, Field]
"""A view into the canvas and the x, y, z of its voxels, ready to broadcast."""


@dataclass(frozen=True)
class Canvas:
    """HU on a regular grid with axes z, y, x."""

    hu: Field
    x_mm: Field
    y_mm: Field
    z_mm: Field

    @property
    def voxel_mm(self) -> float:
        """The usual size of a voxel, over which edges are softened."""
        return float(np.prod(self.steps_mm) ** (1 / 3))

    @property
    def steps_mm(self) -> tuple[float, float, float]:
        """Voxel size along z, y, x."""
        return _step(self.z_mm), _step(self.y_mm), _step(self.x_mm)

    def box(self, low_mm: FloatArray, high_mm: FloatArray) -> Part | None:
        """The part of the canvas between two corners (x, y, z); None where it is empty."""
        ranges = []
        for axis, low, high in zip((self.x_mm, self.y_mm, self.z_mm), low_mm, high_mm, strict=True):
            step = _step(axis)
            first = max(0, int(np.ceil((low - axis[0]) / step)))
            last = min(len(axis) - 1, int(np.floor((high - axis[0]) / step)))
            if first > last:
                return None
            ranges.append(slice(first, last + 1))
        along_x, along_y, along_z = ranges
        return (
            self.hu[along_z, along_y, along_x],
            self.x_mm[along_x].astype(np.float32)[None, None, :],
            self.y_mm[along_y].astype(np.float32)[None, :, None],
            self.z_mm[along_z].astype(np.float32)[:, None, None],
        )


def _step(axis: FloatArray) -> float:
    return float(axis[1] - axis[0]) if len(axis) > 1 else 1.0


def bump(at: Field, middle: float, half_width: float) -> Field:
    """1 in the middle, falling off to either side as a Gaussian does."""
    return np.exp(-(((at - middle) / np.float32(half_width)) ** 2))


def fill(hu: Field, distance: Field, pixel_mm: float, value: float | Field) -> None:
    """Draw what lies within a surface; a pixel on its edge becomes a mixture."""
    cover = distance * (-1 / pixel_mm)
    cover += np.float32(0.5)
    np.clip(cover, 0, 1, out=cover)
    cover *= value - hu
    hu += cover
