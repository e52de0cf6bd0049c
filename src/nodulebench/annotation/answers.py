"""The answers of people to open questions about candidates, from the viewer or a CSV file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import polars as pl

from nodulebench.annotation.actions import (
    Action,
    AddNodule,
    ArbitrateNodule,
    CorrectOutline,
    Event,
    FinishCase,
    ReviewNodule,
    SingleStep,
    TypeNodule,
    at_once,
)
from nodulebench.annotation.batch import Batch, State
from nodulebench.annotation.permissions import known_batch
from nodulebench.annotation.project import ProjectHandle
from nodulebench.annotation.readings import DrawnFinding, DrawnSlice
from nodulebench.annotation.steps import step_of
from nodulebench.annotation.tasks import Mode, Task, waiting
from nodulebench.annotation.workflow import SeenCandidate
from nodulebench.core.errors import InputError, Problem, collect_problems, raise_problems
from nodulebench.i18n.translator import in_english
from nodulebench.io.csv_files import CsvFile, write_csv

if TYPE_CHECKING:
    from nodulebench.core.json_types import JsonObject
from nodulebench.annotation.reader_view import shown_names


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer on a candidate, or a nodule that they add."""

    name: str
    """The shown name of a candidate; any other name: an added nodule."""
    type: str | None = None
    decision: bool | None = None
    """Whether the reviewer agrees, or the arbitrator decides for a nodule. None: no answer."""
    comment: str = ""
    new_slices: tuple[DrawnSlice, ...] = ()
    """Outlines that were changed or added; empty: unchanged."""
    discussed_with: tuple[str, ...] = ()


def submit_answers(
    handle: ProjectHandle, actor_id: str, task: Task, answers: Sequence[Answer]
) -> Event:
    def made(batches: Mapping[str, Batch]) -> Action:
        batch = known_batch(batches, task.batch_id)
        steps = list(_steps(handle, batch, actor_id, task, answers))
        if not steps:
            what = "has nothing more for you to do."
            raise InputError.at(_where(task), what, "Reload the list of cases.")
        return at_once(task.batch_id, steps)

    return handle.act(actor_id, made)


def _steps(
    handle: ProjectHandle, batch: Batch, actor_id: str, task: Task, answers: Sequence[Answer]
) -> Iterator[SingleStep]:
    by_name = {answer.name: answer for answer in answers}
    asked = set(waiting(handle.workflow, batch, actor_id))
    shown = shown_names(handle.workflow, batch, actor_id, task.case_id)
    names = {
        candidate_id: name
        for candidate_id, name in shown.items()
        if (task.case_id, candidate_id) in asked
    }
    raise_problems(_missing(task, names.values(), by_name))
    for candidate_id, name in names.items():
        yield from _steps_of(task, candidate_id, by_name[name])
    if task.mode != "review":
        return
    fields = {"batch_id": task.batch_id, "case_id": task.case_id}
    for answer in answers:
        if answer.name not in shown.values():
            finding = DrawnFinding(
                finding_id=answer.name, slices=answer.new_slices, type=answer.type
            )
            yield AddNodule(**fields, finding=finding, comment=answer.comment)
    yield FinishCase(**fields)


def _steps_of(task: Task, candidate_id: str, answer: Answer) -> Iterator[SingleStep]:
    fields = {"batch_id": task.batch_id, "case_id": task.case_id, "candidate_id": candidate_id}
    if answer.new_slices and task.mode in ("review", "arbitrate"):
        yield CorrectOutline(**fields, slices=answer.new_slices, comment=answer.comment)
    if task.mode == "type":
        yield TypeNodule(**fields, type=answer.type or "")
    elif task.mode == "review":
        yield ReviewNodule(**fields, agrees=bool(answer.decision), comment=answer.comment)
    else:
        yield ArbitrateNodule(
            **fields,
            is_nodule=bool(answer.decision),
            type=answer.type if answer.decision else None,
            comment=answer.comment,
            discussed_with=answer.discussed_with,
        )


_WANTED: dict[Mode, tuple[str, str]] = {
    "type": ("has no type yet.", "Choose a type before submitting."),
    "review": ("is not reviewed yet.", "Agree or object before submitting."),
    "arbitrate": ("is not settled yet.", "Decide before submitting."),
}


