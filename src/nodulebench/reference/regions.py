"""Readings -> FindingRegions: the voxels of each finding, on the grid of its image."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.readings import Readings
from nodulebench.core.text import counted
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.imaging.outlines import Outlines, read_outlines
from nodulebench.imaging.rasters import enclosed_pixels, polygon_pixels

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class FindingRegions:
    """Voxels of every outlined finding, sorted by finding, slice, row and column."""

    finding: IntArray
    voxel: IntArray
    """Column i, row j and slice_index of each voxel: n x 3."""
    first: IntArray
    count: IntArray
    """How many each finding has; 0: not outlined."""
    center_mm: FloatArray
    """Mean position of each finding's voxels; NaN without any."""

    def of(self, finding: int) -> IntArray:
        start = self.first[finding]
        return self.voxel[start : start + self.count[finding]]


@dataclass(frozen=True, slots=True)
class FindingOutlines:
    """FINDING_SLICES as arrays, by case, and their points in image coordinates."""

    finding: IntArray
    case: IntArray
    slice_index: IntArray
    z_mm: FloatArray
    is_hole: BoolArray
    is_rim: BoolArray
    """Whether the points are pixels outside the nodule, not corners of its boundary."""
    is_box: BoolArray
    points: Outlines
    point_ij: FloatArray
    """Image column and row of each point: n x 2."""


def case_geometries(cases: pl.DataFrame) -> list[Geometry | None]:
    """The geometry of each case; the origin counts as zero where it is not given."""
    origin = [f"origin_{axis}_mm" for axis in ("x", "y", "z")]
    by_case = geometries(cases.with_columns(pl.col(origin).fill_null(0.0)))
    return [by_case.get(case_id) for case_id in cases["case_id"]]


def outlines_of(readings: Readings, places: list[Geometry | None]) -> FindingOutlines:
    rows = _joined(readings)
    case = rows["case"].cast(pl.Int64).to_numpy()
    _require_positions(readings, np.unique(case), places)
    points = read_outlines(rows["contour"], allows_none=False)
    point_case = case[points.owner]
    slice_index = rows["slice_index"].to_numpy()
    z_mm = rows["z_mm"].to_numpy().astype(np.float64).copy()
    ij = np.empty((len(point_case), 2))
    for number, part in _runs(point_case):
        place = require_geometry(places[number])
        xy = np.column_stack([points.x[part], points.y[part]])
        heights = place.height_on(slice_index[points.owner[part]].astype(np.float64), xy)
        ij[part] = place.to_index(np.column_stack([xy, heights]))[:, :2]
        for outline in np.flatnonzero(np.isnan(z_mm) & (case == number)):
            z_mm[outline] = heights[points.owner[part] == outline].mean()
    return FindingOutlines(
        finding=rows["finding"].cast(pl.Int64).to_numpy(),
        case=case,
        slice_index=slice_index,
        z_mm=z_mm,
        is_hole=rows["is_hole"].to_numpy(),
        is_rim=(rows["convention"] == "outside_pixels").to_numpy(),
        is_box=(rows["convention"] == "box").to_numpy(),
        points=points,
        point_ij=ij,
    )


def _joined(readings: Readings) -> pl.DataFrame:
    """FINDING_SLICES with the rows of case and finding, sorted by case."""
    rows = readings.slices.join(
        readings.findings.select("case_id", "finding_id").with_row_index("finding"),
        on=["case_id", "finding_id"],
        how="left",
        maintain_order="left",
    ).join(
        readings.cases.select("case_id").with_row_index("case"),
        on="case_id",
        how="left",
        maintain_order="left",
    )
    stray = rows.filter(pl.col("finding").is_null() | pl.col("case").is_null())
    raise_problems(
        Problem(
            f"readings '{readings.name}'",
            f"outlines are given for finding '{row[1]}' of case '{row[0]}', which is not "
            "among the findings.",
        )
        for row in stray.select("case_id", "finding_id").unique(maintain_order=True).rows()
    )
    return rows.sort("case", maintain_order=True)


def _require_positions(readings: Readings, cases: IntArray, places: list[Geometry | None]) -> None:
    unplaced = [number for number in cases.tolist() if places[number] is None]
    if unplaced:
        names = readings.cases["case_id"]
        raise InputError(
            [
                Problem(
                    f"case '{names[number]}'",
                    "has outlines but no voxel size.",
                    "Give a table of cases that lists it with spacing and origin.",
                )
                for number in unplaced[:_MOST_NAMED]
            ]
            + [Problem("cases", f"{counted(len(unplaced), 'case')} without a voxel size.")]
        )


