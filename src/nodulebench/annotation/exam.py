"""Expert key + candidates' answers -> a result sheet each: passed or not, and what was missed.

Marks are matched by center hit and counts pooled over all sequences; Dice is the mean over the
nodules found, volumes added over slices. All three metrics have to exceed the pass mark (Wang et
al., Frontiers in Public Health 2022).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from nodulebench.core.cohort import FALSE_POSITIVE, LabelledCohort, labelled_cohort
from nodulebench.core.errors import InputError, Problem, UndefinedError, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import reason_of
from nodulebench.core.protocol import RuleChoice, TestProtocol
from nodulebench.core.results import Estimate
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.check import keep_listed
from nodulebench.i18n.translator import in_english
from nodulebench.io.atomic import staged_folder
from nodulebench.io.formats import read_reference, read_submission
from nodulebench.io.json_files import read_json, write_json
from nodulebench.matching import label_marks, targets
from nodulebench.metrics.metric import Ratio
from nodulebench.metrics.operating_point import precision, recall
from nodulebench.metrics.segmentation import mean_dice, overlap_table, pooled_dice

METRICS: tuple[Ratio, ...] = (precision, recall, mean_dice, pooled_dice)
PASS_METRICS = ("precision", "recall", "mean_dice")
NEGLIGIBLE = 1e-9
"""A mean that exceeds the pass mark only by rounding does not exceed it."""


class ExamRules(BaseModel):
    """What it takes to pass."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sequences: Annotated[int, Field(ge=1)] | None = 20
    """How many CT sequences an exam has; None: as many as the key."""
    pass_mark: float = Field(default=0.8, ge=0, lt=1)
    """Precision, recall and Dice each have to exceed it."""
    rule: str = "center_hit"


@dataclass(frozen=True, eq=False)
class ExamSheet:
    """One candidate's result."""

    candidate: str
    rules: ExamRules
    metrics: dict[str, Estimate]
    counts: dict[str, int]
    missed: pl.DataFrame
    """Nodules of the key without a mark, with position, size, type and slices."""
    false_marks: pl.DataFrame
    """Marks on no nodule: case_id, mark_id, x_mm, y_mm, z_mm."""
    outlines: pl.DataFrame
    """Nodules found, worst outline first: case_id, nodule_id, dice."""

    @property
    def failed(self) -> tuple[str, ...]:
        """Metrics that do not exceed the pass mark; an undefined one does not."""
        return tuple(
            name
            for name in PASS_METRICS
            if (value := self.metrics[name].value) is None
            or value - self.rules.pass_mark <= NEGLIGIBLE
        )

    @property
    def has_passed(self) -> bool:
        return not self.failed


_RULES = ExamRules()


def hold_exam(
    key: Reference, answers: Sequence[Submission], rules: ExamRules = _RULES
) -> list[ExamSheet]:
    problems = []
    if rules.sequences not in (None, key.cases.height):
        what = f"has {key.cases.height} sequences, not {rules.sequences}."
        remedy = "List sequences without nodules too, or say how many the exam has."
        problems.append(Problem(f"key '{key.name}'", what, remedy))
    names = [answer.name for answer in answers]
    problems += [
        Problem(f"candidate '{name}'", "submitted more than one answer.", "Keep one.")
        for name in dict.fromkeys(name for name in names if names.count(name) > 1)
    ]
    raise_problems(problems)
    return [_sheet(key, answer, rules) for answer in answers]


def _sheet(key: Reference, answer: Submission, rules: ExamRules) -> ExamSheet:
    choice = RuleChoice(name=rules.rule)
    protocol = TestProtocol(
        name="exam", rules=(choice,), metrics=tuple(metric.name for metric in METRICS)
    )
    listed, _ = keep_listed(key, answer, protocol)
    try:
        labels = label_marks(key, listed, protocol, choice)
    except UndefinedError as error:
        raise InputError.at(
            f"candidate '{answer.name}'", f"{in_english(reason_of(error))}."
        ) from error
    cohort = labelled_cohort(key, listed, labels, targets(key, listed, protocol))
    false_rows = np.unique(labels.mark[labels.label == FALSE_POSITIVE])
    return ExamSheet(
        candidate=answer.name,
        rules=rules,
        metrics={metric.name: _estimate(metric, cohort) for metric in METRICS},
        counts={
            "sequences": key.cases.height,
            "nodules": cohort.nodule_count,
            "found": cohort.nodule_count - cohort.missed_count,
            "missed": cohort.missed_count,
            "false_marks": len(false_rows),
        },
        missed=_missed(cohort),
        false_marks=listed.marks[false_rows].select("case_id", "mark_id", "x_mm", "y_mm", "z_mm"),
        outlines=_outlines(cohort),
    )


