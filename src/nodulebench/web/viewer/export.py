"""Submitted readings -> files for all other commands: NIFDC CSV, cases, findings.

Slices are those of the image as it was acquired, even if it was shown on an upright grid.
``cases.csv`` describes the grid.
"""

import io
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.annotation.readings import finding_name, table_of
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.tables import CASES, MARK_SLICES, MARKS, PLACE, Submission
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.imaging.outlines import outline_text
from nodulebench.io.cases import file_of_case
from nodulebench.io.csv_files import write_csv
from nodulebench.io.formats import FORMATS
from nodulebench.io.images.label_files import Session, sessions_of
from nodulebench.io.images.nifti_labels import SUFFIX, TABLE
from nodulebench.io.marks.nifdc import write_marks
from nodulebench.io.readings import write_findings
from nodulebench.web.viewer.drafts import Drafts
from nodulebench.web.viewer.findings import (
    DIGITS,
    Finding,
    OutlinedSlice,
    grid_of,
    on_original,
    outlines_of,
    sizes_of,
)
from nodulebench.web.viewer.scans import Tiles, tiles_of
from nodulebench.web.viewer.session import ReadingSession

NODULES, CASE_TABLE, READINGS = "nodules.csv", "cases.csv", "readings"


def write_readings(session: ReadingSession, drafts: Drafts) -> None:
    """Write all submitted readings into the folder of the session.

    ``nodules.csv`` holds the outlined nodules, slice by slice, in the NIFDC format; ``readings/``
    holds every finding with its attributes, also points and non-nodules; ``cases.csv`` the scans.
    """
    tiles, drawn = _submitted(session, drafts)
    readings = readings_of(session.reader, tiles, drawn)
    write_csv(readings.cases, session.folder / CASE_TABLE)
    write_marks(_submission(session.reader, tiles, drawn), session.folder / NODULES, readings.cases)
    write_findings(readings, session.folder / READINGS)


def answer_of(session: ReadingSession, drafts: Drafts) -> Submission:
    return _submission(session.reader, *_submitted(session, drafts))


def _submitted(
    session: ReadingSession, drafts: Drafts
) -> tuple[dict[str, Tiles], list[tuple[str, str, Finding]]]:
    scans = [scan for scan in session.scans if drafts.of(scan.case_id).is_submitted]
    tiles = {scan.case_id: tiles_of(scan, session.cache) for scan in scans}
    drawn = [
        (case_id, name, to_original_grid(finding, tiles[case_id]))
        for case_id in tiles
        for name, finding in drafts.of(case_id).present.items()
    ]
    return tiles, drawn


def _submission(
    reader: str, tiles: Mapping[str, Tiles], drawn: Sequence[tuple[str, str, Finding]]
) -> Submission:
    nodules = [entry for entry in drawn if entry[2].kind == "nodule" and entry[2].slices]
    return Submission(
        reader,
        table_of(MARKS, [_mark(*nodule, tiles[nodule[0]]) for nodule in nodules]),
        table_of(
            MARK_SLICES,
            [row for nodule in nodules for row in slice_rows(*nodule, tiles[nodule[0]])],
        ),
    )


def readings_of(
    reader: str, tiles: Mapping[str, Tiles], drawn: Sequence[tuple[str, str, Finding]]
) -> Readings:
    """A reader's findings (case, name, finding of ``to_original_grid``) with the grids."""
    rows = [{"case_id": name, **geometry_columns(grid_of(tile))} for name, tile in tiles.items()]
    return Readings(
        reader,
        table_of(CASES, rows),
        table_of(SESSIONS, [{"case_id": name, "reader_id": reader} for name in tiles]),
        table_of(FINDINGS, [_finding(*entry, reader) for entry in drawn], _FURTHER),
        table_of(FINDING_SLICES, [row for entry in drawn for row in _outlines(*entry, reader)]),
    )


def to_original_grid(finding: Finding, tiles: Tiles) -> Finding:
    if not finding.slices:
        return finding
    return finding.model_copy(update={"slices": on_original(finding.slices, tiles)})


def _mark(case_id: str, name: str, finding: Finding, tiles: Tiles) -> JsonObject:
    sizes = sizes_of(finding, grid_of(tiles))
    largest = max(sizes["slices"], key=lambda slice_: float(slice_["area_mm2"]))
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


def slice_rows(case_id: str, name: str, finding: Finding, tiles: Tiles) -> Iterator[JsonObject]:
    for drawn, slice_ in zip(
        finding.slices, sizes_of(finding, grid_of(tiles))["slices"], strict=True
    ):
        sizes = {key: value for key, value in slice_.items() if key != "area_mm2"}
        x, y = slice_["center_x_mm"], slice_["center_y_mm"]
        yield {
            "case_id": case_id,
            "mark_id": name,
            **sizes,
            "z_mm": _height(tiles, drawn.slice_index, x, y),
            "contour": outline_text(drawn.outline),
        }


def _height(tiles: Tiles, number: int, x: float, y: float) -> float:
    return float(grid_of(tiles).height_on(np.array([float(number)]), np.array([[x, y]]))[0])


def _finding(case_id: str, name: str, finding: Finding, reader: str) -> JsonObject:
    x, y, z = finding.position_mm
    position = {} if finding.slices else {"x_mm": x, "y_mm": y, "z_mm": z}
    return {
        "case_id": case_id,
        "finding_id": finding_name(reader, name),
        "reader_id": reader,
        "kind": finding.kind,
        **position,
        "type": finding.type,
        "density": finding.density,
        "subtlety": finding.subtlety,
        "malignancy_rating": finding.malignancy,
        "source_id": name,
        "is_near_vessel": finding.is_near_vessel,
        "is_near_cavity": finding.is_near_cavity,
        "comment": finding.comment or None,
    }


