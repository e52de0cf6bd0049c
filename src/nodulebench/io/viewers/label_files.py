"""Files of labels, one for each case and reader <-> readings; what a file is, its format knows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl

from nodulebench.core.arrays import IntArray
from nodulebench.core.errors import InputError, made_of_each
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.readings import FINDINGS, Readings
from nodulebench.core.tables import CASES, PLACE
from nodulebench.imaging.geometry import Geometry, geometries, geometry_columns
from nodulebench.imaging.rasters import DrawnOutline, trace_outlines, voxels_of
from nodulebench.io.cases import file_of_case
from nodulebench.io.dicom.codes import OUTLINES
from nodulebench.io.dicom.findings import (
    CaseMatcher,
    Report,
    ReportedFinding,
    drawn_by_session,
    readings_of_reports,
    require_native_grid,
)
from nodulebench.io.dicom.sr_content import Region
from nodulebench.io.folders import files_below
from nodulebench.io.viewers.nrrd import LARGEST_BYTES

OFF_GRID = 0.05
"""How far, in voxels, a grid may lie beside that of the image and still be its own."""
_NOT_STATED = ("case_id", "finding_id", "reader_id", "source_id", *PLACE)
FACTS = {column.name: column.dtype for column in FINDINGS.columns if column.name not in _NOT_STATED}
"""What is said of a finding, beside its name and place."""


@dataclass(frozen=True, eq=False)
class Session:
    """What one reader drew in one case."""

    case_id: str
    reader_id: str
    grid: Geometry
    rows: dict[str, JsonObject]
    """FINDINGS by their ids, in order."""
    outlines: dict[str, list[DrawnOutline]]
    """Of those that have any."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Slices, rows and columns of the image.

        Raises:
            InputError: if they are not known.
        """
        if self.grid.size is None:
            what = "the size of its image is not known."
            raise InputError.at(f"case '{self.case_id}'", what, "Give size_x, size_y and size_z.")
        return tuple(self.grid.size[::-1].tolist())

    @property
    def voxels(self) -> dict[str, IntArray]:
        """Voxels (column, row, image) of every finding that is outlined."""
        return {name: voxels_of(drawn, self.grid) for name, drawn in self.outlines.items()}


def sessions_of(readings: Readings, cases: pl.DataFrame | None) -> list[Session]:
    """Every reading with the grid of its image, also those in which nothing was found.

    Raises:
        InputError: if the geometry of a case is not known, or its slices are not across the body.
    """
    grids = geometries(readings.cases) | geometries(cases)
    drawn = drawn_by_session(readings)
    found = []
    for case_id, reader_id in readings.sessions.select("case_id", "reader_id").iter_rows():
        if case_id not in grids:
            what = "has no geometry, without which outlines have no place in an image."
            raise InputError.at(f"case '{case_id}'", what, "Give its images or a table as cases.")
        require_native_grid(grids[case_id], f"case '{case_id}'")
        own = readings.findings.filter(case_id=case_id, reader_id=reader_id)
        rows = {row["finding_id"]: row for row in own.iter_rows(named=True)}
        outlines = drawn.get((case_id, reader_id), {})
        found.append(Session(case_id, reader_id, grids[case_id], rows, outlines))
    return found


def files_ending(path: Path, endings: tuple[str, ...]) -> list[Path]:
    """The file, or the files below a folder, whose names end so."""
    if path.is_file():
        return [path] if path.name.lower().endswith(endings) else []
    below = (Path(file) for file in files_below(path, lambda _: None))
    return [one for one in below if one.name.lower().endswith(endings)]


def case_and_reader(file: Path, path: Path, endings: tuple[str, ...]) -> tuple[str, str]:
    """Case by the name of a file, reader by that of its folder; empty: it lies in none."""
    ending = max((one for one in endings if file.name.lower().endswith(one)), key=len)
    inside = file.parent != path and path.is_dir()
    return file.name[: -len(ending)], file.parent.name if inside else ""


def facts_of(row: Mapping[str, Any]) -> JsonObject:
    """What is said of a finding."""
    return {name: row[name] for name in FACTS if row.get(name) is not None}


def stated(texts: Mapping[str, Any]) -> JsonObject:
    """Facts from texts or numbers; what is no fact, or none that can be, is left out."""
    found: JsonObject = {}
    for name, value in texts.items():
        kind = FACTS.get(name)
        try:
            if kind is not None and value not in ("", None):
                found[name] = str(value) if kind == pl.String else float(value)
            if kind == pl.Int64 and name in found:
                found[name] = int(found[name])
        except (TypeError, ValueError, OverflowError):
            continue
    return found


def reported(
    where: str, name: str, regions: Iterable[Region], facts: Mapping[str, Any]
) -> ReportedFinding:
    """A finding as a report has it."""
    numbers = {key: value for key, value in facts.items() if isinstance(value, float)}
    words = {key: value for key, value in facts.items() if key not in numbers and key != "kind"}
    kind = facts.get("kind", "nodule")
    return ReportedFinding(where, name, tuple(regions), kind, numbers, words)


def regions_of(voxel: IntArray, grid: Geometry, where: str) -> Iterator[Region]:
    """The outline of voxels (column, row, image) on every slice."""
    for k in np.unique(voxel[:, 2]).tolist():
        column, row, _ = voxel[voxel[:, 2] == k].T
        _, corner = trace_outlines(np.zeros(len(row), dtype=np.int64), column, row)
        level = np.full(len(corner), float(k))
        points = grid.to_world(np.column_stack([corner, level]))
        yield Region(where, OUTLINES["boundary", False].key, points, is_outline=True)


def on_grid(voxel: IntArray, own: Geometry, grid: Geometry, where: str) -> IntArray:
    """Voxels of one grid as those of another whose voxels they are.

    Raises:
        InputError: if the grids are not parts of the same.
    """
    index = grid.to_index(own.to_world(voxel.astype(np.float64)))
    nearest = np.rint(index).astype(np.int64)
    if len(index) and float(np.abs(index - nearest).max()) > OFF_GRID:
        what = "its voxels are not those of the image."
        raise InputError.at(where, what, "Save it on the grid of the image, not resampled.")
    return nearest


def readings_from(
    path: Path,
    reports: Sequence[Report],
    cases: pl.DataFrame | None,
    grids: Mapping[str, Geometry],
    notices: Iterable[Notice] = (),
) -> Readings:
    """Reports as readings; ``grids`` are those of cases of which the table tells none."""
    known = geometries(cases)
    rows = [
        {"case_id": case_id, **geometry_columns(grid)}
        for case_id, grid in grids.items()
        if case_id not in known
    ]
    table = cases
    if rows:
        named = [row["case_id"] for row in rows]
        made = CASES.arrange(pl.DataFrame(rows))
        kept = None if cases is None else cases.filter(~pl.col("case_id").is_in(named))
        table = made if kept is None else pl.concat([kept, made], how="diagonal_relaxed")
    return readings_of_reports(path, reports, CaseMatcher(table, {}, {}), notices)


VOXEL_BYTES = 8
"""What labels of a voxel may take, of all layers together, where the size of the image is known."""


class Labels(Protocol):
    """Voxels with numbers, and where they are."""

    @property
    def geometry(self) -> Geometry:
        """The grid of the file."""
        ...


Found = TypeVar("Found", bound=Labels)


def read_label_files(
    path: Path,
    endings: tuple[str, ...],
    cases: pl.DataFrame | None,
    read: Callable[[Path, int], Found],
    findings_of: Callable[[Found, Geometry, str, tuple[str, str]], Iterable[ReportedFinding]],
) -> Readings:
    """Readings: the case is the file's name, the reader that of its folder.

    Args:
        path: a file, or a folder of them.
        endings: how their names end.
        cases: table of cases; the voxels must be those of their images.
        read: reads a file that unpacks to no more bytes than that.
        findings_of: findings of a file on the grid of its image, by the file's name, and the
            reader and the case that it is of.
    """
    files, known = files_ending(path, endings), geometries(cases)
    named = [case_and_reader(file, path, endings) for file in files]
    most = {
        file: _most_bytes(known.get(case_id))
        for file, (case_id, _) in zip(files, named, strict=True)
    }
    grids: dict[str, Geometry] = {}
    reports = []
    found = made_of_each(files, lambda file: read(file, most[file]))
    for file, (case_id, reader), labels in zip(files, named, found, strict=True):
        grid = known.get(case_id) or grids.setdefault(case_id, labels.geometry)
        findings = tuple(findings_of(labels, grid, file.name, (reader, case_id)))
        reports.append(Report(file.name, case_id, reader, findings))
    return readings_from(path, reports, cases, grids)


def _most_bytes(grid: Geometry | None) -> int:
    """What a file of labels of an image may unpack to."""
    if grid is None or grid.size is None:
        return LARGEST_BYTES
    return min(LARGEST_BYTES, VOXEL_BYTES * int(grid.size.prod()))


def sessions_with_files(
    readings: Readings, cases: pl.DataFrame | None, stage: Path, suffix: str
) -> Iterator[tuple[Session, Path]]:
    """Every reading with the file that it is written to: ``<reader>/<case>``."""
    for session in sessions_of(readings, cases):
        folder = stage / file_of_case(session.reader_id, "")
        folder.mkdir(exist_ok=True)
        yield session, folder / file_of_case(session.case_id, suffix)
