"""What waits for somebody in a batch -> a table to be filled in; and the answers back."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import polars as pl

from nodulebench.annotation.project import Desk, step_of
from nodulebench.annotation.workflow.actions import OneStep, at_once
from nodulebench.annotation.workflow.batch import Batch, Key, State
from nodulebench.annotation.workflow.events import Event
from nodulebench.annotation.workflow.workflow import SeenCandidate
from nodulebench.core.errors import InputError, Problem, adding_to, refuse_any
from nodulebench.i18n.translator import english
from nodulebench.io.csv_files import read_header, read_strings, require_columns, write_csv

ANSWERS: dict[State, tuple[str, ...]] = {
    "typing": ("type",),
    "review": ("agrees", "comment"),
    "arbitration": ("is_nodule", "type", "comment"),
}
"""State of a batch -> the columns that are filled in then; the first is the decision."""
_STEPS = {"agrees": "review", "is_nodule": "arbitrate", "type": "type"}
_WORDS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def ask(desk: Desk, batch_id: str, actor_id: str) -> pl.DataFrame:
    """The candidates of a batch that wait for somebody, with empty columns for the answers.

    Nobody sees more of a candidate than ``visible`` shows them.

    Raises:
        InputError: if the batch or the person is not known.
    """
    batch = desk.batch(batch_id)
    waiting = set(_waiting(batch, actor_id))
    _, seen = desk.visible(actor_id, batch_id)
    rows = [_row(one, batch) for one in seen if (one.case_id, one.candidate_id) in waiting]
    texts = dict.fromkeys(("case_id", "candidate_id", "slices"), pl.String)
    numbers = dict.fromkeys(("x_mm", "y_mm", "length_mm", "width_mm"), pl.Float64)
    table = pl.DataFrame(rows, schema={**texts, **numbers, "why": pl.String}, orient="row")
    return table.with_columns(pl.lit("").alias(name) for name in ANSWERS.get(batch.state, ()))


def ask_into(desk: Desk, batch_id: str, actor_id: str, path: Path) -> int:
    """Write the questions to somebody as CSV; how many there are. Answers are not overwritten.

    Raises:
        InputError: if the batch or the person is not known, or the file is there already.
    """
    if path.exists():
        raise InputError.at(path, "is there already.", "Hand it in with 'answer', or remove it.")
    asked = ask(desk, batch_id, actor_id)
    if asked.height:
        write_csv(asked, path)
    return asked.height


def answer(desk: Desk, batch_id: str, actor_id: str, path: Path) -> Event:
    """Hand in a table that somebody filled in: every row with an answer, all or none, as one event.

    Raises:
        InputError: with every row that cannot be understood, or the reason why a step is refused.
    """
    header = read_header(path)
    require_columns(path, header, ["case_id", "candidate_id"])
    decision = next((name for name in _STEPS if name in header), None)
    if decision is None:
        raise InputError.at(path, f"has none of the columns {', '.join(_STEPS)}.")
    problems: list[Problem] = []
    steps: list[OneStep] = []
    rows = read_strings(path, header).iter_rows(named=True)
    for line, row in enumerate(rows, start=2):
        with adding_to(problems):
            steps += _steps(row, decision, batch_id, f"{path.name} line {line}")
    refuse_any(problems)
    if not steps:
        raise InputError.at(path, "answers nothing.", f"Fill in the column '{decision}'.")
    return desk.does(actor_id, at_once(batch_id, steps))


def unread_cases(desk: Desk) -> list[str]:
    """The cases of a project that no batch has yet."""
    given = {case_id for batch in desk.batches().values() for case_id in batch.order.case_ids}
    return [case_id for case_id in desk.workflow.cases["case_id"] if case_id not in given]


def _waiting(batch: Batch, actor_id: str) -> Sequence[Key]:
    """The candidates on which somebody has something to say now."""
    if batch.state == "typing":
        return [key for key in batch.untyped if actor_id not in batch.typings.get(key, {})]
    if batch.state == "review":
        return batch.unreviewed if actor_id == batch.order.reviewer_id else ()
    return list(batch.open_disputes) if batch.state == "arbitration" else ()


def _row(seen: SeenCandidate, batch: Batch) -> tuple[object, ...]:
    """A candidate as it is shown: its slices, and its largest box."""
    numbers = sorted({box.slice_index for box in seen.boxes})
    largest = max(seen.boxes, key=lambda box: box.length_mm * box.width_mm)
    key = (seen.case_id, seen.candidate_id)
    return (
        *key,
        f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0]),
        *(round(one, 2) for one in (largest.center_x_mm, largest.center_y_mm)),
        *(round(one, 2) for one in (largest.length_mm, largest.width_mm)),
        ", ".join(map(english, batch.dispute(key))) if batch.state != "typing" else "",
    )


def _steps(
    row: dict[str, str | None], decision: str, batch_id: str, where: str
) -> Iterator[OneStep]:
    """The step that a row asks for; none where the decision was left open."""
    said = (row[decision] or "").strip()
    if not said:
        return
    fields: dict[str, Any] = {
        name: row[name] for name in ("case_id", "candidate_id", "type", "comment") if row.get(name)
    }
    if decision != "type":
        if said.lower() not in _WORDS:
            raise InputError.at(where, f"'{said}' in '{decision}' is neither yes nor no.")
        fields[decision] = _WORDS[said.lower()]
    if decision == "agrees":
        fields.pop("type", None)
    yield cast("OneStep", step_of({"step": _STEPS[decision], "batch_id": batch_id, **fields}))
