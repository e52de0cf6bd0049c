"""Small random test sets in which much happens: ties, misses, duplicates, crowds, empty cases."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.json_types import JsonObject
from nodulebench.core.protocol import IntervalChoice, RuleChoice, TestProtocol
from nodulebench.core.readings import Readings
from nodulebench.core.schema import TableSchema
from nodulebench.core.tables import (
    CASES,
    DENSITIES,
    MARK_SLICES,
    MARKS,
    NODULE_SLICES,
    NODULE_TYPES,
    NODULES,
    RUNS,
    Reference,
    Submission,
)
from nodulebench.matching import label_cohort

TestSet = tuple[Reference, Submission]
"""A reference, and the output of one algorithm for its cases."""
SCORES = (0.1, 0.2, 0.5, 0.5, 0.7, 0.9)
"""Few values, so that many marks tie."""
BOX = ("slice_index", "center_x_mm", "center_y_mm", "length_mm", "width_mm")
Row = JsonObject
Held = TypeVar("Held", Reference, Submission, Readings)


def random_test_set(seed: int, *, abnormal: int = 6, normal: int = 4) -> TestSet:
    """Cases that say everything a metric may ask for; most nodules are found, some cases empty."""
    random = np.random.default_rng(seed)
    nodules: list[Row] = []
    marks: list[Row] = []
    runs: list[Row] = []
    names = [f"case{number}" for number in range(abnormal + normal)]
    for number, name in enumerate(names):
        for place in range(int(random.integers(1, 4)) if number < abnormal else 0):
            at = _at(name, 100.0 * place)
            nodules.append(at | _character(random, is_truth=True) | _box(random, at))
            if random.random() < 0.75:
                marks.append(at | _character(random, is_truth=False) | _box(random, at))
        for place in range(int(random.integers(0, 4))):
            far = _at(name, 1000.0 + 50 * place)
            marks.append(far | {"score": float(random.choice(SCORES))})
        state = "ok" if random.random() < 0.8 else "failed"
        runs.append({"case_id": name, "state": state, "seconds": float(random.integers(1, 6))})
    return set_of(names, nodules, marks, runs)


def crowded_set(seed: int, cases: int = 6) -> TestSet:
    """Cases with nodules, an ignored finding and marks so close together that they compete."""
    random = np.random.default_rng(seed)

    def item(name: str) -> Row:
        x, y = (float(value) for value in random.integers(0, 9, 2))
        size, first = float(random.choice([4.0, 6.0, 8.0])), int(random.integers(0, 3))
        score, width = float(random.choice([0.3, 0.6, 0.9])), float(random.choice([4.0, 6.0]))
        boxes = [(first + step, x, y, size, width) for step in range(3)]
        return _at(name, x, y, 1.0) | {"diameter_mm": size, "score": score, "boxes": boxes}

    names = [f"case{number}" for number in range(cases)]
    nodules = [item(name) | {"is_ignored": at == 4} for name in names for at in range(5)]
    return set_of(names, nodules, [item(name) for name in names for _ in range(7)])


def set_of(
    names: Sequence[str],
    nodules: Iterable[Row] = (),
    marks: Iterable[Row] = (),
    runs: Sequence[Row] = (),
) -> TestSet:
    """The tables of a test set from the names of cases and rows of NODULES, MARKS and RUNS.

    ``boxes`` of a row holds (slice, x, y, length, width) of each; ids are added.
    """
    rows, boxes = _numbered(nodules, "nodule_id")
    rows = [{"diameter_mm": 10.0, "is_ignored": False, **row} for row in rows]
    for row in rows:
        row.pop("score", None)
    reference = Reference(
        "contract",
        _table(CASES, [{"case_id": name} for name in names]),
        _table(NODULES, rows),
        _table(NODULE_SLICES, boxes) if boxes else None,
    )
    rows, boxes = _numbered(marks, "mark_id")
    submission = Submission(
        "algorithm",
        _table(MARKS, rows),
        _table(MARK_SLICES, boxes) if boxes else None,
        runs=_table(RUNS, list(runs)) if runs else None,
    )
    return reference, submission


def cohort_of(test_set: TestSet, rule: str = "luna16") -> LabelledCohort:
    chosen = protocol_of(rule)
    return label_cohort(*test_set, chosen, chosen.rules[0])[1]


def protocol_of(rule: str, **fields: Any) -> TestProtocol:
    """A protocol with one rule and no intervals."""
    choice = RuleChoice(name=rule)
    none = IntervalChoice(bootstraps=0)
    return TestProtocol(
        name="contract", rules=(choice,), metrics=("recall",), interval=none, **fields
    )


def changed(test_set: TestSet, change: Callable[[pl.DataFrame], pl.DataFrame]) -> TestSet:
    reference, submission = test_set
    return with_tables(reference, change), with_tables(submission, change)


def with_tables(held: Held, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Held:
    tables = ((field.name, getattr(held, field.name)) for field in fields(held))
    new: JsonObject = {
        name: change(table) for name, table in tables if isinstance(table, pl.DataFrame)
    }
    return replace(held, **new)


def repeated(test_set: TestSet, times: Sequence[int]) -> TestSet:
    names = test_set[0].cases["case_id"].to_list()
    copies = pl.DataFrame(
        {
            "case_id": [
                name for name, count in zip(names, times, strict=True) for _ in range(count)
            ],
            "copy": [copy for count in times for copy in range(count)],
        },
        schema={"case_id": pl.String, "copy": pl.Int64},
    )

    def copied(table: pl.DataFrame) -> pl.DataFrame:
        joined = copies.join(table, on="case_id", how="inner", maintain_order="left_right")
        named = pl.concat_str(["case_id", "copy"], separator="-")
        return joined.with_columns(case_id=named).drop("copy").select(table.columns)

    return changed(test_set, copied)


def rescored(test_set: TestSet, score: pl.Expr) -> TestSet:
    reference, submission = test_set
    return reference, replace(submission, marks=submission.marks.with_columns(score=score))


def _at(name: str, x: float, y: float = 0.0, z: float = 0.0) -> Row:
    return {"case_id": name, "x_mm": x, "y_mm": y, "z_mm": z}


def _box(random: np.random.Generator, at: Row) -> Row:
    return {"boxes": [(0, at["x_mm"] + float(random.integers(-2, 3)), at["y_mm"], 8.0, 6.0)]}


def _character(random: np.random.Generator, *, is_truth: bool) -> Row:
    row: Row = {
        "long_mm": float(random.integers(3, 20)),
        "short_mm": float(random.integers(3, 20)),
        "type": str(random.choice(NODULE_TYPES)),
        "density": str(random.choice(DENSITIES)),
        "malignancy": float(random.integers(0, 2) if is_truth else random.choice(SCORES)),
    }
    if not is_truth:
        row["diameter_mm"] = float(random.integers(3, 20))
        row["score"] = float(random.choice(SCORES))
    return row


def _numbered(items: Iterable[Row], key: str) -> tuple[list[Row], list[Row]]:
    rows: list[Row] = []
    boxes: list[Row] = []
    for number, item in enumerate(items):
        named = {"case_id": item["case_id"], key: f"{key[0]}{number}"}
        rows.append({**item, **named})
        boxes.extend(
            named | {"z_mm": float(box[0]), **dict(zip(BOX, box, strict=True))}
            for box in rows[-1].pop("boxes", ())
        )
    return rows, boxes


def _table(schema: TableSchema, rows: list[Row]) -> pl.DataFrame:
    table = pl.DataFrame(rows, infer_schema_length=None) if rows else schema.empty()
    return schema.conform(table, schema.name)


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def expect_all(checks: Iterable[Callable[..., None]], *arguments: Any) -> None:
    """Run every check on the same arguments, then report all that fail in one AssertionError."""
    problems, first = [], None
    for check in checks:
        try:
            check(*arguments)
        except Exception as error:  # a broken item may raise anything
            first = first or error
            what = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            problems.append(f"{check.__name__}: {what}{error}")
    if problems:
        raise AssertionError("\n".join(problems)) from first
