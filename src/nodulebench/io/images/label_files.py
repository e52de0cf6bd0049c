"""Read and write files of labels, one for each case and reader, in any of their formats."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import polars as pl

from nodulebench.core.arrays import IntArray
from nodulebench.core.errors import InputError, map_collecting_problems
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
from nodulebench.io.images.nrrd import LARGEST_BYTES

OFF_GRID = 0.05
"""How far, in voxels, a grid may be off the image's grid."""
_NOT_STATED = ("case_id", "finding_id", "reader_id", "source_id", *PLACE)
FACTS = {column.name: column.dtype for column in FINDINGS.columns if column.name not in _NOT_STATED}
"""Facts about a finding other than its name and position."""


@dataclass(frozen=True, eq=False)
class Session:
    """What one reader drew in one case."""

    case_id: str
    reader_id: str
    grid: Geometry
    rows: dict[str, JsonObject]
    """FINDINGS by their ids, in order."""
    outlines: dict[str, list[DrawnOutline]]

    @property
    def shape(self) -> tuple[int, ...]:
        if self.grid.size is None:
            what = "the size of its image is not known."
            raise InputError.at(f"case '{self.case_id}'", what, "Give size_x, size_y and size_z.")
        return tuple(self.grid.size[::-1].tolist())

    @property
    def voxels(self) -> dict[str, IntArray]:
        return {name: voxels_of(drawn, self.grid) for name, drawn in self.outlines.items()}


def sessions_of(readings: Readings, cases: pl.DataFrame | None) -> list[Session]:
    grids = geometries(readings.cases) | geometries(cases)
    drawn = drawn_by_session(readings)
    sessions = []
    for case_id, reader_id in readings.sessions.select("case_id", "reader_id").iter_rows():
        if case_id not in grids:
            what = "has no geometry, so its outlines have no position in an image."
            raise InputError.at(f"case '{case_id}'", what, "Give its images or a table as cases.")
        require_native_grid(grids[case_id], f"case '{case_id}'")
        own = readings.findings.filter(case_id=case_id, reader_id=reader_id)
        rows = {row["finding_id"]: row for row in own.iter_rows(named=True)}
        outlines = drawn.get((case_id, reader_id), {})
        sessions.append(Session(case_id, reader_id, grids[case_id], rows, outlines))
    return sessions


def files_ending(path: Path, endings: tuple[str, ...]) -> list[Path]:
    if path.is_file():
        return [path] if path.name.lower().endswith(endings) else []
    below = (Path(file) for file in files_below(path, lambda _: None))
    return [file for file in below if file.name.lower().endswith(endings)]


def case_and_reader(file: Path, path: Path, endings: tuple[str, ...]) -> tuple[str, str]:
    ending = max((suffix for suffix in endings if file.name.lower().endswith(suffix)), key=len)
    inside = file.parent != path and path.is_dir()
    return file.name[: -len(ending)], file.parent.name if inside else ""


def facts_of(row: JsonObject) -> JsonObject:
    return {name: row[name] for name in FACTS if row.get(name) is not None}


def parse_facts(texts: JsonObject) -> JsonObject:
    """Parse facts from texts or numbers; unknown or impossible facts are left out."""
    facts: JsonObject = {}
    for name, value in texts.items():
        kind = FACTS.get(name)
        try:
            if kind is not None and value not in ("", None):
                facts[name] = str(value) if kind == pl.String else float(value)
            if kind == pl.Int64 and name in facts:
                facts[name] = int(facts[name])
        except (TypeError, ValueError, OverflowError):
            continue
    return facts


def reported_finding(
    where: str, name: str, regions: Iterable[Region], facts: JsonObject
) -> ReportedFinding:
    numbers = {key: value for key, value in facts.items() if isinstance(value, float)}
    words = {key: value for key, value in facts.items() if key not in numbers and key != "kind"}
    kind = facts.get("kind", "nodule")
    return ReportedFinding(where, name, tuple(regions), kind, numbers, words)


def regions_of(voxel: IntArray, grid: Geometry, where: str) -> Iterator[Region]:
    for k in np.unique(voxel[:, 2]).tolist():
        column, row, _ = voxel[voxel[:, 2] == k].T
        _, corner = trace_outlines(np.zeros(len(row), dtype=np.int64), column, row)
        level = np.full(len(corner), float(k))
        points = grid.to_world(np.column_stack([corner, level]))
        yield Region(where, OUTLINES["boundary", False].key, points, is_outline=True)


def on_grid(voxel: IntArray, own: Geometry, grid: Geometry, where: str) -> IntArray:
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
    """Make readings from reports; ``grids`` are used for cases without geometry in the table."""
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
        others = None if cases is None else cases.filter(~pl.col("case_id").is_in(named))
        table = made if others is None else pl.concat([others, made], how="diagonal_relaxed")
    return readings_of_reports(path, reports, CaseMatcher(table, {}, {}), notices)


VOXEL_BYTES = 8
"""Largest size of the labels of one voxel, all layers together, if the image size is known."""


class Labels(Protocol):
    """Numbered voxels and their grid."""

    @property
    def geometry(self) -> Geometry: ...


FileLabels = TypeVar("FileLabels", bound=Labels)


def read_label_files(
    path: Path,
    endings: tuple[str, ...],
    cases: pl.DataFrame | None,
    read: Callable[[Path, int], FileLabels],
    findings_of: Callable[[FileLabels, Geometry, str, tuple[str, str]], Iterable[ReportedFinding]],
) -> Readings:
    """Read readings: the case is the file's name, the reader the name of its folder.

    ``read`` reads a file that unpacks to at most a number of bytes; ``findings_of`` gets the
    labels, the grid of the image, the file's name, and reader and case. The voxels must be the
    image's.
    """
    files, known = files_ending(path, endings), geometries(cases)
    named = [case_and_reader(file, path, endings) for file in files]
    most = {
        file: _most_bytes(known.get(case_id))
        for file, (case_id, _) in zip(files, named, strict=True)
    }
    grids: dict[str, Geometry] = {}
    reports = []
    contents = map_collecting_problems(files, lambda file: read(file, most[file]))
    for file, (case_id, reader), labels in zip(files, named, contents, strict=True):
        grid = known.get(case_id) or grids.setdefault(case_id, labels.geometry)
        findings = tuple(findings_of(labels, grid, file.name, (reader, case_id)))
        reports.append(Report(file.name, case_id, reader, findings))
    return readings_from(path, reports, cases, grids)


def _most_bytes(grid: Geometry | None) -> int:
    if grid is None or grid.size is None:
        return LARGEST_BYTES
    return min(LARGEST_BYTES, VOXEL_BYTES * int(grid.size.prod()))


def sessions_with_files(
    readings: Readings, cases: pl.DataFrame | None, stage: Path, suffix: str
) -> Iterator[tuple[Session, Path]]:
    for session in sessions_of(readings, cases):
        folder = stage / file_of_case(session.reader_id, "")
        folder.mkdir(exist_ok=True)
        yield session, folder / file_of_case(session.case_id, suffix)
