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
    places = [
        centered_places(length, float(size), step_mm)
        for length, size in zip(chest.hu.shape, chest.spacing_mm, strict=True)
    ]
    hu = resample(chest.hu.astype(np.float32), chest.spacing_mm, step_mm)
    first = np.array([[axis[0] for axis in places]])
    geometry = Geometry(
        spacing_mm=np.full(3, step_mm),
        origin_mm=chest.to_world(first)[0],
        direction=chest.volume.geometry.direction,
        size=np.array(hu.shape[::-1], dtype=np.int64),
    )
    label = chest.lungs.label[np.ix_(*(np.rint(axis).astype(np.int64) for axis in places))]
    return Chest(Volume(hu, geometry), Lungs(label, geometry))


def centered_places(count: int, spacing_mm: float, step_mm: float) -> FloatArray:
    """Indices along an axis of ``count`` voxels where the new voxels of ``step_mm`` lie.

    They lie around the same middle and are even in number, so that pairs of them do too: a mirror
    image is resampled to the mirror image. What is left over at the ends is cut off.
    """
    length_mm = (count - 1) * spacing_mm
    fitting = int(np.floor(length_mm / step_mm + 1e-6)) + 1
    steps = np.arange(max(1, fitting - fitting % 2))
    places: FloatArray = (length_mm / 2 + (steps - steps.mean()) * step_mm) / spacing_mm
    return places


def resample(values: FloatVolume, spacing_mm: FloatArray, step_mm: float) -> FloatVolume:
    """Values on cubic voxels around the same middle.

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
    place = centered_places(count, spacing_mm, step_mm)
    offsets = np.arange(-int(np.ceil(reach / spacing_mm)) - 1, int(np.ceil(reach / spacing_mm)) + 2)
    column = np.rint(place).astype(np.int64)[:, None] + offsets
    height = 1.0 - np.abs(column - place[:, None]) * spacing_mm / reach
    height[(column < 0) | (column >= count)] = 0.0
    row, offset = np.nonzero(height > 1e-9)
    values = height[row, offset]
    total = np.bincount(row, values, minlength=len(place))
    return sparse.csr_array(
        ((values / total[row]).astype(np.float32), (row, column[row, offset])),
        shape=(len(place), count),
    )