def _outlines(case_id: str, name: str, finding: Finding, reader: str) -> Iterator[JsonObject]:
    for drawn in finding.slices:
        yield {
            "case_id": case_id,
            "finding_id": finding_name(reader, name),
            "slice_index": drawn.slice_index,
            "outline_index": 0,
            "is_hole": False,
            "convention": "boundary",
            "contour": outline_text(drawn.outline),
        }


_FURTHER = {"is_near_vessel": pl.Boolean, "is_near_cavity": pl.Boolean, "comment": pl.String}


PACKED = ".nifti_labels.zip"
"""A label map, zipped with the table that explains its numbers."""
LARGEST_PART = 64 << 20
WRITABLE = ("slicer_markups", "seg_nrrd", "nifti_labels", "lidc_xml")
READABLE = {
    ".mrk.json": "slicer_markups",
    ".seg.nrrd": "seg_nrrd",
    ".nrrd": "seg_nrrd",
    ".nii.gz": "nifti_labels",
    ".nii": "nifti_labels",
    ".xml": "lidc_xml",
    PACKED: "nifti_labels",
}


def write_file(
    kind: str, case_id: str, reader: str, findings: Mapping[str, Finding], tiles: Tiles
) -> tuple[str, bytes]:
    """Name and content of a file; a zip if the format has several files."""
    drawn = [
        (case_id, name, to_original_grid(finding, tiles)) for name, finding in findings.items()
    ]
    readings = readings_of(reader, {case_id: tiles}, drawn)
    write = FORMATS[kind].write_readings
    if write is None:
        raise AssertionError("a format of WRITABLE writes readings")
    with tempfile.TemporaryDirectory() as folder:
        write(readings, Path(folder) / "written", readings.cases)
        files = sorted(path for path in Path(folder, "written").rglob("*") if path.is_file())
        if len(files) == 1:
            return files[0].name, files[0].read_bytes()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, str(file.relative_to(Path(folder, "written"))))
    return file_of_case(case_id, f".{kind}.zip"), packed.getvalue()


def read_file(name: str, content: bytes, case_id: str, tiles: Tiles) -> list[Finding]:
    ending = max(
        (suffix for suffix in READABLE if name.lower().endswith(suffix)), key=len, default=None
    )
    if ending is None:
        known = ", ".join(READABLE)
        raise InputError.at(
            f"file '{name}'", "is not in a format that can be read.", f"Known: {known}."
        )
    read = FORMATS[READABLE[ending]].read_readings
    if read is None:
        raise AssertionError("a format of READABLE reads readings")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / file_of_case(case_id, "" if ending == PACKED else ending)
        if ending == PACKED:
            file.mkdir()
            _unpack(name, content, file, case_id)
        else:
            file.write_bytes(content)
        readings = read(file, readings_of("", {case_id: tiles}, []).cases)
    return list(_findings(readings, tiles))


def _unpack(name: str, content: bytes, folder: Path, case_id: str) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = {part.filename: part for part in archive.infolist()}
            maps = [part for part in parts if part.lower().endswith(SUFFIX)]
            tables = [part for part in parts if part.endswith(TABLE)]
            if len(maps) != 1 or len(tables) > 1:
                raise InputError.at(f"file '{name}'", f"holds {len(maps)} label maps, not one.")
            if any(parts[map_].file_size > LARGEST_PART for map_ in (*maps, *tables)):
                raise InputError.at(f"file '{name}'", "holds a part that is larger than 64 MiB.")
            (folder / file_of_case(case_id, SUFFIX)).write_bytes(archive.read(maps[0]))
            table = archive.read(tables[0]) if tables else b""
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error) as error:
        raise InputError.at(f"file '{name}'", f"is not a readable zip: {error}.") from error
    if table:
        try:
            rows = pl.read_csv(table, infer_schema=False, glob=False)
        except pl.exceptions.PolarsError as error:
            raise InputError.at(f"file '{name}'", f"its {TABLE} cannot be read.") from error
        names = {"case_id": pl.lit(case_id), "reader_id": pl.lit("")}
        write_csv(rows.with_columns(**names), folder / TABLE)


def _findings(readings: Readings, tiles: Tiles) -> Iterator[Finding]:
    for session in sessions_of(readings, readings.cases):
        for name, row in session.rows.items():
            finding = _exchange_finding(session, name, row, tiles)
            if finding is not None:
                yield finding


def _exchange_finding(session: Session, name: str, row: JsonObject, tiles: Tiles) -> Finding | None:
    """A finding on the grid shown; None: it has neither voxels in the image nor a position."""
    slices: tuple[OutlinedSlice, ...] = ()
    position = [row[axis] for axis in PLACE]
    if name in session.outlines:
        voxel = session.voxels[name]
        if not len(voxel):
            return None
        middle = grid_of(tiles).to_world(voxel.astype(np.float64))
        shown = np.rint(tiles.grid.to_index(middle)).astype(np.int64)
        inside = np.all((shown >= 0) & (shown < tiles.volume.shape[::-1]), axis=1)
        slices = outlines_of(np.unique(shown[inside], axis=0), tiles.grid)
        position = middle.mean(axis=0).round(DIGITS).tolist()
    if position[0] is None:
        return None
    attributes = {key: row.get(key) or None for key in ("type", "density", "subtlety")}
    return Finding.model_validate(
        {
            "kind": row["kind"],
            "position_mm": position,
            "slices": slices,
            **attributes,
            "malignancy": row.get("malignancy_rating") or None,
        }
    )
