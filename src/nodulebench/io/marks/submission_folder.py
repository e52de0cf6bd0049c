"""Read and write a submission folder: marks.*, mark_slices.*, runs.* and algorithm.toml."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.tables import MARK_SLICES, MARKS, RUNS, Submission
from nodulebench.imaging.geometry import geometries
from nodulebench.io.atomic import staged_folder
from nodulebench.io.cases import algorithm_name
from nodulebench.io.csv_files import CsvFile, write_csv
from nodulebench.io.format import FileProbe, Format
from nodulebench.io.manifests import file_digest
from nodulebench.io.marks.boxes import require_no_contradictions
from nodulebench.io.table_files import TABLE_SUFFIXES, read_table

if TYPE_CHECKING:
    from nodulebench.core.algorithm import AlgorithmManifest


MANIFEST = "algorithm.toml"
_MARK_FILES = tuple(f"marks{suffix}" for suffix in (*TABLE_SUFFIXES, ".json"))
_MOST_NAMED = 5


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """Read a submission folder; only ``marks.*`` is required.

    ``marks.*`` is our table MARKS as Parquet or CSV, or marks in any other format of one file.
    ``algorithm.toml`` names the algorithm, else the folder does. From participants of a portal and
    from algorithms under test, Parquet is rejected: they use CSV with the same columns.
    """
    mark_file = _only_file(path, _MARK_FILES)
    submission = _read_mark_file(mark_file, cases)
    slices_file = _table_file(path, "mark_slices")
    if slices_file is not None:
        slices, name = read_table(slices_file, MARK_SLICES), slices_file.path.name
        _require_no_orphans(slices, submission.marks, name)
        require_no_contradictions(slices, geometries(cases), name)
        submission = replace(submission, slices=slices)
    runs_file = _table_file(path, "runs")
    if runs_file is not None:
        submission = replace(submission, runs=read_table(runs_file, RUNS))
    read = [file for file in (mark_file, slices_file, runs_file) if file is not None]
    digest = file_digest(path, {file.path: file.digest for file in read})
    submission = replace(submission, name=algorithm_name(path), digest=digest)
    manifest = path / MANIFEST
    return _declared(submission, manifest) if manifest.is_file() else submission


def write_marks(submission: Submission, path: Path, cases: pl.DataFrame | None = None) -> None:  # noqa: ARG001
    """Write a submission folder with CSV tables, without loss.

    Portals and sandboxes reject Parquet, so this folder can be submitted as it is.
    """
    from nodulebench.core.algorithm import AlgorithmManifest

    fields = set(AlgorithmManifest.model_fields) & set(submission.facts)
    manifest = AlgorithmManifest.model_validate(
        {field: submission.facts[field] for field in fields}
        | {"name": submission.name, "intended_types": submission.intended_types or ()}
    )
    tables = {"marks": submission.marks, "mark_slices": submission.slices, "runs": submission.runs}
    with staged_folder(path) as stage:
        for name, table in tables.items():
            if table is not None:
                write_csv(table, stage / f"{name}.csv")
        (stage / MANIFEST).write_text(manifest.to_toml(), encoding="utf-8")
        written = {file.name for file in stage.iterdir()}
    for name in tables:  # files of an older submission in the same folder
        for suffix in (*TABLE_SUFFIXES, ".json"):
            if f"{name}{suffix}" not in written:
                (path / f"{name}{suffix}").unlink(missing_ok=True)


def _read_mark_file(file: CsvFile, cases: pl.DataFrame | None) -> Submission:
    is_own_table = file.path.suffix == ".parquet" or (
        file.path.suffix != ".json" and {"mark_id", "x_mm"} <= set(file.header(("mark_id", "x_mm")))
    )
    if is_own_table:
        return Submission(name="", marks=read_table(file, MARKS))
    from nodulebench.io.formats import read_submission

    return read_submission(file, cases)


def read_declaration(file: Path, source: str) -> "AlgorithmManifest":
    from nodulebench.core.algorithm import parse_manifest

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.at(file, f"cannot be read as text: {error}.") from error
    return parse_manifest(text, source)


def _declared(submission: Submission, manifest_file: Path) -> Submission:
    manifest = read_declaration(manifest_file, manifest_file.name)
    return replace(
        submission,
        name=manifest.name,
        intended_types=manifest.intended_types or None,
        threshold=manifest.threshold,
        facts=manifest.facts,
    )


def _table_file(folder: Path, table: str) -> CsvFile | None:
    names = tuple(f"{table}{suffix}" for suffix in TABLE_SUFFIXES)
    return _only_file(folder, names) if any((folder / name).is_file() for name in names) else None


def _only_file(folder: Path, names: tuple[str, ...]) -> CsvFile:
    files = [folder / name for name in names if (folder / name).is_file()]
    if len(files) != 1:
        held = " and ".join(file.name for file in files) or f"none of {', '.join(names)}"
        raise InputError.at(folder, f"holds {held}.", "Leave exactly one of them.")
    return CsvFile(files[0])


def _require_no_orphans(slices: pl.DataFrame, marks: pl.DataFrame, name: str) -> None:
    orphans = slices.join(marks, on=["case_id", "mark_id"], how="anti", maintain_order="left")
    raise_problems(
        Problem(
            name,
            f"has slices of mark '{mark_id}' in case '{case_id}', which has no such mark.",
            "Give every slice the mark it belongs to.",
        )
        for case_id, mark_id in orphans.select("case_id", "mark_id")
        .unique(maintain_order=True)
        .head(_MOST_NAMED)
        .iter_rows()
    )


def _refuse(probe: FileProbe) -> str:
    if probe.kind != "folder":
        return probe.is_not("folder")
    return "" if probe.names & set(_MARK_FILES) else "no file marks.*"


FORMAT = Format(
    name="submission_folder",
    meaning="a folder with marks.*, and optionally mark_slices.*, runs.* and algorithm.toml",
    suffixes=("/",),
    example=(
        "my_algorithm/\n"
        "  marks.csv        case_id,mark_id,x_mm,y_mm,z_mm,score (or any file of marks)\n"
        "  mark_slices.csv  case_id,mark_id,slice_index,z_mm,center_x_mm,center_y_mm,...\n"
        "  runs.csv         case_id,state,seconds\n"
        '  algorithm.toml   name = "Example 2", threshold = 0.5'
    ),
    refuse_marks=_refuse,
    read_marks=read_marks,
    write_marks=write_marks,
)


RUN_RECORD = "run.json"
