"""Read and write NIFDC-style CSV: one row per nodule or mark and slice, in millimetres (LPS)."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError, Problem, Problems, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.schema import Column, TableSchema
from nodulebench.core.tables import (
    CASES,
    MARK_SLICES,
    MARKS,
    NODULE_FACTS,
    NODULE_SLICES,
    NODULES,
    Reference,
    Submission,
)
from nodulebench.imaging.geometry import FARTHEST_MM, geometries
from nodulebench.imaging.linking import link_boxes
from nodulebench.io.cases import algorithm_name, joined_cases, unread_columns
from nodulebench.io.csv_files import CsvFile, write_csv
from nodulebench.io.format import FileProbe, Format
from nodulebench.io.marks.boxes import complete_slices, gather, require_listed, with_positions
from nodulebench.io.table_files import read_cases

COLUMNS = (
    "case_id",
    "nodule_id",
    *(column.name for column in NODULE_SLICES.columns[2:-1]),
    "type",
    "density",
    "malignancy",
    "score",
    "contour",
)
_CHARACTERISTICS = ("type", "density", "malignancy", "category")
_FACTS = tuple(column.name for column in NODULE_FACTS)
_FREE = ("nodule_id", "slice_index")
"""Columns that can be derived: boxes are linked, and slices found from their heights."""


def _with_limits(column: Column) -> Column:
    if column.unit != "mm":
        return replace(column, is_required=column.is_required and column.name not in _FREE)
    lowest = -FARTHEST_MM if column.minimum is None else column.minimum
    return replace(column, minimum=lowest, maximum=FARTHEST_MM)


_ROWS = TableSchema(
    "NIFDC CSV",
    "One row per nodule or mark and slice.",
    (
        Column("line", pl.Int64, "the line of the file"),
        *(_with_limits(column) for column in NODULE_SLICES.columns),
        *(column for column in MARKS.columns if column.name in ("score", *_CHARACTERISTICS)),
        Column("is_ignored", pl.Boolean, "marks on it do not count", is_required=False),
        *NODULE_FACTS,
    ),
    key=("line",),
)
_NEEDED = ("case_id", "center_x_mm", "center_y_mm", "length_mm", "width_mm")
_TEXT = ("nodule_id", "type", "density", "category", "contour", "is_ignored", *_FACTS)
_NUMBERS = tuple(column.name for column in _ROWS.columns[1:] if column.dtype.is_numeric())
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_CONTOUR = rf"^{_NUMBER} {_NUMBER}(;{_NUMBER} {_NUMBER}){{2,}}$"
_MOST_NAMED = 5


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """Read a submission; rows with the same ``nodule_id`` are one mark.

    If no row has a ``nodule_id``, boxes on adjacent slices are linked into marks (see
    ``link_boxes``). ``slice_index`` or ``z_mm`` may be missing if the geometry of the cases is
    known. A row with only a ``case_id`` says that the case has no mark.
    """
    return _read_csv_marks(CsvFile(path), cases)


def _read_csv_marks(file: CsvFile, cases: pl.DataFrame | None) -> Submission:
    path = file.path
    boxes = _boxes(_read_rows(file), path, cases)
    notices: tuple[Notice, ...] = ()
    if _is_nameless(boxes, path):
        boxes, notices = _linked(boxes, path)
    slices = NODULE_SLICES.conform(boxes, path.name, boxes["line"])
    marks = gather(boxes, "nodule_id").rename({"nodule_id": "mark_id"})
    return Submission(
        name=algorithm_name(path),
        marks=MARKS.arrange(marks),
        slices=MARK_SLICES.arrange(slices.rename({"nodule_id": "mark_id"})),
        digest=file.digest,
        notices=notices,
    )


def read_reference(path: Path, cases: pl.DataFrame | None = None) -> Reference:
    """Read a reference: a CSV file, or a folder with ``nodules.csv`` and ``cases.csv``.

    The cases are those of the folder, with the further facts in ``cases``. Those of a single
    file are ``cases``, else those that it names, in its order; a row with only a
    ``case_id`` lists a case without nodules. Further facts about a nodule (truth, pathology,
    vessels: see NODULES) are read from their columns.
    """
    file = CsvFile(path)
    notices: tuple[Notice, ...] = ()
    if path.is_dir():
        file, own = CsvFile(path / "nodules.csv"), read_cases(path / "cases.csv")
        cases, notices = (own, ()) if cases is None else joined_cases(own, cases, path.name)
    rows = _read_rows(file)
    boxes = _boxes(rows, file.path, cases).with_columns(pl.col("is_ignored").fill_null(False))
    slices = NODULE_SLICES.conform(boxes, file.path.name, boxes["line"])
    _require_no_contradictions(boxes, file.path.name)
    if cases is None:
        cases = CASES.arrange(rows.select("case_id").unique(maintain_order=True))
    require_listed(rows["case_id"], cases, file.path.name)
    known = [name for name in _FACTS if boxes[name].null_count() < boxes.height]
    stated = boxes.group_by("case_id", "nodule_id", maintain_order=True).agg(
        pl.col("is_ignored").any(), pl.col(known).drop_nulls().first()
    )
    nodules = gather(boxes, "nodule_id").with_columns(stated.select("is_ignored", *known))
    return Reference(
        name=algorithm_name(path),
        cases=cases,
        nodules=NODULES.arrange(nodules.drop("score")),
        slices=slices,
        notices=(*notices, *unread_columns(file, FORMAT.columns)),
    )


def write_marks(submission: Submission, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write a submission; a mark without slices gets the slices through its box."""
    known = geometries(cases)
    slices = complete_slices(
        submission.marks, submission.slices, MARK_SLICES, known, submission.name
    )
    facts = submission.marks.select("case_id", "mark_id", "score", *_CHARACTERISTICS)
    rows = facts.join(slices, on=["case_id", "mark_id"], maintain_order="left_right")
    write_csv(rows.rename({"mark_id": "nodule_id"}).select(COLUMNS), path)


