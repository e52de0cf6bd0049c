"""Files of labels, one for each case and reader <-> readings; what a file is, its format knows."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import polars as pl

from nodulebench.core.errors import made_of_each
from nodulebench.core.readings import Readings
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.io.case_names import file_of_case
from nodulebench.io.dicom.findings import Report, ReportedFinding
from nodulebench.io.viewers.nrrd import LARGEST_BYTES
from nodulebench.io.viewers.sessions import (
    Session,
    case_and_reader,
    files_ending,
    readings_from,
    sessions_of,
)

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
    for one in sessions_of(readings, cases):
        folder = stage / file_of_case(one.reader_id, "")
        folder.mkdir(exist_ok=True)
        yield one, folder / file_of_case(one.case_id, suffix)
