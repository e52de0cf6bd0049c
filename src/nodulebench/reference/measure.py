"""Regions and outlines -> sizes in mm, each under the name of its definition.

Lengths are measured in the image plane: pixel numbers times pixel size. So unequal pixel sides
count as they are, and how the scan lies in the patient does not matter.
"""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from nodulebench.model.arrays import BoolArray, FloatArray, IntArray

SIZE_DEFINITIONS = {
    "volume_equivalent": "diameter of the sphere of equal volume (LUNA16)",
    "volume_equivalent_with_rim": "the same, with LIDC's outside pixels counted as nodule",
    "area_equivalent": "diameter of the circle of equal area, on the slice with the largest area",
    "long_axis": "longest axis on any slice (the largest axial diameter of Fotin 2008)",
    "long_axis_on_largest_slice": "long axis on the slice with the largest area (ITU FG-AI4H)",
    "average": "largest mean of long axis and its largest perpendicular on any slice (NIFDC)",
    "average_on_longest_slice": "mean of the longest axis and its largest perpendicular (Fotin)",
    "outline_extent": "largest distance between two points of one outline as drawn (pylidc)",
}
"""What a diameter can be; the name stands beside every diameter of a reference."""

_EQUAL = 1 - 1e-9  # axes that differ by less, relatively, are equally long


def long_and_short_axis(points_mm: FloatArray) -> tuple[float, float]:
    """The largest distance between two points, and the longest line across it.

    The second is the longest line at right angles to the first that the convex hull of the points
    holds. Of several equally long axes the one with the longer perpendicular counts.

    Args:
        points_mm: n x 2, in the plane of the slice.
    """
    hull = _hull(points_mm)
    apart = hull[:, None] - hull
    distance = np.hypot(apart[..., 0], apart[..., 1])
    longest = float(distance.max())
    if longest == 0.0:
        return 0.0, 0.0
    first, second = np.nonzero(np.triu(distance) >= longest * _EQUAL)
    across = max(_chord(hull, a, b) for a, b in zip(first.tolist(), second.tolist(), strict=True))
    return longest, across


def _hull(points: FloatArray) -> FloatArray:
    """Corners of the convex hull, counter-clockwise (Andrew's monotone chain)."""
    ordered = sorted(set(map(tuple, points.tolist())))
    if len(ordered) < 3:
        return np.array(ordered)
    halves = []
    for path in (ordered, ordered[::-1]):
        half: list[tuple[float, float]] = []
        for x, y in path:
            while len(half) > 1:
                (x1, y1), (x2, y2) = half[-2], half[-1]
                if (x2 - x1) * (y - y1) > (y2 - y1) * (x - x1):
                    break
                half.pop()
            half.append((x, y))
        halves += half[:-1]
    return np.array(halves)


def _chord(hull: FloatArray, first: int, second: int) -> float:
    """The longest line through a convex polygon at right angles to the line first - second.

    Its length along the axis is concave and bends at corners only, so one of them has the maximum.
    """
    axis = hull[second] - hull[first]
    axis = axis / np.hypot(*axis)
    turned = np.roll(hull, -first, axis=0)
    along = turned @ axis
    beside = turned @ np.array([-axis[1], axis[0]])
    there = (second - first) % len(hull)
    one, other = slice(None, there + 1), [*range(there, len(hull)), 0]
    heights = [
        np.interp(along, along[side][order], beside[side][order])
        for side in (one, other)
        for order in (np.argsort(along[side], kind="stable"),)
    ]
    return float(np.abs(heights[0] - heights[1]).max())


def polygon_area(corners_mm: FloatArray) -> float:
    """The area within a closed polygon in mm²."""
    x, y = (corners_mm - corners_mm[0]).T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def slice_sizes(owner: IntArray, voxel: IntArray, spacing_mm: FloatArray) -> pl.DataFrame:
    """Area, long and short axis of regions on each of their slices.

    Args:
        owner: which region each voxel belongs to.
        voxel: column, row and slice of each voxel: n x 3.
        spacing_mm: pixel size along columns and rows of each region: one row per region.

    Returns:
        One row per region and slice: owner, slice_index, area_mm2, long_mm, short_mm.
    """
    rows = (
        pl.DataFrame(
            {"owner": owner, "slice_index": voxel[:, 2], "j": voxel[:, 1], "i": voxel[:, 0]}
        )
        .group_by("owner", "slice_index", "j")
        .agg(first=pl.col("i").min(), last=pl.col("i").max(), pixels=pl.len())
        .sort("owner", "slice_index", "j")
    )
    slices = rows.group_by("owner", "slice_index", maintain_order=True).agg(
        "j", "first", "last", pl.col("pixels").sum()
    )
    found = []
    for one, number, j, first, last, pixels in slices.iter_rows():
        step = spacing_mm[one]
        corners = [
            (edge, height)
            for row, start, end in zip(j, first, last, strict=True)
            for edge in (start - 0.5, end + 0.5)
            for height in (row - 0.5, row + 0.5)
        ]
        long_mm, short_mm = long_and_short_axis(np.array(corners) * step)
        found.append((one, number, pixels * float(step[0] * step[1]), long_mm, short_mm))
    return pl.DataFrame(found, schema=_SLICE_SIZES, orient="row")