def write_reference(reference: Reference, path: Path) -> None:
    """Write a reference; a case without nodules gets one row."""
    known = geometries(reference.cases)
    slices = complete_slices(
        reference.nodules, reference.slices, NODULE_SLICES, known, reference.name
    )
    facts = [name for name in _FACTS if name in reference.nodules.columns]
    nodules = reference.nodules.select(
        "case_id", "nodule_id", "is_ignored", *_CHARACTERISTICS, *facts
    )
    rows = _ROWS.arrange(nodules.join(slices, on=["case_id", "nodule_id"], maintain_order="left"))
    listed = reference.cases.select("case_id")
    ordered = listed.join(rows, on="case_id", how="left", maintain_order="left_right")
    write_csv(ordered.select(*COLUMNS, "is_ignored", *facts), path)


def _read_rows(file: CsvFile) -> pl.DataFrame:
    header = file.header((*_TEXT, *_NUMBERS), needed=_NEEDED)
    if not {"slice_index", "z_mm"} & set(header):
        file.header(needed=(*_NEEDED, "slice_index", "z_mm"))
    rows = file.read_columns(text=("case_id",), optional_text=_TEXT, optional_numbers=_NUMBERS)
    missing = [name for name in (*_TEXT, *_NUMBERS) if name not in header]
    return rows.with_columns(
        pl.lit(None, dtype=pl.String if name in _TEXT else pl.Float64).alias(name)
        for name in missing
    ).with_columns(pl.col(_TEXT).replace("", None))


def _boxes(rows: pl.DataFrame, path: Path, cases: pl.DataFrame | None) -> pl.DataFrame:
    """The rows that hold more than the name of a case, checked, with slice and height."""
    is_bare = pl.all_horizontal(pl.col(*_TEXT, *_NUMBERS).is_null())
    given = rows.filter(~is_bare)
    typed = _ROWS.conform(given, path.name, given["line"])
    _require_contours(typed, path.name)
    places = pl.format("{} line {}", pl.lit(path.name), "line")
    located = with_positions(typed.with_columns(place=places), geometries(cases), path.name)
    return located.cast({"slice_index": pl.Int64})


def _require_contours(rows: pl.DataFrame, name: str) -> None:
    bad = rows.filter(~pl.col("contour").str.contains(_CONTOUR))
    raise_problems(
        Problem(
            f"{name} line {line}",
            f"contour '{contour[:40]}' is not a list of at least three points.",
            "Write it as 'x y;x y;x y' in mm.",
        )
        for line, contour in bad.select("line", "contour").head(_MOST_NAMED).iter_rows()
    )


def _is_nameless(rows: pl.DataFrame, path: Path) -> bool:
    nameless = rows.filter(pl.col("nodule_id").is_null())
    if 0 < nameless.height < rows.height:
        raise InputError(
            Problem(
                f"{path.name} line {line}",
                "nodule_id is empty here and given elsewhere.",
                "Give every row a nodule_id, or no row, so that boxes are linked across slices.",
            )
            for line in nameless["line"].head(_MOST_NAMED)
        )
    return nameless.height > 0


def _linked(boxes: pl.DataFrame, path: Path) -> tuple[pl.DataFrame, tuple[Notice, ...]]:
    numbers = pl.Series("number", link_boxes(boxes))
    linked = boxes.with_columns(nodule_id="linked-" + (numbers + 1).cast(pl.String))
    marks = linked.select("case_id", "nodule_id").n_unique()
    values = {"file": path.name, "boxes": boxes.height, "marks": marks}
    return linked, (Notice("boxes_linked_by_place", values),)


def _require_no_contradictions(rows: pl.DataFrame, name: str) -> None:
    problems = Problems()
    for column in (*_CHARACTERISTICS, "is_ignored", *_FACTS):
        stated = rows.group_by("case_id", "nodule_id", maintain_order=True).agg(
            pl.col(column).drop_nulls().unique(maintain_order=True)
        )
        for case_id, nodule_id, values in stated.filter(pl.col(column).list.len() > 1).iter_rows():
            shown = ", ".join(str(value) for value in values)
            problems.add(
                f"{name} case '{case_id}' nodule '{nodule_id}'",
                f"{column} differs between its slices: {shown}.",
                "Use the same value on every slice.",
            )
    raise_problems(problems)


def _refuse(probe: FileProbe) -> str:
    if probe.kind == "folder":
        return probe.lacks("cases.csv", "nodules.csv")
    place = probe.lacks("slice_index") if probe.lacks("z_mm") else ""
    return probe.is_not("csv") or probe.lacks(*_NEEDED) or place


FORMAT = Format(
    name="nifdc_csv",
    meaning="NIFDC-style CSV, one row per nodule or mark and slice, boxes in mm",
    suffixes=(".csv", ".csv.gz"),
    columns=("case_id", *_TEXT, *_NUMBERS),
    example=(
        "case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,score\n"
        "scan-1,n1,112,-240.5,-61.2,48.7,8.1,7.4,0.93\n"
        "scan-1,n1,113,-239.3,-61.0,48.9,7.6,7.0,0.93"
    ),
    refuse_marks=lambda probe: probe.is_not("csv") or _refuse(probe),
    refuse_reference=_refuse,
    read_marks=read_marks,
    read_csv_marks=_read_csv_marks,
    read_reference=read_reference,
    write_marks=write_marks,
    write_reference=write_reference,
)
