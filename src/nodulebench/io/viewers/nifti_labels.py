"""Label maps in NIfTI <-> readings: a number for each outlined finding, and a table of them."""

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
from nodulebench.io.csv_files import read_columns, write_csv
from nodulebench.io.dicom.findings import ReportedFinding
from nodulebench.io.format import Format
from nodulebench.io.images.nifti import read_labels, write_volume
from nodulebench.io.viewers.label_files import (
    FACTS,
    Session,
    facts_of,
    on_grid,
    read_label_files,
    regions_of,
    reported,
    sessions_with_files,
    stated,
)

SUFFIX = ".nii.gz"
ENDINGS = (SUFFIX, ".nii")
TABLE = "labels.csv"
_NAMED = {"reader_id": pl.String, "case_id": pl.String, "label": pl.Int64, "finding_id": pl.String}


def write_readings(readings: Readings, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write ``<reader>/<case>.nii.gz`` with a number for each outlined finding, and labels.csv.

    The table says which number is which finding, and what was said of it. A voxel has one number:
    findings of one reader that overlap are refused. Points without an outline are left out.
    """
    with staged_folder(path, last=TABLE) as stage:
        rows: list[JsonObject] = []
        for one, file in sessions_with_files(readings, cases, stage, SUFFIX):
            write_volume(_label_map(one), file)
            key = {"reader_id": one.reader_id, "case_id": one.case_id}
            rows += [
                {**key, "label": label, "finding_id": name, **facts_of(one.rows[name])}
                for label, name in enumerate(one.outlines, start=1)
            ]
        write_csv(pl.DataFrame(rows, schema={**_NAMED, **FACTS}), stage / TABLE)


def read_readings(path: Path, cases: pl.DataFrame | None = None) -> Readings:
    """Readings: the case is the file's name, the reader that of its folder.

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


def _label_map(one: Session) -> Volume:
    labels = np.zeros(one.shape, dtype=np.int16)
    for number, (name, voxel) in enumerate(one.voxels.items(), start=1):
        at = tuple(voxel[:, ::-1].T)
        if labels[at].any():
            where = f"case '{one.case_id}' finding '{name}'"
            what = "overlaps another of its reader; a label map has one number for a voxel."
            raise InputError.at(where, what, "Write seg_nrrd or dicom_seg.")
        labels[at] = number
    return Volume(labels, one.grid)


def _table(path: Path) -> dict[tuple[str, str], dict[int, JsonObject]]:
    """For each reader and case: number -> the row that says which finding it is."""
    if not path.is_file():
        return {}
    numbers = [name for name, kind in FACTS.items() if kind != pl.String]
    words = [name for name, kind in FACTS.items() if kind == pl.String]
    rows = read_columns(
        path,
        text=("case_id", "finding_id"),
        numbers=("label",),
        optional_text=("reader_id", *words),
        optional_numbers=tuple(numbers),
    )
    found: dict[tuple[str, str], dict[int, JsonObject]] = {}
    for row in rows.iter_rows(named=True):
        key = row.get("reader_id") or "", row["case_id"]
        found.setdefault(key, {})[int(row["label"])] = row
    return found


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
            yield reported(where, name, regions_of(placed, grid, where), stated(row))


FORMAT = Format(
    name="nifti_labels",
    meaning="label maps in NIfTI, one file for each case and reader",
    suffixes=("/", SUFFIX, ".nii"),
    example="masks/\n  anna/scan-1.nii.gz  a number for each nodule\n  labels.csv  which it is",
    read_readings=read_readings,
    write_readings=write_readings,
    loses="outlines become voxels; points without an outline have no place",
)
