"""Volume: a CT image in Hounsfield units on its voxel grid."""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, Problems, raise_problems
from nodulebench.imaging.geometry import ORTHONORMAL_TOLERANCE, Geometry, is_orthonormal

VoxelArray: TypeAlias = npt.NDArray[Any]
"""Voxels in Hounsfield units, int16 or float32, with the axes slice, row, column."""

AIR_HU = -1000.0
LARGEST_TILT_DEGREES = 20.0
"""Largest obliqueness of an image that is read as axial, coronal or sagittal."""


@dataclass(frozen=True)
class Volume:
    """A CT image; the axes of ``hu`` are z, y, x of the image (slice, row, column)."""

    hu: VoxelArray
    geometry: Geometry

    @property
    def shape(self) -> tuple[int, int, int]:
        slices, rows, columns = self.hu.shape
        return slices, rows, columns

    @property
    def spacing_mm(self) -> FloatArray:
        """Voxel size along the array's axes: slice, row, column."""
        return self.geometry.spacing_mm[::-1]

    @property
    def voxel_mm3(self) -> float:
        return float(np.prod(self.geometry.spacing_mm))

    def part(self, box: tuple[slice, ...]) -> "Volume":
        hu = self.hu[box]
        first = np.array([[along.start for along in reversed(box)]], dtype=np.float64)
        origin_mm, size = self.geometry.to_world(first)[0], np.array(hu.shape[::-1], np.int64)
        return Volume(hu, replace(self.geometry, origin_mm=origin_mm, size=size))


def make_volume(
    hu: VoxelArray,
    *,
    spacing_mm: npt.ArrayLike,
    origin_mm: npt.ArrayLike = (0.0, 0.0, 0.0),
    direction: npt.ArrayLike | None = None,
    where: str = "volume",
) -> Volume:
    """Make a volume from voxels [slice, row, column] and geometry in the order x, y, z."""
    cosines = np.eye(3) if direction is None else np.asarray(direction, dtype=np.float64)
    spacing = np.asarray(spacing_mm, dtype=np.float64)
    origin = np.asarray(origin_mm, dtype=np.float64)
    raise_problems(
        [*_voxel_problems(hu, where), *_geometry_problems(spacing, origin, cosines, where)]
    )
    geometry = Geometry(
        spacing_mm=spacing,
        origin_mm=origin,
        direction=cosines.reshape(3, 3),
        size=np.array(hu.shape[::-1], dtype=np.int64),
    )
    limits = np.iinfo(np.int16)
    is_whole = np.issubdtype(hu.dtype, np.integer)
    fits = is_whole and limits.min <= hu.min() and hu.max() <= limits.max
    return Volume(hu.astype(np.int16 if fits else np.float32, copy=False), geometry)


def _voxel_problems(hu: VoxelArray, where: str) -> Problems:
    problems = Problems()
    is_float = np.issubdtype(hu.dtype, np.floating)
    wrong = hu.size - np.count_nonzero(np.isfinite(hu)) if is_float else 0
    if hu.ndim != 3 or hu.size == 0:
        what = f"has the shape {hu.shape}, not slices x rows x columns."
        problems.add(where, what, "Give 3-D CT.")
    elif hu.dtype.itemsize == 1:
        problems.add(
            where,
            f"has 8-bit voxels ({int(hu.min())} to {int(hu.max())}), "
            "which cannot hold Hounsfield units.",
            "Export the CT with 16 bits per voxel, without a display window.",
        )
    elif wrong:
        problems.add(
            where,
            f"{wrong} of {hu.size} voxels are not finite numbers (NaN or infinite).",
            f"Write {AIR_HU:.0f} HU for voxels without data.",
        )
    return problems


def _geometry_problems(
    spacing: FloatArray, origin: FloatArray, cosines: FloatArray, where: str
) -> Problems:
    problems = Problems()
    if spacing.shape != (3,) or not np.all(np.isfinite(spacing) & (spacing > 0)):
        problems.add(where, f"voxel size {spacing.tolist()} mm is not three lengths.")
    if origin.shape != (3,) or not np.isfinite(origin).all():
        problems.add(
            where,
            f"its first voxel is at {origin.tolist()} mm, which is not a position.",
            "Write the image again with its origin.",
        )
    if cosines.size != 9 or not is_orthonormal(cosines.reshape(3, 3)):
        problems.add(where, "its direction is not nine orthonormal cosines.")
    return problems


