"""Small cohorts for tests that read as sentences: cohort(case("a", nodule(8)), case("b"))."""

from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from nodulebench.core.cohort import LabelledCohort, labelled_cohort
from nodulebench.core.protocol import IntervalChoice, RuleChoice, TestProtocol
from nodulebench.core.schema import TableSchema
from nodulebench.core.tables import (
    CASES,
    MARK_SLICES,
    MARKS,
    NODULE_SLICES,
    NODULES,
    RUNS,
    Reference,
    Submission,
)
from nodulebench.matching import label_marks, targets


@dataclass(frozen=True)
class Slice:
    """A box on one slice: centre and size in mm."""

    index: int
    x: float
    y: float
    length: float
    width: float
    long: float | None = None
    short: float | None = None
    contour: str | None = None


@dataclass(frozen=True)
class Nodule:
    """A nodule or an ignored finding."""

    diameter: float | None
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    is_ignored: bool = False
    slices: tuple[Slice, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Mark:
    """A mark of an algorithm."""

    score: float | None
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    slices: tuple[Slice, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """How the algorithm's run on a case ended."""

    seconds: float | None
    state: str = "ok"


@dataclass(frozen=True)
class Case:
    """A case with its nodules and marks."""

    name: str
    nodules: tuple[Nodule, ...] = ()
    marks: tuple[Mark, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()


def nodule(
    diameter: float | None = 10,
    at: tuple[float, float, float] = (0, 0, 0),
    *slices: Slice,
    **more: Any,
) -> Nodule:
    """A nodule that has to be found."""
    return Nodule(diameter, at, False, slices, more)


def ignored(
    diameter: float | None = 10, at: tuple[float, float, float] = (0, 0, 0), *slices: Slice
) -> Nodule:
    """A finding on which marks do not count."""
    return Nodule(diameter, at, True, slices)


def mark(
    score: float | None = 0.5,
    at: tuple[float, float, float] = (0, 0, 0),
    *slices: Slice,
    **more: Any,
) -> Mark:
    """A mark with its score and place."""
    return Mark(score, at, slices, more)


def false_mark(score: float, number: int = 0) -> Mark:
    """A mark far from everything."""
    return Mark(score, (1000.0 + 50 * number, 0.0, 0.0))


def run(seconds: float | None, state: str = "ok") -> Run:
    """A run on a case, its wall time and how it ended."""
    return Run(seconds, state)


def case(name: str, *content: Nodule | Mark | Run, **more: Any) -> Case:
    """A case with nodules, marks and perhaps a run, in any order."""
    return Case(
        name,
        tuple(item for item in content if isinstance(item, Nodule)),
        tuple(item for item in content if isinstance(item, Mark)),
        more,
        tuple(item for item in content if isinstance(item, Run)),
    )


def reference(*cases: Case) -> Reference:
    """The test set made of these cases."""
    rows: list[dict[str, Any]] = []
    boxes: list[dict[str, Any]] = []
    for case in cases:
        for number, item in enumerate(case.nodules):
            key = {"case_id": case.name, "nodule_id": f"n{number}"}
            x, y, z = item.at
            rows.append(
                {
                    **key,
                    "x_mm": float(x),
                    "y_mm": float(y),
                    "z_mm": float(z),
                    "diameter_mm": None if item.diameter is None else float(item.diameter),
                    "is_ignored": item.is_ignored,
                    **item.more,
                }
            )
            boxes.extend(key | _slice_row(box) for box in item.slices)
    return Reference(
        name="test",
        cases=_table(CASES, [{"case_id": case.name, **case.more} for case in cases]),
        nodules=_table(NODULES, rows),
        slices=_table(NODULE_SLICES, boxes) if boxes else None,
    )


def submission(*cases: Case, name: str = "algorithm") -> Submission:
    """The marks of these cases as one algorithm's submission."""
    rows: list[dict[str, Any]] = []
    boxes: list[dict[str, Any]] = []
    for case in cases:
        for number, item in enumerate(case.marks):
            key = {"case_id": case.name, "mark_id": f"m{number}"}
            x, y, z = item.at
            rows.append(
                {
                    **key,
                    "x_mm": float(x),
                    "y_mm": float(y),
                    "z_mm": float(z),
                    "score": item.score,
                    **item.more,
                }
            )
            boxes.extend(key | _slice_row(box) for box in item.slices)
    runs = [
        {"case_id": case.name, "state": item.state, "seconds": item.seconds}
        for case in cases
        for item in case.runs
    ]
    return Submission(
        name=name,
        marks=_table(MARKS, rows),
        slices=_table(MARK_SLICES, boxes) if boxes else None,
        runs=_table(RUNS, runs) if runs else None,
    )


def protocol(
    rule: str = "luna16", *, metrics: tuple[str, ...] = ("recall",), **fields: Any
) -> TestProtocol:
    """A protocol with one rule; keyword arguments are its fields."""
    parameters = fields.pop("parameters", {})
    chosen = {"rules": (RuleChoice(name=rule, parameters=parameters),), "metrics": metrics}
    chosen["interval"] = fields.pop("interval", IntervalChoice(bootstraps=0))
    return TestProtocol(name="test", **chosen, **fields)


def cohort(*cases: Case, rule: str = "luna16", **fields: Any) -> LabelledCohort:
    """The cases labelled by a rule, as metrics see them."""
    chosen = protocol(rule, **fields)
    truth, marks = reference(*cases), submission(*cases)
    labels = label_marks(truth, marks, chosen, chosen.rules[0])
    return labelled_cohort(truth, marks, labels, targets(truth, marks, chosen))


def labels_of(
    *cases: Case, rule: str = "luna16", **fields: Any
) -> list[tuple[str, str, str | None, str]]:
    """Rows (case, mark, nodule, label) that a rule gives, sorted."""
    chosen = protocol(rule, **fields)
    truth, marks = reference(*cases), submission(*cases)
    table = label_marks(truth, marks, chosen, chosen.rules[0]).table("a", rule, marks, truth)
    rows = table.select("case_id", "mark_id", "nodule_id", pl.col("label").cast(pl.String)).rows()
    return sorted(rows, key=lambda row: (row[0], row[1], row[2] or ""))


def with_score(item: Mark, score: float | None) -> Mark:
    """The same mark with another score."""
    return replace(item, score=score)


def _slice_row(box: Slice) -> dict[str, Any]:
    return {
        "slice_index": box.index,
        "z_mm": float(box.index),
        "center_x_mm": float(box.x),
        "center_y_mm": float(box.y),
        "length_mm": float(box.length),
        "width_mm": float(box.width),
        "long_mm": box.long,
        "short_mm": box.short,
        "contour": box.contour,
    }


def _table(schema: TableSchema, rows: list[dict[str, Any]]) -> pl.DataFrame:
    table = pl.DataFrame(rows, infer_schema_length=None) if rows else schema.empty()
    return schema.conform(table, schema.name)
