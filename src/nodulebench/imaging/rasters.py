"""Outlines -> pixels, in image coordinates: pixel (i, j) is the square around (i, j).

Two conventions. A *boundary* is a polygon, and a pixel belongs if its centre lies inside. LIDC-IDRI
gives *outside pixels*: the centres of the first pixels outside the nodule, so the nodule is what
they enclose, without themselves.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.imaging.geometry import Geometry


@dataclass(frozen=True, slots=True)
class DrawnOutline:
    """One outline or box on one slice."""

    slice_index: int
    """0-based from the feet."""
    xy_mm: FloatArray
    z_mm: float | None = None
    convention: str = "boundary"
    is_hole: bool = False
    is_box: bool = False

    def corners_mm(self, grid: Geometry) -> FloatArray:
        """Its corners in the patient: on the height that was told where slices are axial."""
        if grid.is_axial and self.z_mm is not None:
            return np.column_stack([self.xy_mm, np.full(len(self.xy_mm), self.z_mm)])
        level = np.full(len(self.xy_mm), float(self.slice_index))
        return np.column_stack([self.xy_mm, grid.height_on(level, self.xy_mm)])


def voxels_of(drawn: Iterable[DrawnOutline], grid: Geometry) -> IntArray:
    """Voxels (column, row, image) that outlines hold: all of them joined, less their holes.

    A hole is cut out with its rim, as LIDC-IDRI's rule has it. Voxels outside the image are left
    out.
    """
    by_slice: dict[int, list[DrawnOutline]] = {}
    for one in drawn:
        by_slice.setdefault(one.slice_index, []).append(one)
    parts = [np.empty((0, 3), dtype=np.int64)]
    for number, outlines in sorted(by_slice.items()):
        pixels = _pixels(outlines, grid)
        k = round(float(grid.slice_number(np.array([float(number)]))[0]))
        parts.append(np.column_stack([pixels, np.full(len(pixels), k, dtype=np.int64)]))
    voxel = np.concatenate(parts)
    if grid.size is None:
        return voxel
    return voxel[np.all((voxel >= 0) & (voxel < grid.size), axis=1)]


def _pixels(outlines: Sequence[DrawnOutline], grid: Geometry) -> IntArray:
    """Columns and rows that the outlines of one slice hold, each once."""
    held: set[tuple[int, int]] = set()
    cut: set[tuple[int, int]] = set()
    for one in outlines:
        corners = grid.to_index(one.corners_mm(grid))[:, :2]
        if one.convention == "outside_pixels":
            rim = np.rint(corners).astype(np.int64)
            _, i, j, is_rim = enclosed_pixels(np.zeros(len(rim), dtype=np.int64), *rim.T)
            counts = ~is_rim | one.is_hole
            i, j = i[counts], j[counts]
        else:
            i, j = polygon_pixels(corners)
        (cut if one.is_hole else held).update(zip(i.tolist(), j.tolist(), strict=True))
    return np.array(sorted(held - cut), dtype=np.int64).reshape(-1, 2)


def enclosed_pixels(
    outline: IntArray, i: IntArray, j: IntArray
) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """What closed rims of pixels enclose.

    Pixels are enclosed if no path over pixel edges leads out from them without crossing the rim.
    A rim with a gap encloses nothing there; no line is drawn between its points.

    Args:
        outline: the rim that each pixel belongs to: 0, 1, 2, ... in ascending order.
        i: column of the rim's pixels.
        j: row of the rim's pixels.

    Returns:
        Outline, column and row of every pixel of the rims and inside them, and whether it is one
        of the rim.
    """
    from scipy import ndimage

    if not len(outline):
        return outline, i, j, np.empty(0, dtype=np.bool_)
    first = np.flatnonzero(np.diff(outline, prepend=-1))
    low_i, low_j = np.minimum.reduceat(i, first), np.minimum.reduceat(j, first)
    width = np.maximum.reduceat(i, first) - low_i + 3  # one empty pixel on either side
    left = np.cumsum(width) - width
    column = left[outline] + 1 + i - low_i[outline]
    row = 1 + j - low_j[outline]
    # all outlines side by side in one picture: their surroundings hang together
    is_free = np.ones((int(row.max()) + 2, int(width.sum())), dtype=np.bool_)
    is_free[row, column] = False
    areas, _ = ndimage.label(is_free)
    rows, columns = np.nonzero(areas != areas[0, 0])
    which = np.searchsorted(left, columns, side="right") - 1
    return (
        which,
        columns - left[which] - 1 + low_i[which],
        rows - 1 + low_j[which],
        ~is_free[rows, columns],
    )


def polygon_pixels(corners: FloatArray) -> tuple[IntArray, IntArray]:
    """Pixels whose centres lie inside a polygon (even-odd rule); at least the one at its middle.

    A centre on an edge belongs to the side of larger coordinates, so that polygons which share an
    edge share no pixel. Where a side is crossed does not depend on its direction, to the last
    digit: a line that leads to a further ring and back holds nothing.

    Args:
        corners: n x 2 image coordinates; the last corner joins the first.
    """
    low = np.ceil(corners.min(axis=0)).astype(np.int64)
    high = np.floor(corners.max(axis=0)).astype(np.int64)
    if np.any(high < low):
        return _middle_pixel(corners)
    i, j = np.arange(low[0], high[0] + 1), np.arange(low[1], high[1] + 1)
    inside = np.zeros((len(j), len(i)), dtype=np.bool_)
    for start, stop in zip(corners.tolist(), np.roll(corners, -1, axis=0).tolist(), strict=True):
        (y1, x1), (y2, x2) = sorted((start[::-1], stop[::-1]))
        spans = (y1 <= j) != (y2 <= j)
        if spans.any():
            crossing = x1 + (x2 - x1) * (j[spans] - y1) / (y2 - y1)
            inside[spans] ^= i >= crossing[:, None]
    rows, columns = np.nonzero(inside)
    if not len(rows):
        return _middle_pixel(corners)
    return i[columns], j[rows]


def _middle_pixel(corners: FloatArray) -> tuple[IntArray, IntArray]:
    middle = np.rint((corners.min(axis=0) + corners.max(axis=0)) / 2).astype(np.int64)
    return middle[:1], middle[1:]
