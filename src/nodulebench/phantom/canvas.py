"""Canvas: the volume that a phantom is drawn on, finer along z than the slices made of it."""

from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray, IntArray

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
    """Draw the inside of a surface; a pixel on its edge becomes a mixture."""
    cover = distance * (-1 / pixel_mm)
    cover += np.float32(0.5)
    np.clip(cover, 0, 1, out=cover)
    cover *= value - hu
    hu += cover


BLOCK = 128
"""Voxels along a side of the block; it repeats after ``BLOCK`` times its step."""


@dataclass(frozen=True)
class Texture:
    """A stationary random field of mean 0 and standard deviation 1."""

    values: Field
    step_mm: float

    def on_slice(self, x_mm: FloatArray, y_mm: FloatArray, z_mm: float) -> Field:
        """The field on a slice (rows y, columns x), by linear interpolation."""
        low, share = self._place(np.array([z_mm]))
        plane = _blend(self.values, low, share)[0]
        rows = _blend(plane.T, *self._place(x_mm)).T
        return _blend(np.ascontiguousarray(rows), *self._place(y_mm))

    def at(self, point_mm: FloatArray) -> FloatArray:
        """The field at points (n x 3; x, y, z), by linear interpolation."""
        place = point_mm[:, ::-1] / self.step_mm
        low = np.floor(place).astype(np.int64)
        rest = place - low
        total = np.zeros(len(place))
        for corner in product((0, 1), repeat=3):
            weight = np.prod(np.where(corner, rest, 1 - rest), axis=1)
            total += weight * self.values[tuple(((low + corner) % BLOCK).T)]
        return total

    def _place(self, at_mm: FloatArray) -> tuple[IntArray, Field]:
        """The voxel of the block below each position, and how far towards the next it is."""
        place = at_mm / self.step_mm
        low = np.floor(place)
        return low.astype(np.int64), (place - low).astype(np.float32)


def _blend(values: Field, low: IntArray, share: Field) -> Field:
    """Linear interpolation along the first axis of a periodic array."""
    weight = share.reshape(-1, *(1,) * (values.ndim - 1))
    here, there = values.take(low % BLOCK, axis=0), values.take((low + 1) % BLOCK, axis=0)
    there -= here
    there *= weight
    here += there
    return here


def random_texture(
    random: np.random.Generator, step_mm: float, grain_mm: float, *, roughness: float = 0.0
) -> Texture:
    """Noise whose correlation falls off over ``grain_mm``, the width of a smoothing Gaussian.

    ``roughness``: share (0 to 1) of the field's spectrum that falls slowly, as a power law.
    """
    from scipy import fft

    noise = random.standard_normal((BLOCK, BLOCK, BLOCK), dtype=np.float32)
    whole = fft.fftfreq(BLOCK, step_mm).astype(np.float32)
    half = fft.rfftfreq(BLOCK, step_mm).astype(np.float32)
    square = whole[:, None, None] ** 2 + whole[None, :, None] ** 2 + half[None, None, :] ** 2
    scaled = square * np.float32((2 * np.pi * grain_mm) ** 2)
    transfer = (1 - roughness) * np.exp(-scaled / 2) + roughness / (1 + scaled)
    field = fft.irfftn(fft.rfftn(noise) * transfer, s=noise.shape)
    field = (field - field.mean()) / field.std()
    return Texture(field.astype(np.float32), step_mm)
