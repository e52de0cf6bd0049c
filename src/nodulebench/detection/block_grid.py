"""A CT volume as blocks hold it: the patient's axes, 1 mm in plane by area mean, bytes of 16 HU.

Networks learn from blocks, so every scan that they score is brought to the same form.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import Float32Array, FloatArray
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.volume import Volume, VoxelArray, to_patient_axes
from nodulebench.io.lidc_blocks import HU_PER_STEP, LOWEST_HU

STEP_MM = 1.0
REACH_MM = 30.0
"""How much of a scan is used around the positions: more than any network sees straight ahead."""


@dataclass(frozen=True, eq=False)
class BlockVoxels:
    """Voxels as networks see them, and where they are."""

    voxels: npt.NDArray[np.uint8]
    """Slice from the feet, row, column."""
    geometry: Geometry

    @property
    def spacing_mm(self) -> FloatArray:
        return self.geometry.spacing_mm[::-1]

    def to_index(self, place_mm: FloatArray) -> FloatArray:
        """Fractional voxel indices [slice, row, column] of places in millimetres."""
        return self.geometry.to_index(place_mm.reshape(-1, 3))[:, ::-1]


def block_voxels(volume: Volume, where: str, around_mm: FloatArray | None = None) -> BlockVoxels:
    """A scan as networks see it.

    ``around_mm``: n x 3 positions; only voxels within ``REACH_MM`` of their box are used.
    """
    upright = to_patient_axes(volume, where)
    part = upright if around_mm is None or not len(around_mm) else _near(upright, around_mm)
    hu, geometry = part.hu, part.geometry
    spacing, origin = geometry.spacing_mm.copy(), geometry.origin_mm
    is_fine = spacing[:2] < STEP_MM
    if is_fine.any():
        hu = _averaged(hu, spacing)
        step = np.where([*is_fine, False], STEP_MM, spacing)
        # the outer faces of the first voxels stay where they were
        first = (step - spacing) / 2 / spacing
        origin, spacing = geometry.to_world(first[None])[0], step
    steps = np.rint((hu - np.float32(LOWEST_HU)) / HU_PER_STEP)
    grid = Geometry(spacing, origin, geometry.direction, np.array(hu.shape[::-1], dtype=np.int64))
    return BlockVoxels(np.clip(steps, 0, 255).astype(np.uint8), grid)


def _near(volume: Volume, place_mm: FloatArray) -> Volume:
    index = volume.geometry.to_index(place_mm)[:, ::-1]
    reach = REACH_MM / volume.spacing_mm
    last = np.array(volume.shape) - 1
    low = np.clip(np.floor(index.min(axis=0) - reach), 0, last).astype(np.int64)
    high = np.clip(np.ceil(index.max(axis=0) + reach), low, last).astype(np.int64) + 1
    return volume.part(tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True)))


def _averaged(hu: VoxelArray, spacing_mm: FloatArray) -> Float32Array:
    """Rows and columns finer than the step, averaged over its length, slice by slice."""
    columns, rows = (_edges(hu.shape[2 - axis], float(spacing_mm[axis])) for axis in (0, 1))
    made = np.empty((len(hu), len(rows) - 1, len(columns) - 1), dtype=np.float32)
    for number, plane in enumerate(hu):
        made[number] = _means(_means(plane, rows).T, columns).T
    return made


def _edges(count: int, spacing_mm: float) -> FloatArray:
    """Where new voxels begin and end, in old voxels from the first one's outer face."""
    if spacing_mm >= STEP_MM:
        return np.arange(count + 1, dtype=np.float64)
    new = max(1, int(count * spacing_mm / STEP_MM + 1e-6))
    edges: FloatArray = np.minimum(np.arange(new + 1) * STEP_MM / spacing_mm, count)
    return edges


def _means(values: npt.NDArray[np.generic], edges: FloatArray) -> FloatArray:
    """Means of rows between edges, those at the edges by their share."""
    total = np.zeros((len(values) + 1, values.shape[1]))
    np.cumsum(values, axis=0, out=total[1:])
    whole = np.minimum(edges.astype(np.int64), len(values) - 1)
    share = (edges - whole)[:, None]
    upto = total[whole] * (1 - share) + total[whole + 1] * share
    means: FloatArray = np.diff(upto, axis=0) / np.diff(edges)[:, None]
    return means