def _estimate(metric: Ratio, cohort: LabelledCohort) -> Estimate:
    try:
        return Estimate(float(metric(cohort, np.ones((1, cohort.case_count)))[0]))
    except UndefinedError as error:
        return Estimate(None, reason=reason_of(error))


def _missed(cohort: LabelledCohort) -> pl.DataFrame:
    nodules = cohort.reference.nodules[cohort.nodule_row[~cohort.is_hit]]
    slices = cohort.reference.slices
    shown = ["case_id", "nodule_id", "x_mm", "y_mm", "z_mm", "diameter_mm", "type"]
    if slices is None:
        return nodules.select(shown)
    spans = slices.group_by("case_id", "nodule_id").agg(
        first_slice=pl.col("slice_index").min(), last_slice=pl.col("slice_index").max()
    )
    return nodules.select(shown).join(
        spans, on=["case_id", "nodule_id"], how="left", maintain_order="left"
    )


def _outlines(cohort: LabelledCohort) -> pl.DataFrame:
    named = cohort.reference.nodules[cohort.nodule_row].select("case_id", "nodule_id")
    try:
        table = overlap_table(cohort)
    except UndefinedError:
        return named.clear().with_columns(dice=pl.lit(None, dtype=pl.Float64))
    return named[table["nodule"].to_numpy()].with_columns(table["dice"]).sort("dice")


def exam_files(
    key: Path,
    answers: Sequence[Path],
    *,
    cases: Path | None = None,
    rules: ExamRules = _RULES,
    out: Path | None = None,
) -> list[ExamSheet]:
    truth = read_reference(key, cases=cases)
    sheets = hold_exam(truth, [read_submission(path, truth.cases) for path in answers], rules)
    if out is not None:
        write_sheets(sheets, out)
    return sheets


def write_sheets(sheets: Sequence[ExamSheet], out: Path) -> None:
    with staged_folder(out, last="exam.json") as stage:
        for sheet in sheets:
            name = re.sub(r"[^\w.-]", "_", sheet.candidate)
            (stage / f"{name}.md").write_text(sheet_text(sheet), encoding="utf-8")
        write_json([sheet_json(sheet) for sheet in sheets], stage / "exam.json")


def who_passed(path: Path) -> frozenset[str]:
    sheets = read_json(path)
    if not isinstance(sheets, list) or not all(
        isinstance(sheet, dict) and {"candidate", "has_passed"} <= set(sheet) for sheet in sheets
    ):
        raise InputError.at(str(path), "is not the result of an exam.", "Give exam.json.")
    return frozenset(sheet["candidate"] for sheet in sheets if sheet["has_passed"])


def sheet_json(sheet: ExamSheet) -> JsonObject:
    return {
        "candidate": sheet.candidate,
        "has_passed": sheet.has_passed,
        "failed": list(sheet.failed),
        "pass_mark": sheet.rules.pass_mark,
        "rule": sheet.rules.rule,
        "counts": sheet.counts,
        "metrics": {name: metric.to_json() for name, metric in sheet.metrics.items()},
        "missed": sheet.missed.to_dicts(),
        "false_marks": sheet.false_marks.to_dicts(),
        "outlines": sheet.outlines.to_dicts(),
    }


def sheet_text(sheet: ExamSheet) -> str:
    verdict = "passed" if sheet.has_passed else f"not passed: {', '.join(sheet.failed)}"
    metrics = [
        f"| {name} | {_number(metric)} | {_needed(name, sheet.rules)} |"
        for name, metric in sheet.metrics.items()
    ]
    return "\n".join(
        [
            f"# Exam of {sheet.candidate}: {verdict}",
            "",
            "{sequences} sequences, {nodules} nodules: {found} found, {missed} missed; "
            "{false_marks} marks on no nodule.".format(**sheet.counts),
            "",
            "| metric | value | needed |",
            "|---|---|---|",
            *metrics,
            "",
            *_section("Missed nodules", sheet.missed),
            *_section("Marks on no nodule", sheet.false_marks),
            *_section("Outlines of the nodules found, worst first", sheet.outlines),
        ]
    )


def _number(estimate: Estimate) -> str:
    return (
        f"undefined: {in_english(estimate.reason)}"
        if estimate.value is None
        else f"{estimate.value:.3f}"
    )


def _needed(name: str, rules: ExamRules) -> str:
    return f"> {rules.pass_mark:g}" if name in PASS_METRICS else ""


def _section(title: str, table: pl.DataFrame) -> list[str]:
    if not table.height:
        return [f"## {title}: none", ""]
    rows = ["| " + " | ".join(_cell(value) for value in row) + " |" for row in table.iter_rows()]
    head = ["| " + " | ".join(table.columns) + " |", "|---" * table.width + "|"]
    return [f"## {title}", "", *head, *rows, ""]


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