def to_patient_axes(volume: Volume, where: str = "volume") -> Volume:
    """Reorder an image so that columns run to the left, rows to the back, slices to the head.

    Voxels are only reordered, never interpolated.
    """
    direction = volume.geometry.direction
    patient_axis = np.argmax(np.abs(direction), axis=0)
    cosine = np.abs(direction[patient_axis, range(3)]).min()
    tilt = float(np.degrees(np.arccos(np.clip(cosine, 0.0, 1.0))))
    if sorted(patient_axis) != [0, 1, 2] or tilt > LARGEST_TILT_DEGREES:
        what = f"its axes are turned {tilt:.0f} degrees against the patient's."
        remedy = f"Resample it to axial slices (at most {LARGEST_TILT_DEGREES:.0f} degrees off)."
        raise InputError.at(where, what, remedy)
    image_axis = np.argsort(patient_axis)
    is_reversed = direction[range(3), image_axis] < 0
    size = np.array(volume.hu.shape[::-1], dtype=np.int64)
    first = np.zeros((1, 3))
    first[0, image_axis] = np.where(is_reversed, size[image_axis] - 1, 0)
    hu = volume.hu.transpose(*(2 - image_axis[::-1]))
    hu = hu[tuple(slice(None, None, -1 if turn else 1) for turn in is_reversed[::-1])]
    signs = np.where(is_reversed, -1.0, 1.0)
    geometry = Geometry(
        spacing_mm=volume.geometry.spacing_mm[image_axis],
        origin_mm=volume.geometry.to_world(first)[0],
        direction=direction[:, image_axis] * signs,
        size=size[image_axis],
    )
    return replace(volume, hu=np.ascontiguousarray(hu), geometry=geometry)


_CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], dtype=np.float64)


@dataclass(frozen=True)
class Upright:
    """An image whose columns run to the left, rows to the back and slices to the head."""

    volume: Volume
    """With int16 voxels."""
    original: Geometry
    """The grid of the image as read."""
    is_resampled: bool
    """Whether voxels were interpolated; if not, each is a voxel of the image."""


def upright(volume: Volume) -> Upright:
    """The image along the patient's axes, with whole HU in 16 bits."""
    grid = volume.geometry
    # whether every image axis is a patient axis, to the accuracy of headers
    off = np.abs(np.sort(np.abs(grid.direction), axis=0) - np.array([[0.0], [0.0], [1.0]]))
    if off.max() < ORTHONORMAL_TOLERANCE:
        ordered = to_patient_axes(volume)
        return Upright(Volume(_whole(ordered.hu), ordered.geometry), grid, is_resampled=False)
    upright_grid = _grid_around(grid, np.array(volume.hu.shape[::-1], dtype=np.float64))
    return Upright(
        Volume(_whole(_interpolated(volume, upright_grid)), upright_grid), grid, is_resampled=True
    )


def _grid_around(grid: Geometry, size: FloatArray) -> Geometry:
    corners = grid.to_world(_CORNERS * (size - 1))
    low, high = corners.min(axis=0), corners.max(axis=0)
    spacing = grid.extent_to_world(np.ones((1, 3)))[0]
    steps = np.ceil(np.round((high - low) / spacing, 6))
    origin = (low + high) / 2 - steps * spacing / 2
    return Geometry(spacing, origin, np.eye(3), (steps + 1).astype(np.int64))


def _interpolated(volume: Volume, target: Geometry) -> npt.NDArray[np.float32]:
    """The image interpolated linearly at the voxel centres of another grid; air outside."""
    from scipy import ndimage

    if target.size is None:
        raise AssertionError("a grid that was made has a size")
    place = np.vstack([np.zeros((1, 3)), np.eye(3)])
    index = volume.geometry.to_index(target.to_world(place))
    step = (index[1:] - index[0]).T  # columns: a step of the target in image indices
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
