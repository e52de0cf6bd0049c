"""Regions and outlines -> sizes in mm, each under the name of its definition.

Lengths are measured in the image plane: pixel numbers times pixel size. So unequal pixel sides
are handled, and the orientation of the scan in the patient does not matter.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.imaging.outlines import (
    area_mm2,
    axes_of_sides,
    largest_distance_mm,
    long_and_short_mm,
)

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
"""Definitions of a diameter; each diameter of a reference is stored with the name of one."""


def slice_sizes(owner: IntArray, voxel: IntArray, spacing_mm: FloatArray) -> pl.DataFrame:
    """Area, long and short axis of regions on each of their slices.

    A pixel is the square around its centre; those of a row that touch are measured as one bar.
    ``voxel`` is column, row and slice, n x 3; ``spacing_mm`` has one row per region.
    """
    by_row = np.lexsort((voxel[:, 0], voxel[:, 1], voxel[:, 2], owner))
    place = np.column_stack([owner, voxel[:, ::-1]])[by_row]  # owner, slice, row, column
    step = np.diff(place, axis=0, prepend=place[:1] - 2)
    is_new = (step[:, :2] != 0).any(axis=1)
    starts = np.flatnonzero(is_new)
    runs = np.flatnonzero(is_new | (step[:, 2] != 0) | (step[:, 3] != 1))
    left, low = (place[runs][:, [3, 2]] - 0.5).T
    right, high = (place[np.append(runs, len(place))[1:] - 1][:, [3, 2]] + 0.5).T
    bars = np.stack([left, low, right, low, right, high, left, high], axis=1).reshape(-1, 4, 2)
    ends = np.roll(bars, -1, axis=1)
    sizes = []
    for start, stop in pairwise([*starts.tolist(), len(place)]):
        region, number = place[start, :2].tolist()
        pixel_mm = spacing_mm[region]
        first, last = np.searchsorted(runs, [start, stop])
        sides = ((part[first:last] * pixel_mm).reshape(-1, 2) for part in (bars, ends))
        axes = axes_of_sides(*sides)
        sizes.append((region, number, (stop - start) * float(pixel_mm[0] * pixel_mm[1]), *axes))
    return pl.DataFrame(sizes, schema=_SLICE_SIZES, orient="row")


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
    is_box: BoolArray,
    corners_mm: Sequence[FloatArray],
) -> pl.DataFrame:
    """The same of regions that were drawn as polygons, which do not overlap, or as boxes."""
    sizes = []
    for region, number in sorted(set(zip(owner.tolist(), slice_index.tolist(), strict=True))):
        here = np.flatnonzero((owner == region) & (slice_index == number)).tolist()
        outer = [corners_mm[at] for at in here if not is_hole[at]]
        if outer:
            area = sum(area_mm2(corners_mm[at]) * (-1) ** bool(is_hole[at]) for at in here)
            axes = box_axes_mm(outer) if is_box[here].all() else long_and_short_mm(*outer)
            sizes.append((region, number, area, *axes))
    return pl.DataFrame(sizes, schema=_SLICE_SIZES, orient="row")


def box_axes_mm(boxes: Sequence[FloatArray]) -> tuple[float, float]:
    """The longer and the shorter side of the hull of some boxes, in the plane of their slice."""
    corners = np.concatenate(boxes)
    short, long = np.sort(np.ptp(corners, axis=0)).tolist()
    return long, short


def region_sizes(slices: pl.DataFrame, slice_spacing_mm: FloatArray) -> pl.DataFrame:
    """Sizes of regions from their slices, under every definition for which a region is enough.

    Long and short axis are those on the slice with the largest area.
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
            extent[outline[part[0]]] = largest_distance_mm(points_mm[part])
    return extent
