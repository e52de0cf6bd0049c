"""The voxel grid of an image in the patient: voxel index <-> millimetres (LPS), boxes, slices."""

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import InputError, Problem, Problems, collect_problems, raise_problems

SIZE = ("size_x", "size_y", "size_z")
SPACING_MM = ("spacing_x_mm", "spacing_y_mm", "spacing_z_mm")
ORIGIN_MM = ("origin_x_mm", "origin_y_mm", "origin_z_mm")
GEOMETRY_COLUMNS = (*SPACING_MM, *ORIGIN_MM)
FARTHEST_MM = 1e6
"""Nothing in a patient is a kilometre away or as large; such a number is an error."""
ORTHONORMAL_TOLERANCE = 1e-3
"""How far direction cosines may be from orthonormal: headers round them."""
LARGEST_SHEAR = 0.0175
"""How far the third axis may lean over the others: a gantry tilted by one degree."""
_NEAR = np.full((3, 3), ORTHONORMAL_TOLERANCE)
_NEAR[:2, 2] = _NEAR[2, :2] = LARGEST_SHEAR


@dataclass(frozen=True, slots=True)
class GeometryProblem(Problem):
    """Positions cannot be computed because the geometry of cases is not known."""

    cases: tuple[str, ...] = ()
    """All cases whose geometry is needed."""


@dataclass(frozen=True)
class Geometry:
    """The grid of one image. A voxel's index is that of its centre, as in ITK and DICOM.

    World coordinates are LPS millimetres: x to the patient's left, y to the back, z to the head.
    """

    spacing_mm: FloatArray
    """Voxel size along the three image axes."""
    origin_mm: FloatArray
    """Centre of the voxel (0, 0, 0)."""
    direction: FloatArray
    """Column j is the direction of image axis j in the patient."""
    size: IntArray | None = None
    """Voxels along the three image axes, where known."""

    @cached_property
    def _step(self) -> FloatArray:
        return self.direction * self.spacing_mm

    @cached_property
    def _axis(self) -> IntArray:
        """For each image axis the patient axis with the most similar direction."""
        along = np.abs(self.direction)
        best = max(permutations(range(3)), key=lambda axes: along[list(axes), range(3)].sum())
        return np.array(best, dtype=np.int64)

    def to_world(self, index: FloatArray) -> FloatArray:
        """Millimetres of (fractional) voxel indices; both arrays are n x 3, columns i, j, k."""
        return index @ self._step.T + self.origin_mm

    def to_index(self, point_mm: FloatArray) -> FloatArray:
        return (point_mm - self.origin_mm) @ np.linalg.inv(self._step).T

    def extent_to_world(self, voxels: FloatArray) -> FloatArray:
        """Extents of boxes along the image axes -> millimetres along x, y, z.

        In an oblique image a box keeps its extents: each goes to the patient axis most similar to
        its image axis, so that the conversion can be undone.
        """
        extent = np.empty_like(voxels, dtype=np.float64)
        extent[:, self._axis] = voxels * self.spacing_mm
        return extent

    def extent_to_voxels(self, extent_mm: FloatArray) -> FloatArray:
        return extent_mm[:, self._axis] / self.spacing_mm

    @property
    def is_axial(self) -> bool:
        """Whether the slices are perpendicular to the z axis, so that each has one height."""
        tilt = np.abs(self.direction)
        return bool(max(tilt[2, :2].max(), tilt[:2, 2].max()) < ORTHONORMAL_TOLERANCE)

    @property
    def is_head_first(self) -> bool:
        """Whether the image's slice 0 is nearest to the head."""
        return bool(self.direction[2, 2] < 0)

    def slice_number(self, k: FloatArray) -> FloatArray:
        """Image index along the third axis <-> slice number from the feet (its own inverse)."""
        if not self.is_head_first:
            return k
        if self.size is None:
            what = "the slices of an image run from head to feet, and size_z is not given."
            remedy = "Give size_z, so that slices can be counted from the feet."
            raise InputError.at("cases", what, remedy)
        turned: FloatArray = self.size[2] - 1.0 - k
        return turned

    def slice_of(self, point_mm: FloatArray) -> FloatArray:
        return self.slice_number(self.to_index(point_mm)[:, 2])

    def height_on(self, slice_index: FloatArray, xy_mm: FloatArray) -> FloatArray:
        """The z of points at x, y on slices that are numbered from the feet."""
        at_zero = np.column_stack([xy_mm, np.zeros(len(xy_mm))])
        k_per_mm = np.linalg.inv(self._step)[2, 2]
        height: FloatArray = (
            self.slice_number(slice_index) - self.to_index(at_zero)[:, 2]
        ) / k_per_mm
        return height

    def contains(self, point_mm: FloatArray) -> BoolArray:
        """Whether points are in the image; always true if its size is unknown."""
        if self.size is None:
            return np.ones(len(point_mm), dtype=np.bool_)
        with np.errstate(over="ignore", invalid="ignore"):  # overflowing positions are outside
            index = self.to_index(point_mm)
        is_inside: BoolArray = np.all((index >= -0.5) & (index <= self.size - 0.5), axis=1)
        return is_inside


