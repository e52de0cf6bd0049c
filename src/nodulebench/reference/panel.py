"""Readings -> Panel: the position and size of each finding, in the form that rules need."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import Problem, UnknownNameError, raise_problems
from nodulebench.core.readings import Readings
from nodulebench.imaging.geometry import Geometry
from nodulebench.reference import sizes as measure
from nodulebench.reference.regions import (
    FindingOutlines,
    FindingRegions,
    case_geometries,
    finding_regions,
    outlines_of,
)


@dataclass(frozen=True)
class Panel:
    """The findings of all readers, measured. Arrays have one entry per row of FINDINGS."""

    readings: Readings
    places: list[Geometry | None]
    outlines: FindingOutlines
    regions: FindingRegions
    size_definition: str
    case: IntArray
    """Row in CASES."""
    reader: IntArray
    """Number of the reader; the same for one person."""
    is_nodule: BoolArray
    """Whether the reader called it a nodule that counts; the others are to be ignored."""
    xyz_mm: FloatArray
    diameter_mm: FloatArray
    """NaN where neither measured nor outlined."""

    @cached_property
    def readers_of_case(self) -> IntArray:
        """How many readers have read each case, with or without findings."""
        sessions = self.readings.sessions.group_by("case_id").len()
        counted = self.readings.cases.select("case_id").join(
            sessions, on="case_id", how="left", maintain_order="left"
        )
        return counted["len"].cast(pl.Int64).fill_null(0).to_numpy()

    @cached_property
    def _is_given(self) -> BoolArray:
        return self.readings.findings["diameter_mm"].is_not_null().to_numpy()

    def definition_of(self, members: IntArray) -> str:
        """How the diameters of findings are defined: by the panel, or measured by their readers."""
        given = self._is_given[members]
        if given.all():
            return "readers' diameters"
        also = " and readers' diameters" if given.any() else ""
        return f"{self.size_definition}{also}"

    @cached_property
    def is_boxed(self) -> BoolArray:
        boxed, drawn = np.zeros((2, self.readings.findings.height), dtype=np.int64)
        np.add.at(drawn, self.outlines.finding, 1)
        np.add.at(boxed, self.outlines.finding, self.outlines.is_box.astype(np.int64))
        is_boxed: BoolArray = (drawn > 0) & (boxed == drawn)
        return is_boxed

    @cached_property
    def spacing_mm(self) -> FloatArray:
        unknown = np.full(3, np.nan)
        rows = [unknown if place is None else place.spacing_mm for place in self.places]
        return np.array(rows).reshape(-1, 3)

    @cached_property
    def slice_heights(self) -> list[dict[int, float]]:
        """For each case the heights of its outlined slices: slice_index -> z in mm."""
        heights: list[dict[int, float]] = [{} for _ in self.places]
        for case, number, z_mm in zip(
            self.outlines.case.tolist(),
            self.outlines.slice_index.tolist(),
            self.outlines.z_mm.tolist(),
            strict=True,
        ):
            heights[case].setdefault(number, z_mm)
        return heights

    def nodules_by_case(self) -> Iterator[tuple[int, IntArray]]:
        """For each case its row and the rows of its nodule findings, in the order of reading."""
        rows = np.flatnonzero(self.is_nodule)
        by_case = rows[np.argsort(self.case[rows], kind="stable")]
        for part in np.split(by_case, np.flatnonzero(np.diff(self.case[by_case])) + 1):
            if len(part):
                yield int(self.case[part[0]]), part


def measure_findings(readings: Readings, *, size: str = "volume_equivalent") -> Panel:
    """Locate and measure every finding by a definition of its diameter, one of SIZE_DEFINITIONS.

    A diameter that the reader measured takes precedence.

    Raises:
        InputError: with one problem per finding without a position or size.
    """
    places = case_geometries(readings.cases)
    outlines = outlines_of(readings, places)
    regions = finding_regions(readings, outlines, places)
    findings = readings.findings
    point = findings.select("x_mm", "y_mm", "z_mm").to_numpy().astype(np.float64)
    panel = Panel(
        readings=readings,
        places=places,
        outlines=outlines,
        regions=regions,
        size_definition="",
        case=_rows(findings, readings.cases),
        reader=findings["reader_id"].rank("dense").cast(pl.Int64).to_numpy() - 1,
        is_nodule=(findings["kind"] == "nodule").to_numpy(),
        xyz_mm=np.where(np.isnan(point), regions.center_mm, point),
        diameter_mm=np.empty(0),
    )
    return measured_as(panel, size)


def measured_as(panel: Panel, size: str) -> Panel:
    if size not in measure.SIZE_DEFINITIONS:
        known = ", ".join(measure.SIZE_DEFINITIONS)
        raise UnknownNameError(f"'{size}' is not a definition of size. Known: {known}.")
    regions = panel.regions
    if size == "volume_equivalent_with_rim":
        regions = finding_regions(panel.readings, panel.outlines, panel.places, includes_rim=True)
    given = panel.readings.findings["diameter_mm"].to_numpy().astype(np.float64)
    drawn = _diameters(size, panel.outlines, regions, panel.spacing_mm[panel.case])
    sized = replace(
        panel, size_definition=size, diameter_mm=np.where(np.isnan(given), drawn, given)
    )
    _require_measured(sized)
    return sized


def _rows(findings: pl.DataFrame, cases: pl.DataFrame) -> IntArray:
    rows = findings.select("case_id").join(
        cases.select("case_id").with_row_index("row"), "case_id", "left", maintain_order="left"
    )
    unlisted = findings.filter(rows["row"].is_null())["case_id"].unique(maintain_order=True)
    raise_problems(
        Problem("findings", f"case '{case_id}' is not among the cases that were read.")
        for case_id in unlisted
    )
    return rows["row"].cast(pl.Int64).to_numpy()


def _diameters(
    definition: str, outlines: FindingOutlines, regions: FindingRegions, spacing: FloatArray
) -> FloatArray:
    """The diameter of each outlined finding under a definition; NaN for the others."""
    count = regions.count
    diameter = np.full(len(count), np.nan)
    drawn = np.flatnonzero(count)
    if definition.startswith("volume_equivalent"):
        diameter[drawn] = measure.volume_equivalent_mm(count[drawn], spacing[drawn])
    elif definition == "outline_extent":
        pixel_mm = spacing[outlines.finding[outlines.points.owner], :2]
        extent = measure.outline_extents(
            outlines.points.owner, outlines.point_ij * pixel_mm, len(outlines.finding)
        )
        diameter[drawn] = 0.0
        np.maximum.at(diameter, outlines.finding, extent)
    elif definition == "area_equivalent":
        diameter = measure.area_equivalent_mm(regions.finding, regions.voxel, spacing)
    else:
        slices = measure.slice_sizes(regions.finding, regions.voxel, spacing[:, :2])
        sizes = measure.region_sizes(slices, spacing[:, 2])
        diameter[sizes["owner"].to_numpy()] = sizes[definition].to_numpy()
    if not outlines.is_rim.all() and definition != "outline_extent":
        sizes = measure.region_sizes(_polygon_sizes(outlines, spacing), spacing[:, 2])
        column = "volume_equivalent" if definition.startswith("volume") else definition
        diameter[sizes["owner"].to_numpy()] = sizes[column].to_numpy()
    return diameter


def _polygon_sizes(outlines: FindingOutlines, spacing_mm: FloatArray) -> pl.DataFrame:
    """Sizes on each slice of findings that were drawn as boundaries, without pixel rounding."""
    polygons = np.flatnonzero(~outlines.is_rim)
    bounds = np.searchsorted(outlines.points.owner, np.column_stack([polygons, polygons + 1]))
    corners = [
        outlines.point_ij[start:stop] * spacing_mm[outlines.finding[outline], :2]
        for outline, (start, stop) in zip(polygons, bounds, strict=True)
    ]
    return measure.drawn_slice_sizes(
        outlines.finding[polygons],
        outlines.slice_index[polygons],
        outlines.is_hole[polygons],
        outlines.is_box[polygons],
        corners,
    )


def _require_measured(panel: Panel) -> None:
    named = panel.readings.findings.select("case_id", "finding_id")
    nowhere = np.isnan(panel.xyz_mm.sum(axis=1))
    sizeless = panel.is_nodule & np.isnan(panel.diameter_mm) & ~nowhere
    missing = "has neither a point nor an outline.", "has no outline or diameter."
    what = np.where(nowhere, *missing).tolist()
    raise_problems(
        Problem("case '{}' finding '{}'".format(*named.row(row)), what[row])
        for row in np.flatnonzero(nowhere | sizeless).tolist()
    )
