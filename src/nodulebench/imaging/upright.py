"""A volume however it lies in the patient -> whole HU on a grid along the patient's axes, for eyes.

A grid that already lies along the axes is only put in order, voxel for voxel; a tilted or oblique
one is interpolated. Which of both it was, and where the voxels were, goes with the result.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray
from nodulebench.imaging.geometry import ORTHONORMAL_TOLERANCE, Geometry
from nodulebench.imaging.volume import AIR_HU, Volume, to_patient_axes

_CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], dtype=np.float64)


@dataclass(frozen=True)
class Upright:
    """An image whose columns run to the left, rows to the back and slices to the head."""

    volume: Volume
    """Of int16."""
    original: Geometry
    """The grid that the image was read on."""
    is_resampled: bool
    """Whether voxels were interpolated; else each is one of the image."""


def upright(volume: Volume) -> Upright:
    """The image along the patient's axes, its values as whole HU that 16 bits can hold."""
    grid = volume.geometry
    if _lies_along_axes(grid.direction):
        ordered = to_patient_axes(volume)
        return Upright(Volume(_whole(ordered.hu), ordered.geometry), grid, is_resampled=False)
    upright_grid = _grid_around(grid, np.array(volume.hu.shape[::-1], dtype=np.float64))
    return Upright(
        Volume(_whole(_interpolated(volume, upright_grid)), upright_grid), grid, is_resampled=True
    )


def _lies_along_axes(direction: FloatArray) -> bool:
    """Whether every image axis is a patient axis, as exactly as headers tell."""
    off = np.abs(np.sort(np.abs(direction), axis=0) - np.array([[0.0], [0.0], [1.0]]))
    return bool(off.max() < ORTHONORMAL_TOLERANCE)


def _grid_around(grid: Geometry, size: FloatArray) -> Geometry:
    """The upright grid that holds every voxel centre, its steps those of the nearest image axes."""
    corners = grid.to_world(_CORNERS * (size - 1))
    low, high = corners.min(axis=0), corners.max(axis=0)
    spacing = grid.extent_to_world(np.ones((1, 3)))[0]
    steps = np.ceil(np.round((high - low) / spacing, 6))
    origin = (low + high) / 2 - steps * spacing / 2
    return Geometry(spacing, origin, np.eye(3), (steps + 1).astype(np.int64))


def _interpolated(volume: Volume, target: Geometry) -> npt.NDArray[np.float32]:
    """The image at the voxel centres of another grid, linearly; air where there was none."""
    from scipy import ndimage

    if target.size is None:
        raise AssertionError("a grid that was made has a size")
    place = np.vstack([np.zeros((1, 3)), np.eye(3)])
    index = volume.geometry.to_index(target.to_world(place))
    step = (index[1:] - index[0]).T  # columns: what a step of the target is in the image
    made: npt.NDArray[np.float32] = ndimage.affine_transform(
        volume.hu,
        step[::-1, ::-1],
        offset=index[0][::-1],
        output_shape=tuple(target.size[::-1].tolist()),
        output=np.float32,
        order=1,
        mode="grid-constant",
        cval=AIR_HU,
    )
    return made


def _whole(hu: npt.NDArray[np.generic]) -> npt.NDArray[np.int16]:
    if hu.dtype == np.int16:
        return np.ascontiguousarray(hu)
    limits = np.iinfo(np.int16)
    return np.clip(np.rint(hu.astype(np.float32)), limits.min, limits.max).astype(np.int16)
