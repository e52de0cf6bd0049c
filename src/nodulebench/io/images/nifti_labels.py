"""Read and write label maps in NIfTI: a number for each outlined finding, and a table of them."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.readings import Readings
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.volume import Volume
from nodulebench.io.atomic import staged_folder
from nodulebench.io.csv_files import CsvFile, write_csv
from nodulebench.io.dicom.findings import ReportedFinding
from nodulebench.io.format import Format
from nodulebench.io.images.label_files import (
    FACTS,
    Session,
    facts_of,
    on_grid,
    parse_facts,
    read_label_files,
    regions_of,
    reported_finding,
    sessions_with_files,
)
from nodulebench.io.images.nifti import read_labels, write_volume

SUFFIX = ".nii.gz"
ENDINGS = (SUFFIX, ".nii")
TABLE = "labels.csv"
_NAMED = {"reader_id": pl.String, "case_id": pl.String, "label": pl.Int64, "finding_id": pl.String}


def write_readings(readings: Readings, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write ``<reader>/<case>.nii.gz`` with a number for each outlined finding, and labels.csv.

    The table gives the finding of each number, and its facts. A voxel has one number, so
    overlapping findings of one reader are rejected. Points without an outline are left out.
    """
    with staged_folder(path, last=TABLE) as stage:
        rows: list[JsonObject] = []
        for session, file in sessions_with_files(readings, cases, stage, SUFFIX):
            write_volume(_label_map(session), file)
            key = {"reader_id": session.reader_id, "case_id": session.case_id}
            rows += [
                {**key, "label": label, "finding_id": name, **facts_of(session.rows[name])}
                for label, name in enumerate(session.outlines, start=1)
            ]
        write_csv(pl.DataFrame(rows, schema={**_NAMED, **FACTS}), stage / TABLE)


def read_readings(path: Path, cases: pl.DataFrame | None = None) -> Readings:
    """Read readings: the case is the file's name, the reader the name of its folder.

    Without a table of labels each number of a file is a finding. The voxels must be those of the
    image.
    """
    table = _table(path / TABLE)
    return read_label_files(
        path,
        ENDINGS,
        cases,
        read_labels,
        lambda labels, grid, file, key: _findings(labels, grid, file, table.get(key, {})),
    )


def _label_map(session: Session) -> Volume:
    labels = np.zeros(session.shape, dtype=np.int16)
    for number, (name, voxel) in enumerate(session.voxels.items(), start=1):
        at = tuple(voxel[:, ::-1].T)
        if labels[at].any():
            where = f"case '{session.case_id}' finding '{name}'"
            what = "overlaps another finding; a label map has one number per voxel."
            raise InputError.at(where, what, "Write seg_nrrd or dicom_seg.")
        labels[at] = number
    return Volume(labels, session.grid)


def _table(path: Path) -> dict[tuple[str, str], dict[int, JsonObject]]:
    if not path.is_file():
        return {}
    numbers = [name for name, kind in FACTS.items() if kind != pl.String]
    words = [name for name, kind in FACTS.items() if kind == pl.String]
    rows = CsvFile(path).read_columns(
        text=("case_id", "finding_id"),
        numbers=("label",),
        optional_text=("reader_id", *words),
        optional_numbers=tuple(numbers),
    )
    rows_by_key: dict[tuple[str, str], dict[int, JsonObject]] = {}
    for row in rows.iter_rows(named=True):
        key = row.get("reader_id") or "", row["case_id"]
        rows_by_key.setdefault(key, {})[int(row["label"])] = row
    return rows_by_key


def _findings(
    labels: Volume, grid: Geometry, file: str, named: Mapping[int, JsonObject]
) -> Iterator[ReportedFinding]:
    for label in np.unique(labels.hu).tolist():
        if label:
            where = f"{file} label {label}"
            row = named.get(label, {})
            voxel = np.argwhere(labels.hu == label)[:, ::-1].astype(np.int64)
            placed = on_grid(voxel, labels.geometry, grid, where)
            name = row.get("finding_id") or str(label)
            yield reported_finding(where, name, regions_of(placed, grid, where), parse_facts(row))


FORMAT = Format(
    name="nifti_labels",
    meaning="label maps in NIfTI, one file for each case and reader",
    suffixes=("/", SUFFIX, ".nii"),
    example="masks/\n  anna/scan-1.nii.gz  a number for each nodule\n  labels.csv  their names",
    read_readings=read_readings,
    write_readings=write_readings,
    loses="outlines become voxels; points without an outline are lost",
)