_SLICE_SIZES = {
    "owner": pl.Int64,
    "slice_index": pl.Int64,
    "area_mm2": pl.Float64,
    "long_mm": pl.Float64,
    "short_mm": pl.Float64,
}


def drawn_slice_sizes(
    owner: IntArray,
    slice_index: IntArray,
    is_hole: BoolArray,
    corners_mm: Sequence[FloatArray],
) -> pl.DataFrame:
    """The same of regions whose boundaries were drawn as polygons, from the polygons themselves.

    Args:
        owner: which region each polygon belongs to.
        slice_index: the slice it lies on.
        is_hole: whether it cuts out of the region.
        corners_mm: its corners in the plane of the slice; polygons of a region do not overlap.
    """
    found = []
    for one, number in sorted(set(zip(owner.tolist(), slice_index.tolist(), strict=True))):
        here = np.flatnonzero((owner == one) & (slice_index == number)).tolist()
        outer = [corners_mm[at] for at in here if not is_hole[at]]
        if outer:
            area = sum(polygon_area(corners_mm[at]) * (-1) ** bool(is_hole[at]) for at in here)
            found.append((one, number, area, *long_and_short_axis(np.concatenate(outer))))
    return pl.DataFrame(found, schema=_SLICE_SIZES, orient="row")


def region_sizes(slices: pl.DataFrame, slice_spacing_mm: FloatArray) -> pl.DataFrame:
    """Sizes of whole regions from those on their slices, under every definition.

    Args:
        slices: what ``slice_sizes`` gives.
        slice_spacing_mm: distance of slices of each region.

    Returns:
        One row per region: owner, long_mm and short_mm on the slice with the largest area, and a
        column for each definition that a region alone can answer.
    """
    average = (pl.col("long_mm") + pl.col("short_mm")) / 2
    volume = pl.col("area_mm2").sum() * pl.col("spacing").first()
    largest, longest = pl.col("area_mm2").arg_max(), pl.col("long_mm").arg_max()
    return (
        slices.with_columns(spacing=pl.Series(slice_spacing_mm[slices["owner"].to_numpy()]))
        .group_by("owner", maintain_order=True)
        .agg(
            long_mm=pl.col("long_mm").get(largest),
            short_mm=pl.col("short_mm").get(largest),
            volume_equivalent=(6 / math.pi * volume).cbrt(),
            area_equivalent=(4 / math.pi * pl.col("area_mm2").max()).sqrt(),
            long_axis=pl.col("long_mm").max(),
            long_axis_on_largest_slice=pl.col("long_mm").get(largest),
            average=average.max(),
            average_on_longest_slice=average.get(longest),
        )
    )


def area_equivalent_mm(owner: IntArray, voxel: IntArray, spacing_mm: FloatArray) -> FloatArray:
    """Diameter of the circle of equal area on each region's largest slice; NaN without voxels."""
    largest = (
        pl.DataFrame({"owner": owner, "slice_index": voxel[:, 2]})
        .group_by("owner", "slice_index")
        .len()
        .group_by("owner")
        .agg(pl.col("len").max())
    )
    diameter = np.full(len(spacing_mm), np.nan)
    rows = largest["owner"].to_numpy()
    area = largest["len"].to_numpy() * spacing_mm[rows, 0] * spacing_mm[rows, 1]
    diameter[rows] = np.sqrt(4 / math.pi * area)
    return diameter


def volume_equivalent_mm(voxel_count: IntArray, spacing_mm: FloatArray) -> FloatArray:
    """Diameter of the sphere of equal volume, from the number of voxels and their size."""
    diameter: FloatArray = np.cbrt(6 / math.pi * voxel_count * spacing_mm.prod(axis=1))
    return diameter


def outline_extents(outline: IntArray, points_mm: FloatArray, count: int) -> FloatArray:
    """The largest distance between two points of each outline; 0 for a single point."""
    extent = np.zeros(count)
    first = np.flatnonzero(np.diff(outline, prepend=-1))
    for part in np.split(np.arange(len(outline)), first[1:]):
        if len(part):
            hull = _hull(points_mm[part])
            apart = hull[:, None] - hull
            extent[outline[part[0]]] = np.hypot(apart[..., 0], apart[..., 1]).max()
    return extent
