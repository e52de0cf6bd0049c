"""What somebody drew and said in a case -> one event: all of its steps, or none.

These are the steps of the command line; what they may be, the workflow alone decides.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nodulebench.annotation.project import (
    Desk,
    hand_in_readings,
    known_batch,
    revise_readings,
)
from nodulebench.annotation.reader_view import shown_names
from nodulebench.annotation.readings.reading import DrawnFinding, DrawnSlice, Reading
from nodulebench.annotation.tasks import Mode, Task, waiting
from nodulebench.annotation.workflow.actions import (
    Action,
    AddNodule,
    ArbitrateNodule,
    CorrectOutline,
    FinishCase,
    OneStep,
    ReviewNodule,
    TypeNodule,
    at_once,
)
from nodulebench.annotation.workflow.batch import Batch
from nodulebench.annotation.workflow.events import Event
from nodulebench.core.errors import InputError, Problem, refuse_any


@dataclass(frozen=True, slots=True)
class Answer:
    """What somebody says of a candidate, or of a nodule that they add."""

    name: str
    """By which a candidate is shown; any other: of what is added."""
    type: str | None = None
    says_yes: bool | None = None
    """A reviewer agrees; an arbitrator takes it for a nodule. None: nothing was said."""
    comment: str = ""
    anew: tuple[DrawnSlice, ...] = ()
    """Outlines that were changed or added; none: they stay as they are."""
    discussed_with: tuple[str, ...] = ()


def hand_in_reading(desk: Desk, actor_id: str, task: Task, reading: Reading) -> Event:
    """Hand in what a reader drew in a case, or revised; with the last the program compares them."""
    hand_in = revise_readings if task.mode == "revise" else hand_in_readings
    return hand_in(desk, task.batch_id, actor_id, [reading])


def hand_in_answers(desk: Desk, actor_id: str, task: Task, answers: Sequence[Answer]) -> Event:
    """Hand in what somebody says of all candidates of a case that wait for them.

    Raises:
        InputError: with every candidate without an answer, or why a step is refused.
    """

    def made(batches: Mapping[str, Batch]) -> Action:
        batch = known_batch(batches, task.batch_id)
        steps = list(_steps(desk, batch, actor_id, task, answers))
        if not steps:
            what = "has nothing that waits for you any more."
            raise InputError.at(_where(task), what, "Look at the list of cases again.")
        return at_once(task.batch_id, steps)

    return desk.does(actor_id, made)


def _steps(
    desk: Desk, batch: Batch, actor_id: str, task: Task, answers: Sequence[Answer]
) -> Iterator[OneStep]:
    said = {one.name: one for one in answers}
    asked = {name for _, name in waiting(desk.workflow, batch, actor_id, task.case_id)}
    shown = shown_names(desk.workflow, batch, actor_id, task.case_id)
    names = {one: name for one, name in shown.items() if one in asked}
    refuse_any(_missing(task, names.values(), said))
    for candidate_id, name in names.items():
        yield from _steps_of(task, candidate_id, said[name])
    if task.mode != "review":
        return
    fields = {"batch_id": task.batch_id, "case_id": task.case_id}
    for one in answers:
        if one.name not in shown.values():
            finding = DrawnFinding(finding_id=one.name, slices=one.anew, type=one.type)
            yield AddNodule(**fields, finding=finding, comment=one.comment)
    yield FinishCase(**fields)


def _steps_of(task: Task, candidate_id: str, one: Answer) -> Iterator[OneStep]:
    fields = {"batch_id": task.batch_id, "case_id": task.case_id, "candidate_id": candidate_id}
    if one.anew and task.mode in ("review", "arbitrate"):
        yield CorrectOutline(**fields, slices=one.anew, comment=one.comment)
    if task.mode == "type":
        yield TypeNodule(**fields, type=one.type or "")
    elif task.mode == "review":
        yield ReviewNodule(**fields, agrees=bool(one.says_yes), comment=one.comment)
    else:
        yield ArbitrateNodule(
            **fields,
            is_nodule=bool(one.says_yes),
            type=one.type if one.says_yes else None,
            comment=one.comment,
            discussed_with=one.discussed_with,
        )


_WANTED: dict[Mode, str] = {
    "type": "has no type yet.",
    "review": "is neither agreed with nor objected to yet.",
    "arbitrate": "is not settled yet.",
}


def _missing(task: Task, names: Iterable[str], said: Mapping[str, Answer]) -> Iterator[Problem]:
    for name in names:
        one = said.get(name)
        answer = None if one is None else one.type if task.mode == "type" else one.says_yes
        if answer is None:
            yield Problem(f"{_where(task)} '{name}'", _WANTED[task.mode], "Say it, then hand in.")


def _where(task: Task) -> str:
    return f"case '{task.name}'"
