"""Chest: a scan with its lungs, as every candidate detector sees it, on the scan's grid or another.

A detector asks for the voxel size it works on; scans are averaged, not picked, where voxels grow.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from nodulebench.algorithms.lungs import Lungs, segment_lungs
from nodulebench.model.arrays import BoolArray, FloatArray
from nodulebench.model.geometry import Geometry
from nodulebench.model.volume import Volume, to_patient_axes

MARGIN_MM = 15.0
"""Kept around the lungs: their slack and the reach of filters."""

FloatVolume = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Chest:
    """A scan in the patient's axes (slice from the feet, row, column) and its lungs."""

    volume: Volume
    lungs: Lungs
    _resampled: dict[float, "Chest"] = field(default_factory=dict, repr=False)

    @property
    def hu(self) -> npt.NDArray[np.generic]:
        """The voxels in Hounsfield units."""
        return self.volume.hu

    @property
    def spacing_mm(self) -> FloatArray:
        """Voxel size along slice, row, column."""
        return self.volume.spacing_mm

    def to_world(self, index: FloatArray) -> FloatArray:
        """Millimetres (x, y, z) of fractional voxel indices [slice, row, column]."""
        return self.volume.geometry.to_world(np.asarray(index, dtype=np.float64)[:, ::-1])

    def to_index(self, point_mm: FloatArray) -> FloatArray:
        """Fractional voxel indices [slice, row, column] of points in millimetres."""
        return self.volume.geometry.to_index(np.asarray(point_mm, dtype=np.float64))[:, ::-1]

    def resampled(self, step_mm: float) -> "Chest":
        """The same chest on cubic voxels, made once for all detectors that ask for it."""
        if step_mm not in self._resampled:
            self._resampled[step_mm] = _on_cubes(self, step_mm)
        return self._resampled[step_mm]


def see_chest(volume: Volume, where: str = "volume", lungs: Lungs | None = None) -> Chest:
    """Turn a scan into the patient's axes, find its lungs and cut away what is far from them.

    Raises:
        InputError: if the image is too oblique or shows no lung.
    """
    upright = to_patient_axes(volume, where)
    found = lungs or segment_lungs(upright, where)
    box = _box(found.mask, upright.spacing_mm)
    first = np.array([[part.start for part in reversed(box)]], dtype=np.float64)
    hu = upright.hu[box]
    geometry = replace(
        upright.geometry,
        origin_mm=upright.geometry.to_world(first)[0],
        size=np.array(hu.shape[::-1], dtype=np.int64),
    )
    return Chest(Volume(hu, geometry), Lungs(found.label[box], geometry))


def _box(mask: BoolArray, spacing_mm: FloatArray) -> tuple[slice, ...]:
    """The smallest box around the mask, wider by the margin."""
    box = []
    for axis in range(mask.ndim):
        others = tuple(other for other in range(mask.ndim) if other != axis)
        inside = np.flatnonzero(mask.any(axis=others))
        margin = int(np.ceil(MARGIN_MM / spacing_mm[axis]))
        last = min(mask.shape[axis], int(inside[-1]) + margin + 1)
        box.append(slice(max(0, int(inside[0]) - margin), last))
    return tuple(box)


def _on_cubes(chest: Chest, step_mm: float) -> Chest:
    spacing = chest.spacing_mm
    hu = resample(chest.hu.astype(np.float32), spacing, step_mm)
    geometry = Geometry(
        spacing_mm=np.full(3, step_mm),
        origin_mm=chest.volume.geometry.origin_mm,
        direction=chest.volume.geometry.direction,
        size=np.array(hu.shape[::-1], dtype=np.int64),
    )
    nearest = [
        np.minimum(np.rint(np.arange(count) * step_mm / size).astype(np.int64), length - 1)
        for count, size, length in zip(hu.shape, spacing, chest.hu.shape, strict=True)
    ]
    label = chest.lungs.label[np.ix_(*nearest)]
    return Chest(Volume(hu, geometry), Lungs(label, geometry))


def resample(values: FloatVolume, spacing_mm: FloatArray, step_mm: float) -> FloatVolume:
    """Values on cubic voxels; the first voxel's centre stays where it was.

    Each axis is weighed by a triangle as wide as the larger of both voxel sizes: linear
    interpolation where voxels become smaller, an average where they grow.
    """
    result = values
    for axis in range(values.ndim):
        weights = _weights(result.shape[axis], float(spacing_mm[axis]), step_mm)
        moved = np.moveaxis(result, axis, 0)
        flat = weights @ np.ascontiguousarray(moved).reshape(moved.shape[0], -1)
        result = np.moveaxis(flat.reshape(-1, *moved.shape[1:]), 0, axis)
    return np.ascontiguousarray(result, dtype=np.float32)


def _weights(count: int, spacing_mm: float, step_mm: float) -> sparse.csr_array:
    """Row: a new voxel; column: an old one. Every row sums to one."""
    reach = max(spacing_mm, step_mm)
    position = np.arange(int(np.floor((count - 1) * spacing_mm / step_mm + 1e-6)) + 1) * step_mm
    offsets = np.arange(-int(np.ceil(reach / spacing_mm)) - 1, int(np.ceil(reach / spacing_mm)) + 2)
    column = np.rint(position / spacing_mm).astype(np.int64)[:, None] + offsets
    height = 1.0 - np.abs(column * spacing_mm - position[:, None]) / reach
    height[(column < 0) | (column >= count)] = 0.0
    row, place = np.nonzero(height > 1e-9)
    values = height[row, place]
    total = np.bincount(row, values, minlength=len(position))
    return sparse.csr_array(
        ((values / total[row]).astype(np.float32), (row, column[row, place])),
        shape=(len(position), count),
    )