def finding_regions(
    readings: Readings,
    outlines: FindingOutlines,
    places: list[Geometry | None],
    *,
    includes_rim: bool = False,
) -> FindingRegions:
    """The voxels of every outlined finding.

    On each slice the outlines of a finding are joined, and its holes, with their rims, are taken
    out. With ``includes_rim``, outside pixels count as part of the nodule, against LIDC's rule.
    """
    owners, voxels = [np.empty(0, dtype=np.int64)], [np.empty((0, 3), dtype=np.int64)]
    first, count = np.zeros((2, readings.findings.height), dtype=np.int64)
    center_mm = np.full((readings.findings.height, 3), np.nan)
    before = 0
    for number, part in _runs(outlines.case):
        finding, voxel, z_mm = _case_voxels(outlines, part, includes_rim=includes_rim)
        if not len(finding):
            continue
        start = np.flatnonzero(np.diff(finding, prepend=-1))
        drawn, size = finding[start], np.diff(np.append(start, len(finding)))
        place, index = require_geometry(places[number]), voxel.astype(np.float64)
        index[:, 2] = place.slice_number(index[:, 2])
        xyz_mm = place.to_world(index)
        if place.is_axial:  # the height is that in the file: spacing can be uneven
            xyz_mm[:, 2] = z_mm
        center_mm[drawn] = np.add.reduceat(xyz_mm, start, axis=0) / size[:, None]
        first[drawn], count[drawn] = start + before, size
        before += len(finding)
        owners.append(finding)
        voxels.append(voxel)
    _require_points(readings, outlines, count)
    return FindingRegions(np.concatenate(owners), np.concatenate(voxels), first, count, center_mm)


def _case_voxels(
    outlines: FindingOutlines, part: slice, *, includes_rim: bool
) -> tuple[IntArray, IntArray, FloatArray]:
    """Finding, voxel and height of all outlined voxels of one case, sorted, each voxel once."""
    outline, i, j = _drawn_pixels(outlines, part, includes_rim=includes_rim)
    pixel = np.column_stack([outlines.finding[outline], outlines.slice_index[outline], j, i])
    if not len(pixel):
        return pixel[:, 0], pixel[:, :3], np.empty(0)
    low = pixel.min(axis=0)
    extent = tuple((pixel.max(axis=0) - low + 1).tolist())
    number = np.ravel_multi_index(tuple((pixel - low).T), extent)
    is_hole = outlines.is_hole[outline]
    filled, where = np.unique(number[~is_hole], return_index=True)
    stays = ~np.isin(filled, number[is_hole])
    row = np.flatnonzero(~is_hole)[where[stays]]
    finding, slice_index, j, i = pixel[row].T
    return finding, np.column_stack([i, j, slice_index]), outlines.z_mm[outline[row]]


def _drawn_pixels(
    outlines: FindingOutlines, part: slice, *, includes_rim: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """Outline, column and row of all pixels that the outlines of one case cover or cut out."""
    lowest, highest = np.searchsorted(outlines.points.owner, [part.start, part.stop])
    owner = outlines.points.owner[lowest:highest]
    ij = outlines.point_ij[lowest:highest]
    is_rim = outlines.is_rim[owner]
    rims, local = np.unique(owner[is_rim], return_inverse=True)
    rim_i, rim_j = np.rint(ij[is_rim]).astype(np.int64).T
    which, i, j, is_edge = enclosed_pixels(local, rim_i, rim_j)
    outline = rims[which]
    is_counted = ~is_edge | includes_rim | outlines.is_hole[outline]
    parts = [(outline[is_counted], i[is_counted], j[is_counted])]
    for polygon in np.unique(owner[~is_rim]):
        i, j = polygon_pixels(ij[owner == polygon])
        parts.append((np.full(len(i), polygon), i, j))
    outline, i, j = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return outline, i, j


def _require_points(readings: Readings, outlines: FindingOutlines, counts: IntArray) -> None:
    named = readings.findings.select("case_id", "finding_id")
    raise_problems(
        Problem(
            "case '{}' finding '{}'".format(*named.row(row)),
            "its outlines enclose no pixel.",
            "Draw it again, or mark it as a point.",
        )
        for row in np.unique(outlines.finding).tolist()
        if not counts[row]
    )


def require_geometry(place: Geometry | None) -> Geometry:
    """The geometry of a case with outlines; ``outlines_of`` has checked that it is there."""
    if place is None:
        raise AssertionError("outlines_of refuses cases without geometry")
    return place


def _runs(values: IntArray) -> Iterator[tuple[int, slice]]:
    first = np.flatnonzero(np.diff(values, prepend=-1))
    for start, stop in pairwise([*first.tolist(), len(values)]):
        yield int(values[start]), slice(start, stop)