def _missing(task: Task, names: Iterable[str], answers: Mapping[str, Answer]) -> Iterator[Problem]:
    for name in names:
        answer = answers.get(name)
        given = answer and (answer.type if task.mode == "type" else answer.decision)
        if given is None:
            yield Problem(f"{_where(task)} '{name}'", *_WANTED[task.mode])


def _where(task: Task) -> str:
    return f"case '{task.name}'"


ANSWERS: dict[State, tuple[str, ...]] = {
    "typing": ("type",),
    "review": ("agrees", "comment"),
    "arbitration": ("is_nodule", "type", "comment"),
}
"""State of a batch -> the columns to fill in; the first is the decision."""
_STEPS = {"agrees": "review", "is_nodule": "arbitrate", "type": "type"}
_WORDS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def request_answers(handle: ProjectHandle, batch_id: str, actor_id: str) -> pl.DataFrame:
    """Candidates that wait for a person, with empty columns for answers; see ``visible``."""
    batch = handle.batch(batch_id)
    asked = set(waiting(handle.workflow, batch, actor_id))
    rows = [
        _row(candidate, batch)
        for candidate in handle.workflow.seen_candidates(batch, actor_id)
        if (candidate.case_id, candidate.candidate_id) in asked
    ]
    texts = dict.fromkeys(("case_id", "candidate_id", "slices"), pl.String)
    numbers = dict.fromkeys(("x_mm", "y_mm", "length_mm", "width_mm"), pl.Float64)
    table = pl.DataFrame(rows, schema={**texts, **numbers, "why": pl.String}, orient="row")
    return table.with_columns(pl.lit("").alias(name) for name in ANSWERS.get(batch.state, ()))


def export_tasks(handle: ProjectHandle, batch_id: str, actor_id: str, path: Path) -> int:
    """Write a person's open questions as CSV; returns how many. It never overwrites answers."""
    if path.exists():
        raise InputError.at(path, "already exists.", "Submit it, or remove it.")
    asked = request_answers(handle, batch_id, actor_id)
    if asked.height:
        write_csv(asked, path)
    return asked.height


def import_answers(handle: ProjectHandle, batch_id: str, actor_id: str, path: Path) -> Event:
    """Submit all rows with an answer of a table that a person filled in, as one event."""
    file = CsvFile(path)
    header = file.header(needed=["case_id", "candidate_id"])
    decision = next((name for name in _STEPS if name in header), None)
    if decision is None:
        raise InputError.at(path, f"has none of the columns {', '.join(_STEPS)}.")
    problems: list[Problem] = []
    steps: list[SingleStep] = []
    rows = file.read_strings(header).iter_rows(named=True)
    for line, row in enumerate(rows, start=2):
        with collect_problems(problems):
            steps += _questions_steps(row, decision, batch_id, f"{path.name} line {line}")
    raise_problems(problems)
    if not steps:
        raise InputError.at(path, "answers nothing.", f"Fill in the column '{decision}'.")
    return handle.act(actor_id, at_once(batch_id, steps))


def _row(seen: SeenCandidate, batch: Batch) -> tuple[object, ...]:
    numbers = sorted({box.slice_index for box in seen.boxes})
    largest = max(seen.boxes, key=lambda box: box.length_mm * box.width_mm)
    key = (seen.case_id, seen.candidate_id)
    return (
        *key,
        f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0]),
        *(round(value, 2) for value in (largest.center_x_mm, largest.center_y_mm)),
        *(round(value, 2) for value in (largest.length_mm, largest.width_mm)),
        ", ".join(map(in_english, batch.dispute(key))) if batch.state != "typing" else "",
    )


def _questions_steps(
    row: dict[str, str | None], decision: str, batch_id: str, where: str
) -> Iterator[SingleStep]:
    text = (row[decision] or "").strip()
    if not text:
        return
    fields: JsonObject = {
        name: row[name] for name in ("case_id", "candidate_id", "type", "comment") if row.get(name)
    }
    if decision != "type":
        if text.lower() not in _WORDS:
            raise InputError.at(where, f"'{text}' in '{decision}' is neither yes nor no.")
        fields[decision] = _WORDS[text.lower()]
    if decision == "agrees":
        fields.pop("type", None)
    yield cast("SingleStep", step_of({"step": _STEPS[decision], "batch_id": batch_id, **fields}))
