"""Folder of an evaluation -> the data behind its numbers: tables, labels, labelled cohorts.

``evaluate --out DIR`` stores its input tables in ``DIR/inputs``. With the folder, every number can
be recomputed without the original files.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import polars as pl

from nodulebench.core.cohort import LABEL_NAMES, NO_NODULE, LabelledCohort, Labels, labelled_cohort
from nodulebench.core.documents.evaluation import Document, evaluation_document, read_evaluation
from nodulebench.core.documents.records import AlgorithmSummary
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.protocol import RuleChoice, TestProtocol
from nodulebench.core.results import Evaluation
from nodulebench.core.schema import Column, TableSchema
from nodulebench.core.tables import (
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
from nodulebench.evaluation.result_folder import (
    EVALUATION,
    INPUTS,
    LABEL_FILE,
    read_document,
    result_tables,
)
from nodulebench.io.manifests import MANIFEST, manifest_problems, reference_digest, table_digest
from nodulebench.io.table_files import read_parquet, read_table
from nodulebench.matching import targets
from nodulebench.matching.sweep import sweep_parameter
from nodulebench.metrics.score_order import at_operating_point


@dataclass(frozen=True, eq=False)
class Evaluated:
    """An evaluation as it was written: its document, and the data behind its numbers."""

    folder: Path
    document: Document
    reference: Reference
    submissions: dict[str, Submission]
    labels: pl.DataFrame

    @property
    def protocol(self) -> TestProtocol:
        return self.document.protocol

    @cached_property
    def cohorts(self) -> dict[str, dict[str, LabelledCohort]]:
        """The labelled cohort of each rule (first key) and algorithm (second key).

        Algorithms to which a rule could not be applied are left out.
        """
        cohorts_of_rules: dict[str, dict[str, LabelledCohort]] = {
            choice.name: {} for choice in self.protocol.rules
        }
        parts = self.labels.partition_by("rule", "algorithm", as_dict=True, include_key=False)
        for rule, cohorts in cohorts_of_rules.items():
            for algorithm in self.document.algorithms:
                name = algorithm.name
                if rule not in algorithm.rules or algorithm.rules[rule].undefined:
                    continue
                table = parts.get((rule, name), self.labels.clear())
                submission = self.submissions[name]
                labels = labels_of(table, submission, self.reference, self.folder / LABEL_FILE)
                is_target = targets(self.reference, submission, self.protocol)
                cohort = labelled_cohort(self.reference, submission, labels, is_target)
                cohorts[name] = at_operating_point(cohort, self.protocol)
        return cohorts_of_rules

    @property
    def changed_digests(self) -> dict[str, tuple[str | None, str]]:
        present = {
            "protocol": self.protocol.digest,
            "reference": reference_digest(self.reference),
            "cohort": table_digest(self.reference.cases),
        }
        written = self.document.digests
        return {
            name: (written.get(name), digest)
            for name, digest in present.items()
            if written.get(name) != digest
        }

    @property
    def problems(self) -> list[Problem]:
        changed = [
            Problem(
                str(self.folder / EVALUATION),
                f"names the {name} {written}, but it is {digest}.",
                "It was changed after the evaluation: evaluate again.",
            )
            for name, (written, digest) in self.changed_digests.items()
        ]
        stored = (
            str(self.folder / LABEL_FILE),
            str(self.folder / INPUTS),
            str(self.folder / MANIFEST),
        )
        return changed + [
            problem
            for problem in manifest_problems(self.folder)
            if problem.where.startswith(stored)
        ]


def joined_results(results: Sequence[Evaluated]) -> Evaluated:
    """Results of different algorithms, evaluated in the same way, as one."""
    first = results[0]
    algorithms = tuple(each for result in results for each in result.document.algorithms)
    return replace(
        first,
        document=replace(first.document, algorithms=algorithms),
        submissions={name: part for result in results for name, part in result.submissions.items()},
        labels=pl.concat([result.labels for result in results]),
    )


def renamed_result(evaluated: Evaluated, name: str) -> Evaluated:
    """The result of one algorithm, under another name."""
    (submission,) = evaluated.submissions.values()
    return replace(
        evaluated,
        document=renamed_document(evaluated.document, name),
        submissions={name: replace(submission, name=name)},
        labels=evaluated.labels.with_columns(algorithm=pl.lit(name)),
    )


def renamed_document(document: Document, name: str) -> Document:
    plan = document.plan
    if plan is not None:
        plan = replace(
            plan,
            criteria=tuple(replace(criterion, algorithm=name) for criterion in plan.criteria),
            verdicts=dict.fromkeys([name], plan.verdict) if plan.verdicts else {},
        )
    (algorithm,) = document.algorithms
    return replace(document, algorithms=(replace(algorithm, name=name),), plan=plan)


def evaluated_of(evaluation: Evaluation) -> Evaluated:
    """An evaluation in memory, in the form in which it would be read back."""
    submissions = {algorithm.name: algorithm.submission for algorithm in evaluation.algorithms}
    held = {name: submission for name, submission in submissions.items() if submission is not None}
    if evaluation.test_set is None or len(held) < len(submissions):
        raise InputError.at("evaluation", "does not hold the tables it was made from.")
    labels = result_tables(evaluation)[LABEL_FILE].with_columns(pl.col("label").cast(pl.String))
    document = evaluation_document(evaluation)
    return Evaluated(Path(), document, evaluation.test_set, held, labels)


def load_evaluated(folder: Path) -> Evaluated:
    document = read_document(folder)
    if not (folder / INPUTS).is_dir():
        raise InputError.at(
            str(folder / INPUTS),
            "does not exist, so the numbers cannot be recomputed.",
            "Evaluate again with --out.",
        )
    return _evaluated(document, _Files(folder))


def evaluated_from(contents: Mapping[str, bytes], where: Path) -> Evaluated:
    """Read an evaluation from the contents of its files, which are not on the disk.

    They are evaluation.json, labels.parquet and the tables of ``inputs``.
    """
    document = read_evaluation(json.loads(contents[EVALUATION]), str(where / EVALUATION))
    return _evaluated(document, _Files(where, contents))


def _evaluated(document: Document, files: "_Files") -> Evaluated:
    from nodulebench.io.marks.boxes import require_listed

    reference = Reference(
        name=document.reference.name,
        cases=files.read(f"{INPUTS}/cases", CASES),
        nodules=files.read(f"{INPUTS}/nodules", NODULES),
        slices=files.read_if_there(f"{INPUTS}/nodule_slices", NODULE_SLICES),
        rule=document.reference.rule,
        notices=document.notices,
    )
    require_listed(reference.nodules["case_id"], reference.cases, str(files.folder / INPUTS))
    return Evaluated(
        folder=files.folder,
        document=document,
        reference=reference,
        submissions=_read_submissions(document, files),
        labels=files.read(LABEL_FILE.removesuffix(".parquet"), LABELS),
    )


def load_unchanged(folder: Path) -> Evaluated:
    evaluated = load_evaluated(folder)
    raise_problems(evaluated.problems)
    return evaluated


def labels_of(
    table: pl.DataFrame, submission: Submission, reference: Reference, source: Path
) -> Labels:
    """Labels as arrays, from the rows of labels.parquet of one algorithm and rule."""
    marks = submission.marks.select("case_id", "mark_id").with_row_index("mark")
    nodules = reference.nodules.select("case_id", "nodule_id").with_row_index("nodule")
    joined = table.join(marks, on=["case_id", "mark_id"], how="left", maintain_order="left").join(
        nodules, on=["case_id", "nodule_id"], how="left", maintain_order="left"
    )
    is_lost = (
        joined["mark"].is_null()
        | (joined["nodule_id"].is_not_null() & joined["nodule"].is_null())
        | ~joined["label"].is_in(LABEL_NAMES)
    )
    if is_lost.any():
        raise InputError(
            Problem(
                str(source),
                f"labels mark '{row['mark_id']}' on nodule '{row['nodule_id']}' of case "
                f"'{row['case_id']}' as '{row['label']}', but {INPUTS} lacks one of these.",
                "It was changed after the evaluation: evaluate again.",
            )
            for row in joined.filter(is_lost).iter_rows(named=True)
        )
    number = {name: index for index, name in enumerate(LABEL_NAMES)}
    return Labels(
        mark=joined["mark"].cast(pl.Int64).to_numpy(),
        nodule=joined["nodule"].cast(pl.Int64).fill_null(NO_NODULE).to_numpy(),
        label=joined["label"].replace_strict(number, return_dtype=pl.Int64).to_numpy(),
    )


@dataclass(frozen=True, slots=True)
class _Files:
    """The tables that an evaluation was made from."""

    folder: Path
    contents: Mapping[str, bytes] | None = None
    """The files, if they are only in memory."""

    def read(self, name: str, schema: TableSchema) -> pl.DataFrame:
        path, content = self._file(name)
        return schema.conform(read_parquet(path, content), path.name)

    def read_if_there(self, name: str, schema: TableSchema) -> pl.DataFrame | None:
        return self.read(name, schema) if self._has(name) else None

    def read_parts(self, name: str, schema: TableSchema) -> dict[str, pl.DataFrame]:
        if not self._has(name):
            return {}
        path, content = self._file(name)
        parts = read_parquet(path, content).partition_by(
            "algorithm", as_dict=True, include_key=False, maintain_order=True
        )
        return {
            str(algorithm): schema.conform(part, f"{path.name} of '{algorithm}'")
            for (algorithm,), part in parts.items()
        }

    def _has(self, name: str) -> bool:
        path, content = self._file(name)
        return path.exists() if self.contents is None else content is not None

    def _file(self, name: str) -> tuple[Path, bytes | None]:
        name = f"{name}.parquet"
        return self.folder / name, None if self.contents is None else self.contents.get(name)


def declared_threshold(algorithm: AlgorithmSummary) -> float | None:
    return float(algorithm.facts["threshold"]) if "threshold" in algorithm.facts else None


def _read_submissions(document: Document, files: _Files) -> dict[str, Submission]:
    marks = files.read_parts(f"{INPUTS}/marks", MARKS)
    slices = files.read_parts(f"{INPUTS}/mark_slices", MARK_SLICES)
    runs = files.read_parts(f"{INPUTS}/runs", RUNS)
    submissions = {}
    for algorithm in document.algorithms:
        name, facts = algorithm.name, dict(algorithm.facts)
        types = facts.pop("intended_types", None)
        submissions[name] = Submission(
            name=name,
            marks=marks.get(name, MARKS.empty()),
            slices=slices.get(name),
            runs=runs.get(name),
            digest=algorithm.digest,
            intended_types=None if types is None else tuple(types),
            threshold=declared_threshold(algorithm),
            facts=facts,
        )
    return submissions


READER_COLUMNS = (
    Column("treatment", pl.String, "the way of reading, such as with or without CAD"),
    Column("reader_id", pl.String, "the reader"),
)


READERS = TableSchema(
    "READERS",
    "One row per submission of an evaluation: its reader and treatment.",
    (Column("algorithm", pl.String, "the submission's name"), *READER_COLUMNS),
    key=("treatment", "reader_id"),
)


Cell: TypeAlias = tuple[str, str]
"""Treatment and reader."""


def cohorts_of_readers(
    folder: Path, readers: Path | None, rule: str | None
) -> tuple[TestProtocol, dict[Cell, LabelledCohort]]:
    """The protocol of an evaluation, and its cohorts under a rule by treatment and reader.

    ``readers`` is the table READERS; None: every algorithm is a treatment of one reader. ``rule``
    None: the first.
    """
    evaluated = load_unchanged(folder)
    chosen = rule or evaluated.protocol.rules[0].name
    cohorts = evaluated.cohorts.get(chosen, {})
    if readers is None:
        if not cohorts:
            raise InputError.at(str(folder), f"has no result under the rule '{chosen}'.")
        return evaluated.protocol, {(name, "1"): cohort for name, cohort in cohorts.items()}
    table = read_table(readers, READERS)
    named = {(row["treatment"], row["reader_id"]): row["algorithm"] for row in table.to_dicts()}
    raise_problems(
        Problem(
            str(readers),
            f"names '{name}', which has no result under the rule '{chosen}' in {folder}.",
            f"There are results of: {', '.join(cohorts) or 'none'}.",
        )
        for name in named.values()
        if name not in cohorts
    )
    return evaluated.protocol, {cell: cohorts[name] for cell, name in named.items()}


def sweep_folder(folder: Path, sweep: str, algorithms: Sequence[str]) -> pl.DataFrame:
    """Evaluate stored marks again under ``RULE.PARAMETER=VALUE,VALUE,...``: a row for each."""
    rule, parameter, values = _read(sweep)
    evaluated = load_unchanged(folder)
    applied = {choice.name: choice for choice in evaluated.protocol.rules}
    choice = applied.get(rule, RuleChoice(name=rule))
    parts = []
    for name in algorithms:
        submission = evaluated.submissions[name]
        cohort = evaluated.cohorts.get(rule, {}).get(name)
        protocol = evaluated.protocol
        if cohort is not None and cohort.threshold is not None:
            protocol = protocol.model_copy(update={"score_threshold": cohort.threshold})
        counts = sweep_parameter(
            evaluated.reference, submission, protocol, choice, parameter, values
        )
        parts.append(
            counts.select(
                pl.lit(name).alias("algorithm"),
                pl.lit(rule).alias("rule"),
                pl.lit(parameter).alias("parameter"),
                pl.col(parameter).alias("value"),
                pl.lit(evaluated.reference.cases.height).alias("cases"),
                pl.exclude(parameter),
            )
        )
    return pl.concat(parts)


def _read(sweep: str) -> tuple[str, str, list[float]]:
    name, _, listed = sweep.partition("=")
    rule, _, parameter = name.partition(".")
    try:
        values = sorted({float(text) for text in listed.split(",")})
    except ValueError:
        values = []
    if not (rule and parameter and values):
        remedy = "Write a rule, its parameter and values: area_overlap.threshold=0.1,0.3,0.5."
        raise InputError.at(f"sweep '{sweep}'", "cannot be read.", remedy)
    return rule, parameter, values
