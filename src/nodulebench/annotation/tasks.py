"""A project and a person -> the person's cases, and what to do in each."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Literal

from nodulebench.annotation.batch import Batch, Key, State
from nodulebench.annotation.project import ProjectHandle
from nodulebench.annotation.project_log import Batches
from nodulebench.annotation.repeats import in_turn
from nodulebench.annotation.workflow import Workflow

if TYPE_CHECKING:
    from nodulebench.annotation.actions import Event
    from nodulebench.security.event_index import View

Mode = Literal["read", "revise", "type", "review", "arbitrate", "done"]
"""What a person has to do in a case; done: nothing now."""


@dataclass(frozen=True, slots=True)
class Task:
    """A case of a batch in which the person has a part."""

    number: int
    """Number among the cases of all batches, in the order in which these were opened: it never
    changes for the person."""
    batch_id: str
    case_id: str
    name: str
    """The case's name in the task; where cases are shown twice, its number in the batch."""
    mode: Mode


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """The progress of a batch in which the person has a part, and of that part."""

    batch_id: str
    state: State
    done: int
    total: int
    may_release: bool


class KnownBatches:
    """The batches of a log, read once: response times do not reveal what others submitted."""

    def __init__(self) -> None:
        self._view: View[Event] | None = None
        self._made: dict[str, tuple[int, Batch]] = {}
        self._lock = Lock()

    def of(self, handle: ProjectHandle) -> dict[str, Batch]:
        with self._lock:
            self._view = view = handle.log.view(self._view)
            batches = Batches(handle.workflow, view)
            for batch_id in batches:
                count = len(view.labels[batch_id])
                if self._made.get(batch_id, (0,))[0] != count:
                    self._made[batch_id] = (count, batches[batch_id])
                if self._made[batch_id][1].is_released:  # it gets no event any more
                    for number in view.labels[batch_id][:-1]:
                        view.read.pop(number, None)
            return {batch_id: self._made[batch_id][1] for batch_id in batches}


def _in_order(handle: ProjectHandle, batch: Batch, actor_id: str) -> Sequence[str]:
    """The cases of a batch as a person sees them.

    Where cases are shown a second time, each person has a different random order, with the second
    time long after the first.
    """
    order = batch.order
    if not handle.repeats:
        return order.case_ids

    def drawn(name: str) -> bytes:
        return hashlib.sha256(f"{order.batch_id} {actor_id} {name}".encode()).digest()

    return in_turn(order.case_ids, handle.repeats, drawn)


def tasks_of(handle: ProjectHandle, batches: Mapping[str, Batch], actor_id: str) -> list[Task]:
    handle.workflow.roster.person(actor_id)
    tasks, number = [], 0
    for batch_id, batch in batches.items():
        for place, case_id in enumerate(_in_order(handle, batch, actor_id), start=1):
            if has_part(handle.workflow, batch, actor_id, case_id):
                name = str(place) if handle.repeats else case_id
                mode = mode_of(handle.workflow, batch, actor_id, case_id)
                tasks.append(Task(number, batch_id, case_id, name, mode))
            number += 1
    return tasks


def statuses_of(
    handle: ProjectHandle, batches: Mapping[str, Batch], actor_id: str, tasks: list[Task]
) -> Iterator[BatchStatus]:
    for batch_id, batch in batches.items():
        own = [task for task in tasks if task.batch_id == batch_id]
        is_ready = batch.state == "arbitration" and not batch.open_disputes and batch.is_approved
        may_release = is_ready and handle.workflow.may_release(batch, actor_id)
        if own or may_release:
            done = sum(task.mode == "done" for task in own)
            yield BatchStatus(batch_id, batch.state, done, len(own), may_release)


def has_part(workflow: Workflow, batch: Batch, actor_id: str, case_id: str) -> bool:
    """Whether a person reads, reviews or arbitrates a case, or did so."""
    if actor_id in batch.reader_ids:
        return True
    if batch.state not in ("review", "arbitration", "released"):
        return False
    if actor_id == batch.order.reviewer_id:
        return True
    is_disputed = any(key[0] == case_id and batch.dispute(key) for key in batch.candidates)
    return batch.state != "review" and is_disputed and workflow.may_arbitrate(batch, actor_id)


def mode_of(workflow: Workflow, batch: Batch, actor_id: str, case_id: str) -> Mode:
    if batch.state in ("reading", "revision"):
        if (case_id, actor_id) in batch.missing_readings:
            return "read"
        is_open = (case_id, actor_id) in batch.unrevised and batch.is_unblinded(case_id)
        return "revise" if is_open else "done"
    asked: dict[State, Mode] = {"typing": "type", "review": "review", "arbitration": "arbitrate"}
    if batch.state == "review":
        is_asked = actor_id == batch.order.reviewer_id and case_id in batch.unfinished
    else:
        is_asked = any(key[0] == case_id for key in waiting(workflow, batch, actor_id))
    return asked.get(batch.state, "done") if is_asked else "done"


def waiting(workflow: Workflow, batch: Batch, actor_id: str) -> list[Key]:
    if batch.state == "typing":
        return [
            key
            for key in batch.untyped
            if actor_id in batch.candidates[key].reader_ids
            and actor_id not in batch.typings.get(key, {})
        ]
    if batch.state == "review" and actor_id == batch.order.reviewer_id:
        return batch.unreviewed
    if batch.state == "arbitration" and workflow.may_arbitrate(batch, actor_id):
        return batch.open_disputes
    return []


def unread_cases(handle: ProjectHandle) -> list[str]:
    given = {case_id for batch in handle.batches().values() for case_id in batch.order.case_ids}
    return [case_id for case_id in handle.workflow.cases["case_id"] if case_id not in given]
