"""The folder of a result: names, contents, writing and reading of its files.

``evaluate --out DIR`` writes evaluation.json, its tables, the input tables (``DIR/inputs``), the
report, and a manifest; ``compare`` adds a comparison.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nodulebench.core.documents.error_tables import FALSE_POSITIVES, MISSES
from nodulebench.core.documents.evaluation import (
    SCHEMA,
    Document,
    evaluation_document,
    read_evaluation,
)
from nodulebench.core.documents.records import as_json
from nodulebench.core.errors import InputError
from nodulebench.core.results import Evaluation
from nodulebench.core.tables import CASES, LABELS, MARK_SLICES, MARKS, NODULE_SLICES, NODULES, RUNS
from nodulebench.evaluation.errors import false_positive_table, miss_table
from nodulebench.io.atomic import complete_move, leave_out, staged_folder
from nodulebench.io.csv_files import csv_content
from nodulebench.io.json_files import read_json, with_schema
from nodulebench.io.manifests import SIGNATURE, listed_files, record_files, write_manifest
from nodulebench.io.table_files import read_parquet, read_table, write_parquet
from nodulebench.report.content import ReportAttachments
from nodulebench.report.html import render_html

if TYPE_CHECKING:
    from nodulebench.core.cohort import LabelledCohort
    from nodulebench.core.documents.comparison import ComparisonDocument
    from nodulebench.core.schema import TableSchema

EVALUATION, COMPARISON = "evaluation.json", "comparison.json"
LABEL_FILE, CURVE_FILE, FLIP_FILE = "labels.parquet", "curves.parquet", "flips.parquet"
MISS_FILE, FALSE_FILE = "misses.csv", "false_positives.csv"
ERROR_TABLES = {MISS_FILE: MISSES, FALSE_FILE: FALSE_POSITIVES}
"""Lists of single nodules and marks, for people."""
INPUTS = "inputs"
PLAN = "plan.json"
REPORT = "report.html"
FEEDBACK = "feedback.json"
"""What is disclosed of an evaluation on a sequestered test set."""
RETAINED = (EVALUATION, COMPARISON, FEEDBACK, SIGNATURE)
"""Files that are only replaced on request."""


def require_same_result(out: Path) -> None:
    """Check that a folder holds nothing that an evaluation would replace."""
    complete_move(out)
    held = [name for name in RETAINED if (out / name).exists()]
    if held:
        raise InputError.at(
            str(out),
            f"holds another result ({', '.join(held)}).",
            "Choose another folder, or replace that result with --force.",
        )


def write_evaluation(evaluation: Evaluation, out: Path) -> list[Path]:
    """Write evaluation.json, the tables and the report into a folder, all or nothing.

    The manifest names every file with its digest; files of an older run are removed.
    """
    document = evaluation_document(evaluation)
    tables = result_tables(evaluation)

    def write_more(stage: Path) -> None:
        inputs = input_tables(evaluation)
        if inputs:
            (stage / INPUTS).mkdir()
        for name, table in inputs.items():
            # numbers hardly compress, and compression would slow down every small evaluation
            write_parquet(table, stage / name, "uncompressed", statistics=False)
        attachments = ReportAttachments(
            tables.get(FLIP_FILE), tables[MISS_FILE], tables[FALSE_FILE]
        )
        page = render_html(document, tables[CURVE_FILE], attachments=attachments)
        (stage / REPORT).write_text(page, encoding="utf-8")
        if evaluation.plan is not None:
            from nodulebench.evaluation.plans import write_plan

            write_plan(evaluation.plan.plan, stage / PLAN)

    return write_result(document, tables, write_more, out)


def write_result(
    document: Document | None,
    tables: Mapping[str, pl.DataFrame],
    write_more: Callable[[Path], None],
    out: Path,
) -> list[Path]:
    """Write a folder of results, all or nothing.

    Args:
        document: the content of evaluation.json; None: the file is not written.
        tables: tables by file name.
        write_more: writes everything else into the given folder.
        out: the folder; files that an older manifest lists and this run did not write are removed.
    """
    older = listed_files(out)
    with staged_folder(out, last=EVALUATION) as stage:
        for name, table in tables.items():
            if name.endswith(".csv"):
                (stage / name).write_text(csv_content(table), encoding="utf-8", newline="\n")
            else:
                write_parquet(table, stage / name, "lz4", statistics=False)
        if document is not None:
            write_document(document, stage / EVALUATION)
        write_more(stage)
        listed = write_manifest(stage).files
        names = sorted(path.name for path in stage.iterdir())
        leave_out(stage, {*(older - listed.keys()), SIGNATURE})  # files of an older run
    return [out / name for name in names]


def add_comparison(
    folder: Path, document: Document, comparison: "ComparisonDocument"
) -> list[Path]:
    """Write a comparison, and add it to the document and the report of its evaluation."""
    document = document.with_comparison(comparison)
    page = render_html(
        document, read_parquet(folder / CURVE_FILE), attachments=read_attachments(folder)
    )
    with staged_folder(folder, last=EVALUATION) as stage:
        write_document(comparison, stage / COMPARISON)
        write_document(document, stage / EVALUATION)
        (stage / REPORT).write_text(page, encoding="utf-8")
        names = record_files(folder, stage)
    return [folder / name for name in names]


def result_tables(evaluation: Evaluation) -> dict[str, pl.DataFrame]:
    """The tables of an evaluation by file name: labels, curves, errors, flips if any."""
    cohorts = cohorts_of(evaluation)
    return {
        **scored_tables(evaluation),
        MISS_FILE: miss_table(cohorts, evaluation.protocol),
        FALSE_FILE: false_positive_table(cohorts),
    }


def scored_tables(evaluation: Evaluation) -> dict[str, pl.DataFrame]:
    """The tables that need only one algorithm at a time: labels, curves, flips if any."""
    labels = [algorithm.labels for algorithm in evaluation.algorithms if algorithm.labels.width]
    flips = [algorithm.flips for algorithm in evaluation.algorithms if algorithm.flips is not None]
    return {
        LABEL_FILE: pl.concat(labels) if labels else LABELS.empty(),
        CURVE_FILE: curve_table(evaluation),
        **({FLIP_FILE: pl.concat(flips)} if flips else {}),
    }


def cohorts_of(evaluation: Evaluation) -> "dict[str, dict[str, LabelledCohort]]":
    """The labelled cohort of each rule (first key) and algorithm (second key)."""
    cohorts: dict[str, dict[str, LabelledCohort]] = {}
    for algorithm in evaluation.algorithms:
        for rule, result in algorithm.rules.items():
            if result.cohort is not None:
                cohorts.setdefault(rule, {})[algorithm.name] = result.cohort
    return cohorts


CURVE_COLUMNS = {
    "algorithm": pl.String,
    "rule": pl.String,
    "curve": pl.String,
    "x": pl.Float64,
    "y": pl.Float64,
    "threshold": pl.Float64,
}


def curve_table(evaluation: Evaluation) -> pl.DataFrame:
    tables = [
        curve.table(algorithm.name, result.rule)
        for algorithm in evaluation.algorithms
        for result in algorithm.rules.values()
        for curve in result.curves
    ]
    return pl.concat([pl.DataFrame(schema=CURVE_COLUMNS), *tables])


def input_tables(evaluation: Evaluation) -> dict[str, pl.DataFrame]:
    """The input tables of an evaluation by file name; each holds all algorithms.

    Empty optional columns are left out; reading adds them again.
    """
    reference = evaluation.test_set
    if reference is None:
        return {}
    found: dict[str, tuple[TableSchema, pl.DataFrame | None]] = {
        "cases": (CASES, reference.cases),
        "nodules": (NODULES, reference.nodules),
        "nodule_slices": (NODULE_SLICES, reference.slices),
    }
    of_algorithms = {"marks": MARKS, "slices": MARK_SLICES, "runs": RUNS}
    for name, schema in of_algorithms.items():
        parts = [
            table.select(pl.lit(algorithm.name).alias("algorithm"), pl.all())
            for algorithm in evaluation.algorithms
            if (table := getattr(algorithm.submission, name, None)) is not None
        ]
        file = "mark_slices" if name == "slices" else name
        found[file] = (schema, pl.concat(parts) if parts else None)
    return {
        f"{INPUTS}/{name}.parquet": table.drop(
            column.name
            for column in schema.columns
            if not column.is_required and table[column.name].null_count() == table.height
        )
        for name, (schema, table) in found.items()
        if table is not None
    }


def write_document(document: "Document | ComparisonDocument", path: Path) -> None:
    text = json.dumps(as_json(document), indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text, encoding="utf-8")


def read_attachments(folder: Path) -> ReportAttachments:
    flips = folder / FLIP_FILE
    tables = {FLIP_FILE: read_parquet(flips)} if flips.is_file() else {}
    for name, schema in ERROR_TABLES.items():
        if (folder / name).is_file():
            tables[name] = read_table(folder / name, schema)
    return ReportAttachments(
        flips=tables.get(FLIP_FILE),
        misses=tables.get(MISS_FILE),
        false_positives=tables.get(FALSE_FILE),
    )


def read_document(folder: Path) -> Document:
    """The evaluation.json of a folder."""
    complete_move(folder)
    path = folder / EVALUATION
    remedy = "Give the folder that 'nodulebench evaluate --out' wrote."
    if not path.is_file():
        raise InputError.at(str(path), "does not exist.", remedy)
    content = with_schema(read_json(path), SCHEMA, path, remedy)
    return read_evaluation(content, str(path))
