"""What a reader drew in a scan <-> a file of another viewer, voxel for voxel.

Only the reader's own draft is written; and what a file holds is not kept here: the page puts it as
edits, like everything that is drawn.
"""

import io
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.readings import Readings
from nodulebench.core.tables import PLACE
from nodulebench.io.case_names import file_of_case
from nodulebench.io.csv_files import write_csv
from nodulebench.io.formats import FORMATS
from nodulebench.io.viewers.nifti_labels import SUFFIX, TABLE
from nodulebench.io.viewers.sessions import Session, sessions_of
from nodulebench.web.viewer.drawn import DIGITS, outlines_of
from nodulebench.web.viewer.export import placed, readings_of
from nodulebench.web.viewer.findings import Finding
from nodulebench.web.viewer.original import grid_of
from nodulebench.web.viewer.tiles import Tiles

PACKED = ".nifti_labels.zip"
"""A label map with the table of what its numbers are, as it is saved here."""
LARGEST_PART = 64 << 20
WRITTEN = ("slicer_markups", "seg_nrrd", "nifti_labels", "lidc_xml")
"""Formats that a reading can be saved as."""
TAKEN = {
    ".mrk.json": "slicer_markups",
    ".seg.nrrd": "seg_nrrd",
    ".nrrd": "seg_nrrd",
    ".nii.gz": "nifti_labels",
    ".nii": "nifti_labels",
    ".xml": "lidc_xml",
    PACKED: "nifti_labels",
}
"""Endings of files that can be read."""


def written(
    kind: str, case_id: str, reader: str, findings: Mapping[str, Finding], tiles: Tiles
) -> tuple[str, bytes]:
    """The name and the bytes of a file; a zip where a format has several.

    Raises:
        InputError: if the format has no place for what was drawn.
    """
    found = [(case_id, name, placed(one, tiles)) for name, one in findings.items()]
    readings = readings_of(reader, {case_id: tiles}, found)
    write = FORMATS[kind].write_readings
    if write is None:
        raise AssertionError("it writes readings")
    with tempfile.TemporaryDirectory() as folder:
        write(readings, Path(folder) / "written", readings.cases)
        files = sorted(one for one in Path(folder, "written").rglob("*") if one.is_file())
        if len(files) == 1:
            return files[0].name, files[0].read_bytes()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for one in files:
                archive.write(one, str(one.relative_to(Path(folder, "written"))))
    return file_of_case(case_id, f".{kind}.zip"), packed.getvalue()


def taken(name: str, content: bytes, case_id: str, tiles: Tiles) -> list[Finding]:
    """What a file says of a scan, whatever case and reader it names.

    Raises:
        InputError: if it is of no known kind, or not of this scan's grid.
    """
    ending = max((one for one in TAKEN if name.lower().endswith(one)), key=len, default=None)
    if ending is None:
        known = ", ".join(TAKEN)
        raise InputError.at(f"file '{name}'", "is of no kind that can be read.", f"Known: {known}.")
    read = FORMATS[TAKEN[ending]].read_readings
    if read is None:
        raise AssertionError("it reads readings")
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / file_of_case(case_id, "" if ending == PACKED else ending)
        if ending == PACKED:
            given.mkdir()
            _unpack(name, content, given, case_id)
        else:
            given.write_bytes(content)
        readings = read(given, readings_of("", {case_id: tiles}, []).cases)
    return list(_findings(readings, tiles))


def _unpack(name: str, content: bytes, folder: Path, case_id: str) -> None:
    """Put the label map of a zip and its table into a folder, under the name of a case.

    Raises:
        InputError: if there is not one map in it, or a part is too large.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = {one.filename: one for one in archive.infolist()}
            maps = [one for one in parts if one.lower().endswith(SUFFIX)]
            tables = [one for one in parts if one.endswith(TABLE)]
            if len(maps) != 1 or len(tables) > 1:
                raise InputError.at(f"file '{name}'", f"holds {len(maps)} label maps, not one.")
            if any(parts[one].file_size > LARGEST_PART for one in (*maps, *tables)):
                raise InputError.at(f"file '{name}'", "holds a part that is larger than 64 MiB.")
            (folder / file_of_case(case_id, SUFFIX)).write_bytes(archive.read(maps[0]))
            table = archive.read(tables[0]) if tables else b""
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error) as error:
        raise InputError.at(f"file '{name}'", f"is no zip that can be read: {error}.") from error
    if table:
        try:
            rows = pl.read_csv(table, infer_schema=False, glob=False)
        except pl.exceptions.PolarsError as error:
            raise InputError.at(f"file '{name}'", f"its {TABLE} cannot be read.") from error
        here = {"case_id": pl.lit(case_id), "reader_id": pl.lit("")}
        write_csv(rows.with_columns(**here), folder / TABLE)


def _findings(readings: Readings, tiles: Tiles) -> Iterator[Finding]:
    for session in sessions_of(readings, readings.cases):
        for name, row in session.rows.items():
            finding = _finding(session, name, row, tiles)
            if finding is not None:
                yield finding


def _finding(session: Session, name: str, row: dict[str, Any], tiles: Tiles) -> Finding | None:
    """A finding as it is shown; None: it has neither voxels in the image nor a place."""
    slices: tuple[Any, ...] = ()
    place = [row[axis] for axis in PLACE]
    if name in session.outlines:
        voxel = session.voxels[name]
        if not len(voxel):
            return None
        middle = grid_of(tiles).to_world(voxel.astype(np.float64))
        shown = np.rint(tiles.grid.to_index(middle)).astype(np.int64)
        inside = np.all((shown >= 0) & (shown < tiles.volume.shape[::-1]), axis=1)
        slices = outlines_of(np.unique(shown[inside], axis=0), tiles.grid)
        place = middle.mean(axis=0).round(DIGITS).tolist()
    if place[0] is None:
        return None
    said = {key: row.get(key) or None for key in ("type", "density", "subtlety")}
    return Finding.model_validate(
        {
            "kind": row["kind"],
            "place_mm": place,
            "slices": slices,
            **said,
            "malignancy": row.get("malignancy_rating") or None,
        }
    )
