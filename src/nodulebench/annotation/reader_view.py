"""A batch and a person -> the candidates of a case as the person may see them, with outlines.

Readers stay anonymous: they are shown as letters, in an order that depends on the batch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import polars as pl

from nodulebench.annotation.project import ProjectHandle, revise_readings, step_of, submit_readings
from nodulebench.annotation.readings.consistency import Box
from nodulebench.annotation.readings.reading import DrawnFinding, DrawnSlice, Reading
from nodulebench.annotation.release import accepted_of, unite
from nodulebench.annotation.tasks import Mode, Task, waiting
from nodulebench.annotation.workflow.actions import (
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
from nodulebench.annotation.workflow.batch import Batch, Key, State
from nodulebench.annotation.workflow.permissions import known_batch
from nodulebench.annotation.workflow.workflow import SeenCandidate, Workflow, letter_of
from nodulebench.core.errors import InputError, Problem, collect_problems, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.i18n.translator import in_english
from nodulebench.io.csv_files import CsvFile, write_csv

if TYPE_CHECKING:
    from nodulebench.core.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """A candidate as a person sees it."""

    name: str
    """The candidate's name; for a reader, a name that reveals nothing about other candidates."""
    slices: tuple[DrawnSlice, ...]
    """The current outline: the readers' union, or its correction; for a reader, their own."""
    readers: Mapping[str, tuple[DrawnSlice, ...]]
    """Letter -> what that reader drew; empty where the person may not see this."""
    reader_count: int
    """How many readers could have drawn it; 0: not disclosed."""
    inconsistent_slices: tuple[int, ...]
    type: str | None
    """The current type; for a reader, the type that they gave when they drew it."""
    types: tuple[str, ...]
    """All types that readers gave, where they differ."""
    why: tuple[Notice, ...]
    """Why it is in dispute."""
    comment: str
    """The reviewer's comment."""
    is_asked: bool
    """Whether it waits for an answer of the person."""
    is_nodule: bool | None = None
    """The decision; None: not decided yet, or not disclosed."""
    note: str = ""
    """The arbitrator's comment."""


def shown_candidates(
    workflow: Workflow, batch: Batch, actor_id: str, case_id: str
) -> list[ShownCandidate]:
    """The candidates of a case that a person may see now; see ``Workflow.seen_candidates``.

    Before the readings are compared there are none, and readers see what they submitted.
    """
    if batch.checks is None:
        own = batch.last_readings.get((case_id, actor_id))
        return [_as_drawn(finding) for finding in ([] if own is None else own.findings)]
    seen = [
        candidate
        for candidate in workflow.seen_candidates(batch, actor_id)
        if candidate.case_id == case_id
    ]
    drawn = {
        reading.reader_id: reading
        for reading in workflow.seen_readings(batch, actor_id)
        if reading.case_id == case_id
    }
    asked = set(waiting(workflow, batch, actor_id))
    names = shown_names(workflow, batch, actor_id, case_id)
    by_id = {candidate.candidate_id: candidate for candidate in seen}
    return [
        _shown(workflow, batch, actor_id, by_id[candidate_id], name, drawn, asked)
        for candidate_id, name in names.items()
    ]


def shown_names(workflow: Workflow, batch: Batch, actor_id: str, case_id: str) -> dict[str, str]:
    """Candidate -> the name that the person sees, in the order in which candidates are shown.

    Numbers of candidates, and gaps between them, reveal how much others drew. So a reader's own
    candidates are numbered in the order in which the reader drew them.
    """
    seen = [
        candidate
        for candidate in workflow.seen_candidates(batch, actor_id)
        if candidate.case_id == case_id
    ]
    whole = {
        candidate.candidate_id: candidate.candidate_id for candidate in seen if candidate.is_whole
    }
    reading = batch.last_readings.get((case_id, actor_id))
    place = {
        finding.finding_id: at for at, finding in enumerate(reading.findings if reading else ())
    }
    firsts = {
        candidate.candidate_id: min(
            place[name]
            for who, name in batch.candidates[case_id, candidate.candidate_id].findings
            if who == actor_id
        )
        for candidate in seen
        if not candidate.is_whole
    }
    own = sorted(firsts, key=firsts.__getitem__)
    return whole | {
        candidate_id: f"own-{number}" for number, candidate_id in enumerate(own, start=1)
    }


def _as_drawn(finding: DrawnFinding) -> ShownCandidate:
    return ShownCandidate(
        finding.finding_id, finding.slices, {}, 0, (), finding.type, (), (), "", is_asked=False
    )


def drawn_by_others(
    workflow: Workflow, batch: Batch, actor_id: str, case_id: str
) -> dict[str, list[ShownCandidate]]:
    """Letter -> what that reader drew in a case, where the revising reader may see it."""
    return {
        reading.reader_id: [_as_drawn(finding) for finding in reading.findings]
        for reading in workflow.seen_of_others(batch, actor_id)
        if reading.case_id == case_id
    }


