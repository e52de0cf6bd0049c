"""Registry of outside formats, one file each, which are converted to and from our tables."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.core.registry import Registry
from nodulebench.core.tables import Reference, Submission
from nodulebench.core.text import in_a_line, shown
from nodulebench.io.cases import joined_nodules, position_notices
from nodulebench.io.csv_files import CsvFile, is_table, spelt
from nodulebench.io.format import FAR, FileProbe, Format, distance_of, probe_file
from nodulebench.io.manifests import PAYLOAD
from nodulebench.io.marks.luna16 import guessed_columns, read_named_columns, read_series
from nodulebench.io.table_files import read_cases as read_cases_table

__all__ = ["FORMATS", "Format", "fitting", "read_cases", "read_reference", "read_submission"]


CASE_TABLE = "cases.parquet"


def case_table_of(path: Path) -> Path | None:
    """The case table of a curation, bundle, bag or sealed set (the cases of a run), or None."""
    tables = (path / CASE_TABLE, path / PAYLOAD / CASE_TABLE, path / PAYLOAD / "cases.csv")
    return next((table for table in tables if table.is_file()), None) if path.is_dir() else None


def read_case_list(path: Path) -> pl.Series:
    """The listed cases in their order: what every ``--series`` takes.

    Args:
        path: a list without a header, one series per line; a table of cases, as ``sample`` writes
            it; or a folder with such a table, as ``curate`` and ``bundle`` write it.
    """
    file = CsvFile(case_table_of(path) or path)
    if file.path == path and path.suffix != ".parquet":
        cells = file.first_line.replace(";", ",").split(",")
        if "case_id" not in {cell.strip().strip('"') for cell in cells}:
            return read_series(file)
    return read_cases_table(file)["case_id"]


FORMATS: Registry[Format] = Registry(
    "format",
    "formats",
    {
        "luna16_csv": "nodulebench.io.marks.luna16:FORMAT",
        "nifdc_csv": "nodulebench.io.marks.nifdc:FORMAT",
        "bundle": "nodulebench.io.bundle:FORMAT",
        "submission_folder": "nodulebench.io.marks.submission_folder:FORMAT",
        "grand_challenge_json": "nodulebench.io.marks.grand_challenge:FORMAT",
        "monai_json": "nodulebench.io.marks.monai:FORMAT",
        "coco3d_json": "nodulebench.io.marks.coco3d:FORMAT",
        "nndetection": "nodulebench.io.marks.nndetection:FORMAT",
        "jafroc_xlsx": "nodulebench.io.marks.jafroc:FORMAT",
        "slicer_markups": "nodulebench.io.marks.slicer:FORMAT",
        "worklist_csv": "nodulebench.io.marks.worklist:FORMAT",
        "dicom_sr": "nodulebench.io.dicom.sr:FORMAT",
        "chest_cad_sr": "nodulebench.io.dicom.chest_cad_sr:FORMAT",
        "dicom_seg": "nodulebench.io.dicom.seg:FORMAT",
        "lidc_xml": "nodulebench.io.lidc_xml:FORMAT",
        "nifti_labels": "nodulebench.io.images.nifti_labels:FORMAT",
        "seg_nrrd": "nodulebench.io.images.seg_nrrd:FORMAT",
    },
)
"""The formats in the order in which a file is tried; the module of each has a FORMAT."""
_WORDS = {"marks": "marks", "reference": "a reference"}
_MOST_NEAR = 3
"""How many formats are named where none fits."""


def read_cases(path: Path) -> pl.DataFrame:
    """CASES from a table, with any further columns as strata, or from a folder of CT series.

    From a folder with a table of cases, as ``curate`` and ``bundle`` write it, read the table. The
    cases of another folder are named by their Series Instance UIDs; the column ``images`` says
    where the images of each are.
    """
    table = case_table_of(path)
    if table is None and path.is_dir():
        from nodulebench.io.dicom.volumes import cases_of_images

        return cases_of_images(path)
    return read_cases_table(table or path)


def read_submission(
    path: Path | CsvFile,
    cases: pl.DataFrame | None = None,
    format_name: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Submission:
    """Read the marks of one algorithm from a file or folder of any format that holds marks.

    Args:
        path: the file or folder.
        cases: CASES of the test set; formats in voxels need the geometry in it.
        format_name: the format; None: it is recognised from the content.
        columns: for a CSV file with other columns: case, x, y, z, score and diameter -> their
            names in the file, positions in LPS millimetres.

    Raises:
        InputError: if no format fits, or with every problem of the file.
    """
    file = CsvFile.of(path)
    if (name := str(file.path)) != shown(name):
        raise InputError.at(shown(name), "has a name that is not UTF-8.", "Rename it.")
    if columns is not None:
        submission, form = read_named_columns(file, cases, columns), None
    else:
        form = FORMATS[format_name] if format_name else fitting(file, "marks")
        if form.read_csv_marks is not None:
            submission = form.read_csv_marks(file, cases)
        elif form.read_marks is not None:
            submission = form.read_marks(file.path, cases)
        else:
            raise _unable(form, "marks")
    notices = (
        *_how_read(file, form, names_unread=True),
        *position_notices(submission.marks, cases),
    )
    name = in_a_line(submission.name)  # it appears in lines and headings
    return replace(submission, name=name, notices=(*submission.notices, *notices))


def read_reference(
    path: Path,
    cases: pl.DataFrame | Path | None = None,
    format_name: str | None = None,
    nodules: Path | None = None,
    series: Path | None = None,
) -> Reference:
    """Read a test set and its reference standard, in any format that holds one.

    Args:
        path: the file or folder.
        cases: CASES, or a CSV or Parquet file or a folder of CT series: patients, geometry,
            strata, and cases that the reference does not name.
        format_name: the format; None: it is recognised from the content.
        nodules: a CSV or Parquet file with more facts about its nodules.
        series: a list of cases (``read_case_list``) that restricts and orders those of the set.

    Raises:
        InputError: if no format fits, or with every problem of the file.
    """
    known = read_cases(cases) if isinstance(cases, Path) else cases
    file = CsvFile(path)
    form = FORMATS[format_name] if format_name else fitting(file, "reference")
    if form.read_reference is None:
        raise _unable(form, "reference")
    reference = form.read_reference(path, known)
    notices = (*_how_read(file, form), *position_notices(reference.nodules, reference.cases))
    whole = replace(reference, notices=(*reference.notices, *notices))
    whole = whole if nodules is None else joined_nodules(whole, nodules)
    return whole if series is None else whole.restricted(read_case_list(series), series.name)


def _how_read(
    file: CsvFile, form: Format | None, *, names_unread: bool = False
) -> tuple[Notice, ...]:
    path = file.path
    if path.is_dir() or (form is not None and not form.columns):
        return ()
    dialect, header = file.dialect, file.header()
    notices = []
    if dialect.separator != ",":
        values = {"file": path.name, "separator": dialect.word, "decimal": "comma"}
        if not dialect.has_decimal_comma:
            del values["decimal"]
        notices.append(Notice("columns_separated", values))
    if form is None:
        return tuple(notices)
    named = spelt(header, form.columns)
    pairs = [
        f"{theirs}={ours}" for theirs, ours in zip(header, named, strict=True) if theirs != ours
    ]
    if pairs:
        notices.append(Notice("columns_respelt", {"file": path.name, "columns": pairs}))
    unread = [name for name in named if name not in form.columns]
    if unread and names_unread:
        notices.append(Notice("columns_unread", {"file": path.name, "columns": unread}))
    return tuple(notices)


def fitting(path: Path | CsvFile, what: str) -> Format:
    """The first format that fits a path, as "marks" or as "reference".

    Raises:
        InputError: if none fits, with the reason of each format.
        UnknownNameError: if a format of another package cannot be loaded.
    """
    probe = probe_file(path)
    refusals = []
    for form in FORMATS.values():
        refuse = form.refuse_marks if what == "marks" else form.refuse_reference
        if refuse is None:
            continue
        reason = refuse(probe)
        if not reason:
            return form
        refusals.append((form.name, reason))
    raise probe.error or _no_format(probe, what, refusals)


def _no_format(probe: FileProbe, what: str, refusals: list[tuple[str, str]]) -> InputError:
    """The error that no format fits, with the nearest formats and what each lacks.

    The header is quoted only from a file that looks like a table: a path may lead to any file.
    """
    near = sorted(refusals, key=lambda refusal: distance_of(refusal[1]))[:_MOST_NEAR]
    near = [(name, why) for name, why in near if distance_of(why) < FAR] or near[:1]
    remedy = "All formats: nodulebench formats."
    header = CsvFile(probe.path).header() if probe.kind == "csv" else []
    if near[0][0] == "luna16_csv" and is_table(header):
        remedy = (
            f"Found: {', '.join(header[:12])}. If its positions are in mm and LPS, "
            f"name the columns: --columns {guessed_columns(header)}. {remedy}"
        )
    first, *others = (f"{name}: {why}" for name, why in near)
    nearest = f"The nearest is {first}." + (f" Next: {'; '.join(others)}." if others else "")
    return InputError.at(
        probe.path, f"is not in a known format of {_WORDS[what]}. {nearest}", remedy
    )


def _unable(form: Format, what: str) -> InputError:
    able = [
        format_.name for format_ in FORMATS.values() if getattr(format_, f"read_{what}") is not None
    ]
    remedy = f"These can: {', '.join(able)}."
    return InputError.at(f"format '{form.name}'", f"cannot be read as {_WORDS[what]}.", remedy)