def voxel_box_mm(
    geometry: Geometry, first: FloatArray, last: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Boxes of voxels ``first`` to ``last``, both included -> centre and extent in mm.

    A box of the voxels i0..i1 spans (i1 - i0 + 1) * spacing: half a voxel more than the centres
    of its outermost voxels on either side.
    """
    return geometry.to_world((first + last) / 2), geometry.extent_to_world(last - first + 1.0)


def slices_through(
    geometry: Geometry, center_mm: FloatArray, extent_mm: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """For each 3-D box and slice through it: the box, the slice number, the box's centre there.

    A box is on every slice whose plane it contains, and on the nearest one if it contains none.
    Slices are numbered from the feet; those outside the image do not count.
    """
    center = geometry.to_index(center_mm)
    half = geometry.extent_to_voxels(extent_mm)[:, 2] / 2
    middle = center[:, 2]
    # edges that meet a plane but for rounding count as meeting it
    first = np.ceil(np.round(middle - half, 6))
    last = np.floor(np.round(middle + half, 6))
    nearest = np.round(middle)
    is_between = first > last
    first, last = np.where(is_between, nearest, first), np.where(is_between, nearest, last)
    if geometry.size is not None:
        first = np.clip(first, 0, geometry.size[2] - 1)
        last = np.clip(last, 0, geometry.size[2] - 1)
    count = (last - first + 1).astype(np.int64)
    box = np.repeat(np.arange(len(center_mm)), count)
    place_in_box = np.arange(len(box)) - np.repeat(np.cumsum(count) - count, count)
    k: FloatArray = first[box] + place_in_box
    on_slice = center[box]
    on_slice[:, 2] = k
    number = geometry.slice_number(k).astype(np.int64)
    return box, number, geometry.to_world(on_slice)


def lps_to_ras(point_mm: FloatArray) -> FloatArray:
    """LPS <-> RAS: x and y change their signs, in either direction."""
    turned: FloatArray = point_mm * np.array([-1.0, -1.0, 1.0])
    return turned


def is_orthonormal(direction: FloatArray) -> bool:
    """Whether the columns can be the axes of an image: of length one and perpendicular."""
    largest = 1 + ORTHONORMAL_TOLERANCE
    if not np.all(np.abs(direction) < largest):  # NaN compares as false
        return False
    return bool(np.all(np.abs(direction.T @ direction - np.eye(3)) <= _NEAR))


def geometry_columns(geometry: Geometry) -> dict[str, int | float | str]:
    """The voxel grid of a case as columns of CASES, in the same form from every source.

    The distance of slices is a mean over rounded positions, and cosines are rounded by headers:
    more than six decimals are noise.
    """
    if geometry.size is None:
        raise AssertionError("a case has a size")
    spacing = [*geometry.spacing_mm[:2].tolist(), round(float(geometry.spacing_mm[2]), 6)]
    cosines = " ".join(
        f"{round(cosine, 6) + 0.0:g}" for cosine in geometry.direction.ravel().tolist()
    )
    return {
        **dict(zip(SIZE, geometry.size.tolist(), strict=True)),
        **dict(zip(SPACING_MM, spacing, strict=True)),
        **dict(zip(ORIGIN_MM, geometry.origin_mm.tolist(), strict=True)),
        "direction": cosines,
    }


def checked_geometry(
    spacing_mm: FloatArray,
    origin_mm: FloatArray,
    direction: FloatArray,
    size: IntArray | None,
    where: str,
) -> Geometry:
    problems = Problems()
    if not np.all((spacing_mm > 0) & (spacing_mm < FARTHEST_MM)):
        problems.add(where, f"has an impossible voxel size: {_shown(spacing_mm)}.")
    if not np.all(np.abs(origin_mm) < FARTHEST_MM):
        problems.add(where, f"has an impossible origin: {_shown(origin_mm)}.")
    if not is_orthonormal(direction):
        problems.add(
            where,
            f"direction '{_shown(direction.reshape(-1))}' is not nine orthonormal cosines.",
            "Give them row by row, separated by spaces; leave it empty for an axial image.",
        )
    raise_problems(problems)
    return Geometry(spacing_mm, origin_mm, direction, size)


def geometries(cases: pl.DataFrame | None) -> dict[str, Geometry]:
    """The geometry of every case with spacing and origin."""
    if cases is None or not set(GEOMETRY_COLUMNS) <= set(cases.columns):
        return {}
    grids: dict[str, Geometry] = {}
    problems = Problems()
    for row in cases.drop_nulls(GEOMETRY_COLUMNS).iter_rows(named=True):
        where = f"case '{row['case_id']}'"
        values = np.array([row[name] for name in GEOMETRY_COLUMNS], dtype=np.float64)
        sizes = [row.get(name) for name in SIZE]
        size = None if None in sizes else np.array(sizes, dtype=np.int64)
        with collect_problems(problems):
            direction = _direction(row.get("direction"), where)
            grids[row["case_id"]] = checked_geometry(values[:3], values[3:], direction, size, where)
    raise_problems(problems)
    return grids


def _direction(text: str | None, where: str) -> FloatArray:
    if not text:
        return np.eye(3)
    try:
        return np.array(text.replace(",", " ").split(), dtype=np.float64).reshape(3, 3)
    except ValueError as error:
        what = f"direction '{text[:60]}' is not nine orthonormal cosines."
        remedy = "Give them row by row, separated by spaces; leave it empty for an axial image."
        raise InputError.at(where, what, remedy) from error


def _shown(values: FloatArray) -> str:
    return " ".join(f"{value:g}" for value in values)
