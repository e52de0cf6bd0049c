"""Readings that were handed in -> files that everything else takes: NIFDC CSV, cases, findings.

Slices are those of the image as it was acquired, also where it was shown on an upright grid; which
grid that is, ``cases.csv`` tells.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.schema import TableSchema
from nodulebench.core.tables import CASES, MARK_SLICES, MARKS, Submission
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.imaging.outlines import outline_text
from nodulebench.io.csv_files import write_csv
from nodulebench.io.findings_tables import write_findings
from nodulebench.io.marks.nifdc import write_marks
from nodulebench.web.viewer.drafts import Drafts
from nodulebench.web.viewer.findings import Finding
from nodulebench.web.viewer.measured import sizes_of
from nodulebench.web.viewer.original import grid_of, on_original
from nodulebench.web.viewer.session import Room
from nodulebench.web.viewer.tiles import Tiles, tiles_of

NODULES, CASE_TABLE, READINGS = "nodules.csv", "cases.csv", "readings"


def write_readings(room: Room, drafts: Drafts) -> None:
    """Write everything that was handed in so far into the folder of the room.

    ``nodules.csv`` has the outlined nodules, slice by slice, as NIFDC has them; ``readings/`` every
    finding with all that was said of it, points and non-nodules too; ``cases.csv`` the scans.
    """
    tiles, found = _handed_in(room, drafts)
    readings = readings_of(room.reader, tiles, found)
    write_csv(readings.cases, room.folder / CASE_TABLE)
    write_marks(_submission(room.reader, tiles, found), room.folder / NODULES, readings.cases)
    write_findings(readings, room.folder / READINGS)


def answer_of(room: Room, drafts: Drafts) -> Submission:
    """The outlined nodules that were handed in so far, as a submission."""
    return _submission(room.reader, *_handed_in(room, drafts))


def _handed_in(
    room: Room, drafts: Drafts
) -> tuple[dict[str, Tiles], list[tuple[str, str, Finding]]]:
    """The voxels of scans that were handed in, and what was drawn there, as it was acquired."""
    scans = [one for one in room.scans if drafts.of(one.case_id).is_handed_in]
    tiles = {one.case_id: tiles_of(one, room.cache) for one in scans}
    found = [
        (case_id, name, placed(finding, tiles[case_id]))
        for case_id in tiles
        for name, finding in drafts.of(case_id).present.items()
    ]
    return tiles, found


def _submission(
    reader: str, tiles: Mapping[str, Tiles], found: Sequence[tuple[str, str, Finding]]
) -> Submission:
    nodules = [one for one in found if one[2].kind == "nodule" and one[2].slices]
    return Submission(
        reader,
        _table(MARKS, [_mark(*one, tiles[one[0]]) for one in nodules]),
        _table(MARK_SLICES, [row for one in nodules for row in slice_rows(*one, tiles[one[0]])]),
    )


def readings_of(
    reader: str, tiles: Mapping[str, Tiles], found: Sequence[tuple[str, str, Finding]]
) -> Readings:
    """What a reader drew in some cases, with the grid of each.

    Args:
        reader: who drew it.
        tiles: the cases that were read.
        found: case, name and finding of each, as ``placed`` puts it.
    """
    rows = [{"case_id": name, **geometry_columns(grid_of(one))} for name, one in tiles.items()]
    return Readings(
        reader,
        _table(CASES, rows),
        _table(SESSIONS, [{"case_id": name, "reader_id": reader} for name in tiles]),
        _table(FINDINGS, [_finding(*one, reader) for one in found]),
        _table(FINDING_SLICES, [row for one in found for row in _outlines(*one, reader)]),
    )


def placed(finding: Finding, tiles: Tiles) -> Finding:
    """A finding with its outlines on the slices of the image as it was acquired."""
    if not finding.slices:
        return finding
    return finding.model_copy(update={"slices": on_original(finding.slices, tiles)})


def _mark(case_id: str, name: str, finding: Finding, tiles: Tiles) -> dict[str, Any]:
    sizes = sizes_of(finding, grid_of(tiles))
    largest = max(sizes["slices"], key=lambda one: float(one["area_mm2"]))
    x, y = largest["center_x_mm"], largest["center_y_mm"]
    return {
        "case_id": case_id,
        "mark_id": name,
        "x_mm": x,
        "y_mm": y,
        "z_mm": _height(tiles, largest["slice_index"], x, y),
        "diameter_mm": sizes["average_mm"],
        "long_mm": sizes["long_mm"],
        "short_mm": sizes["short_mm"],
        "type": finding.type,
        "density": finding.density,
    }


def slice_rows(case_id: str, name: str, finding: Finding, tiles: Tiles) -> Iterator[dict[str, Any]]:
    """Box, axes, height and outline of a finding on each slice of the image."""
    for drawn, one in zip(finding.slices, sizes_of(finding, grid_of(tiles))["slices"], strict=True):
        sizes = {key: value for key, value in one.items() if key != "area_mm2"}
        x, y = one["center_x_mm"], one["center_y_mm"]
        yield {
            "case_id": case_id,
            "mark_id": name,
            **sizes,
            "z_mm": _height(tiles, drawn.slice_index, x, y),
            "contour": outline_text(drawn.outline),
        }


def _height(tiles: Tiles, number: int, x: float, y: float) -> float:
    return float(grid_of(tiles).height_on(np.array([float(number)]), np.array([[x, y]]))[0])


def _finding(case_id: str, name: str, finding: Finding, reader: str) -> dict[str, Any]:
    x, y, z = finding.place_mm
    place = {} if finding.slices else {"x_mm": x, "y_mm": y, "z_mm": z}
    return {
        "case_id": case_id,
        "finding_id": f"{reader}:{name}",
        "reader_id": reader,
        "kind": finding.kind,
        **place,
        "type": finding.type,
        "density": finding.density,
        "subtlety": finding.subtlety,
        "malignancy_rating": finding.malignancy,
        "source_id": name,
        "is_near_vessel": finding.is_near_vessel,
        "is_near_cavity": finding.is_near_cavity,
        "comment": finding.comment or None,
    }


def _outlines(case_id: str, name: str, finding: Finding, reader: str) -> Iterator[dict[str, Any]]:
    for drawn in finding.slices:
        yield {
            "case_id": case_id,
            "finding_id": f"{reader}:{name}",
            "slice_index": drawn.slice_index,
            "outline_index": 0,
            "is_hole": False,
            "convention": "boundary",
            "contour": outline_text(drawn.outline),
        }


_FURTHER = {"is_near_vessel": pl.Boolean, "is_near_cavity": pl.Boolean, "comment": pl.String}
"""What FINDINGS may have besides."""


def _table(schema: TableSchema, rows: list[dict[str, Any]]) -> pl.DataFrame:
    types = {one.name: one.dtype for one in schema.columns}
    further = _FURTHER if schema is FINDINGS else {}
    return schema.conform(pl.DataFrame(rows, schema={**types, **further}), schema.name)
