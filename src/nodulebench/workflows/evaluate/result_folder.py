"""Folder of an evaluation <-> what its numbers are made of: tables, labels, labelled cohorts.

``evaluate --out DIR`` keeps the tables that it was given in ``DIR/inputs``, so that whoever has the
folder can recompute every number without the original files.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.errors import InputError, Problem
from nodulebench.match import targets
from nodulebench.model.cohort import LabelledCohort, labelled_cohort
from nodulebench.model.labels import LABEL_NAMES, NO_NODULE, Labels
from nodulebench.model.protocol import TestProtocol
from nodulebench.model.results import Evaluation
from nodulebench.model.schema import TableSchema
from nodulebench.model.tables import (
    CASES,
    LABELS,
    MARK_SLICES,
    MARKS,
    NODULE_SLICES,
    NODULES,
    RUNS,
    Reference,
    Submission,
)
from nodulebench.model.written import checked
from nodulebench.storage.digest import reference_digest, table_digest
from nodulebench.storage.json_text import read_json
from nodulebench.storage.manifest import MANIFEST, manifest_problems
from nodulebench.storage.table_file import read_parquet, read_table

INPUTS = "inputs"
EVALUATION, LABEL_FILE = "evaluation.json", "labels.parquet"
SCHEMA = "nodulebench/evaluation@1"


def write_inputs(evaluation: Evaluation, folder: Path) -> None:
    """Keep the tables behind an evaluation; those of all algorithms stand in one file each."""
    reference = evaluation.test_set
    if reference is None:
        return
    submissions = [one.submission for one in evaluation.algorithms if one.submission is not None]
    folder.mkdir()
    for name, schema, table in (
        ("cases", CASES, reference.cases),
        ("nodules", NODULES, reference.nodules),
        ("nodule_slices", NODULE_SLICES, reference.slices),
        ("marks", MARKS, _of_all(submissions, "marks")),
        ("mark_slices", MARK_SLICES, _of_all(submissions, "slices")),
        ("runs", RUNS, _of_all(submissions, "runs")),
    ):
        if table is not None:
            # numbers hardly compress, and the time would be felt in every small evaluation
            _without_empty(table, schema).write_parquet(
                folder / f"{name}.parquet", compression="uncompressed", statistics=False
            )


def write_document(document: dict[str, Any], path: Path) -> None:
    """Write evaluation.json as strict JSON."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text, encoding="utf-8")


def _of_all(submissions: list[Submission], name: str) -> pl.DataFrame | None:
    tables = [
        table.select(pl.lit(submission.name).alias("algorithm"), pl.all())
        for submission in submissions
        if (table := getattr(submission, name)) is not None
    ]
    return pl.concat(tables) if tables else None


def _without_empty(table: pl.DataFrame, schema: TableSchema) -> pl.DataFrame:
    """The table without optional columns that say nothing; reading brings them back."""
    return table.drop(
        column.name
        for column in schema.columns
        if not column.is_required and table[column.name].null_count() == table.height
    )


@dataclass(frozen=True, eq=False)
class Evaluated:
    """An evaluation as it was written: its document, and what the numbers are made of."""

    folder: Path
    document: dict[str, Any]
    """evaluation.json."""
    protocol: TestProtocol
    reference: Reference
    submissions: dict[str, Submission]
    """By the algorithm's name: the marks that were judged."""
    labels: pl.DataFrame

    @cached_property
    def cohorts(self) -> dict[str, dict[str, LabelledCohort]]:
        """The labelled cohort of each rule (first key) and algorithm (second key).

        An algorithm to which a rule could not be applied is not there.
        """
        found: dict[str, dict[str, LabelledCohort]] = {one.name: {} for one in self.protocol.rules}
        parts = self.labels.partition_by("rule", "algorithm", as_dict=True, include_key=False)
        for rule, cohorts in found.items():
            for one in self.document["algorithms"]:
                name = one["name"]
                if "undefined" in one["rules"].get(rule, {"undefined": "not judged"}):
                    continue
                table = parts.get((rule, name), self.labels.clear())
                submission = self.submissions[name]
                labels = labels_of(table, submission, self.reference, self.folder / LABEL_FILE)
                is_target = targets(self.reference, submission, self.protocol)
                cohorts[name] = labelled_cohort(self.reference, submission, labels, is_target)
        return found

    @property
    def problems(self) -> list[Problem]:
        """Where the tables and the protocol are not those that the evaluation was made with."""
        found = {
            "protocol": self.protocol.digest,
            "reference": reference_digest(self.reference),
            "cohort": table_digest(self.reference.cases),
        }
        changed = [
            Problem(
                str(self.folder / EVALUATION),
                f"names the {name} {self.document['digests'].get(name)}, but it is {digest}.",
                "It was changed after the evaluation: evaluate anew.",
            )
            for name, digest in found.items()
            if self.document["digests"].get(name) != digest
        ]
        kept = (
            str(self.folder / LABEL_FILE),
            str(self.folder / INPUTS),
            str(self.folder / MANIFEST),
        )
        return changed + [
            problem for problem in manifest_problems(self.folder) if problem.where.startswith(kept)
        ]