def _shown(
    workflow: Workflow,
    batch: Batch,
    actor_id: str,
    seen: SeenCandidate,
    name: str,
    drawn: Mapping[str, Reading],
    asked: set[Key],
) -> ShownCandidate:
    key = (seen.case_id, seen.candidate_id)
    members = batch.candidates[key].findings
    if not seen.is_whole:
        own = [
            _finding(drawn[actor_id], finding_id) for who, finding_id in members if who == actor_id
        ]
        slices = tuple(slice_ for each in own for slice_ in each.slices)
        own_type = next((finding.type for finding in own if finding.type), None)
        return ShownCandidate(name, slices, {}, 0, (), own_type, (), (), "", key in asked)
    review = batch.reviews.get(key)
    types = sorted(set(batch.typings.get(key, {}).values()))
    sees_readers = {who for who, _ in members if who in batch.reader_ids} <= drawn.keys()
    return ShownCandidate(
        name,
        _united(workflow, batch, key) if sees_readers else _boxed(seen.boxes),
        _by_letter(batch, members, drawn) if sees_readers else {},
        len(batch.reader_ids) if sees_readers else 0,
        seen.inconsistent_slices,
        batch.nodule_type(key),
        tuple(types) if len(types) > 1 else (),
        batch.dispute(key),
        "" if review is None else review.comment,
        key in asked,
        _outcome(batch, key),
        batch.rulings[key].comment if key in batch.rulings else "",
    )


def _outcome(batch: Batch, key: Key) -> bool | None:
    if batch.is_released:
        return key in batch.nodules
    return batch.rulings[key].is_nodule if key in batch.rulings else None


def _by_letter(
    batch: Batch, members: Sequence[tuple[str, str]], drawn: Mapping[str, Reading]
) -> dict[str, tuple[DrawnSlice, ...]]:
    slices: dict[str, tuple[DrawnSlice, ...]] = {}
    for who, name in members:
        if who in batch.reader_ids:
            letter = letter_of(batch, who)
            slices[letter] = (*slices.get(letter, ()), *_finding(drawn[who], name).slices)
    return dict(sorted(slices.items()))


def _finding(reading: Reading, name: str) -> DrawnFinding:
    return next(finding for finding in reading.findings if finding.finding_id == name)


def _boxed(boxes: tuple[Box, ...]) -> tuple[DrawnSlice, ...]:
    """One box per slice and no outlines, for an arbitrator who has read the batch."""
    largest: dict[int, Box] = {}
    for box in sorted(boxes, key=lambda box_: box_.length_mm * box_.width_mm):
        largest[box.slice_index] = box
    return tuple(
        DrawnSlice(
            slice_index=number,
            center_x_mm=box.center_x_mm,
            center_y_mm=box.center_y_mm,
            length_mm=box.length_mm,
            width_mm=box.width_mm,
        )
        for number, box in sorted(largest.items())
    )


def _united(workflow: Workflow, batch: Batch, key: Key) -> tuple[DrawnSlice, ...]:
    """The candidate's slices as they would enter the reference now."""
    cases = workflow.cases.filter(pl.col("case_id") == key[0])
    drawn = [reading for reading in batch.drawn if reading.case_id == key[0]]
    slices = unite("", cases, drawn, [accepted_of(batch, key)]).slices
    if slices is None:
        return ()
    columns = [name for name in DrawnSlice.model_fields if name in slices.columns]
    return tuple(
        DrawnSlice(**{**row, "contour": row["contour"] or ""})
        for row in slices.select(columns).sort("slice_index").iter_rows(named=True)
    )


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


def submit_reading(handle: ProjectHandle, actor_id: str, task: Task, reading: Reading) -> Event:
    """Submit a reading of a case, or its revision; after the last one the program compares all."""
    submit = revise_readings if task.mode == "revise" else submit_readings
    return submit(handle, task.batch_id, actor_id, [reading])


def submit_answers(
    handle: ProjectHandle, actor_id: str, task: Task, answers: Sequence[Answer]
) -> Event:
    """Submit a person's answers on all candidates of a case that wait for them.

    Raises:
        InputError: for every candidate without an answer, or if a step is not allowed.
    """

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
    """The candidates of a batch that wait for a person, with empty columns for the answers.

    The table shows no more of a candidate than ``ProjectHandle.visible``.

    Raises:
        InputError: if the batch or the person is not known.
    """
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
    """Write a person's open questions as CSV; returns how many. It never overwrites answers.

    Raises:
        InputError: if the batch or the person is not known, or the file exists.
    """
    if path.exists():
        raise InputError.at(
            path, "already exists.", "Submit it with 'import-answers', or remove it."
        )
    asked = request_answers(handle, batch_id, actor_id)
    if asked.height:
        write_csv(asked, path)
    return asked.height


def answer(handle: ProjectHandle, batch_id: str, actor_id: str, path: Path) -> Event:
    """Submit a table that a person filled in: all rows with an answer, as one event.

    Raises:
        InputError: for every row that is not valid, or if a step is not allowed.
    """
    file = CsvFile(path)
    header = file.header_with(["case_id", "candidate_id"])
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


def unread_cases(handle: ProjectHandle) -> list[str]:
    """The cases of a project that are in no batch yet."""
    given = {case_id for batch in handle.batches().values() for case_id in batch.order.case_ids}
    return [case_id for case_id in handle.workflow.cases["case_id"] if case_id not in given]


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
    """The step that a row asks for; none where the decision is empty."""
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
