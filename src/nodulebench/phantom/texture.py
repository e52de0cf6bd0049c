"""Random fields in millimetres: a periodic block of correlated noise, sampled anywhere."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.phantom.canvas import Field

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
        """The voxel of the block below each place, and how far towards the next it lies."""
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
    """Noise whose correlation falls off over ``grain_mm``.

    Args:
        random: where the noise comes from.
        step_mm: distance of the block's voxels; the field repeats after ``BLOCK`` of them.
        grain_mm: standard deviation of the Gaussian that smooths the noise.
        roughness: share (0 to 1) of the field's spectrum that falls slowly, as a power law.
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