def load_evaluated(folder: Path) -> Evaluated:
    """Read back what ``evaluate --out`` wrote.

    Raises:
        InputError: if files are missing or damaged. Whether they are the ones that the digests
            name is for ``Evaluated.problems`` to say.
    """
    from nodulebench.formats.marks.boxes import refuse_unlisted

    document = read_document(folder / EVALUATION)
    files = _Files(folder / INPUTS)
    if not files.folder.is_dir():
        raise InputError(
            Problem(
                str(files.folder),
                "is not there, so the numbers cannot be recomputed.",
                "Evaluate anew with --out; older versions did not keep the tables.",
            )
        )
    reference = Reference(
        name=document["reference"]["name"],
        cases=files.read("cases", CASES),
        nodules=files.read("nodules", NODULES),
        slices=files.read_if_there("nodule_slices", NODULE_SLICES),
        notices=tuple(document["notices"]),
    )
    refuse_unlisted(reference.nodules["case_id"], reference.cases, str(files.folder))
    return Evaluated(
        folder=folder,
        document=document,
        protocol=_protocol(document, folder / EVALUATION),
        reference=reference,
        submissions=_read_submissions(document, files),
        labels=read_table(folder / LABEL_FILE, LABELS),
    )


def read_document(path: Path) -> dict[str, Any]:
    """The evaluation.json of a folder, refused if it is something else."""
    remedy = "Give the folder that 'nodulebench evaluate --out' wrote."
    if not path.is_file():
        raise InputError(Problem(str(path), "is not there.", remedy))
    document = read_json(path)
    found = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(document, dict) or found != SCHEMA:
        raise InputError(Problem(str(path), f"has the schema '{found}', not '{SCHEMA}'.", remedy))
    from nodulebench.workflows.evaluate.evaluation_shape import check_shape

    check_shape(document, str(path))
    return document


def labels_of(
    table: pl.DataFrame, submission: Submission, reference: Reference, source: Path
) -> Labels:
    """Labels as arrays again, from the rows of labels.parquet of one algorithm and rule.

    Raises:
        InputError: for rows whose mark or nodule is in no table.
    """
    marks = submission.marks.select("case_id", "mark_id").with_row_index("mark")
    nodules = reference.nodules.select("case_id", "nodule_id").with_row_index("nodule")
    found = table.join(marks, on=["case_id", "mark_id"], how="left", maintain_order="left").join(
        nodules, on=["case_id", "nodule_id"], how="left", maintain_order="left"
    )
    is_lost = (
        found["mark"].is_null()
        | (found["nodule_id"].is_not_null() & found["nodule"].is_null())
        | ~found["label"].is_in(LABEL_NAMES)
    )
    if is_lost.any():
        raise InputError(
            Problem(
                str(source),
                f"calls mark '{row['mark_id']}' on nodule '{row['nodule_id']}' of case "
                f"'{row['case_id']}' a '{row['label']}', which the tables in {INPUTS} do not know.",
                "It was changed after the evaluation: evaluate anew.",
            )
            for row in found.filter(is_lost).iter_rows(named=True)
        )
    number = {name: index for index, name in enumerate(LABEL_NAMES)}
    return Labels(
        mark=found["mark"].cast(pl.Int64).to_numpy(),
        nodule=found["nodule"].cast(pl.Int64).fill_null(NO_NODULE).to_numpy(),
        label=found["label"].replace_strict(number, return_dtype=pl.Int64).to_numpy(),
    )


@dataclass(frozen=True, slots=True)
class _Files:
    """The tables that an evaluation was made from."""

    folder: Path

    def read(self, name: str, schema: TableSchema) -> pl.DataFrame:
        return read_table(self.folder / f"{name}.parquet", schema)

    def read_if_there(self, name: str, schema: TableSchema) -> pl.DataFrame | None:
        return self.read(name, schema) if (self.folder / f"{name}.parquet").exists() else None

    def read_parts(self, name: str, schema: TableSchema) -> dict[str, pl.DataFrame]:
        """The rows of each algorithm, as their schema wants them."""
        path = self.folder / f"{name}.parquet"
        if not path.exists():
            return {}
        parts = read_parquet(path).partition_by(
            "algorithm", as_dict=True, include_key=False, maintain_order=True
        )
        return {
            str(algorithm): schema.conform(part, f"{path.name} of '{algorithm}'")
            for (algorithm,), part in parts.items()
        }


def _read_submissions(document: dict[str, Any], files: _Files) -> dict[str, Submission]:
    marks = files.read_parts("marks", MARKS)
    slices = files.read_parts("mark_slices", MARK_SLICES)
    runs = files.read_parts("runs", RUNS)
    submissions = {}
    for one in document["algorithms"]:
        name, facts = one["name"], dict(one["facts"])
        types = facts.pop("intended_types", None)
        submissions[name] = Submission(
            name=name,
            marks=marks.get(name, MARKS.empty()),
            slices=slices.get(name),
            runs=runs.get(name),
            digest=one["digest"],
            intended_types=None if types is None else tuple(types),
            facts=facts,
        )
    return submissions


def _protocol(document: dict[str, Any], source: Path) -> TestProtocol:
    return checked(TestProtocol, document["protocol"], f"{source} protocol")
