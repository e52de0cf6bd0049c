"""The session of a person in an annotation project, who reads, types, reviews or arbitrates.

The log of the project decides: submitted readings cannot be changed here, and the task in a case
follows from the log. Drafts are private until they are submitted.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import chain
from pathlib import Path
from threading import RLock
from typing import Protocol

import numpy as np

from nodulebench.annotation.actions import ReleaseBatch
from nodulebench.annotation.answers import Answer, submit_answers
from nodulebench.annotation.batch import Batch
from nodulebench.annotation.project import ProjectHandle, open_project
from nodulebench.annotation.reader_view import ShownCandidate, drawn_by_others, shown_candidates
from nodulebench.annotation.readings import DrawnFinding, DrawnSlice, Reading
from nodulebench.annotation.steps import revise_readings, submit_readings
from nodulebench.annotation.tasks import KnownBatches, Task, statuses_of, tasks_of
from nodulebench.core.errors import InputError, Problem
from nodulebench.core.json_types import JsonObject
from nodulebench.web.viewer.drafts import ConflictError, Draft, Drafts, open_drafts
from nodulebench.web.viewer.evaluation import shown_outlines, shown_slice
from nodulebench.web.viewer.export import slice_rows, to_original_grid
from nodulebench.web.viewer.findings import Finding
from nodulebench.web.viewer.scans import Scan, Tiles, scans_of
from nodulebench.web.viewer.session import ReadingSession, ScanContext, Voxels


def reading_of(
    task: Task,
    reader_id: str,
    findings: Mapping[str, Finding],
    tiles: Tiles,
    unchanged: Mapping[str, DrawnFinding] | None = None,
) -> Reading:
    """The nodules that a reader drew; ``unchanged`` ones of before keep all their digits."""
    nodules = {name: finding for name, finding in findings.items() if finding.kind == "nodule"}
    drawn = tuple(
        DrawnFinding(finding_id=name, slices=drawn_slices(task, nodule, tiles), type=nodule.type)
        for name, nodule in nodules.items()
    )
    findings_now = (*(unchanged or {}).values(), *drawn)
    return Reading(case_id=task.case_id, reader_id=reader_id, findings=findings_now)


def answers_of(
    task: Task, findings: Mapping[str, Finding], candidates: Mapping[str, Finding], tiles: Tiles
) -> Iterator[Answer]:
    for name, finding in findings.items():
        before = candidates.get(name)
        is_redrawn = before is None or finding.slices != before.slices
        if before is None and finding.kind != "nodule":
            continue
        yield Answer(
            name,
            finding.type,
            None if finding.answer is None else finding.answer == "yes",
            finding.comment,
            drawn_slices(task, finding, tiles) if is_redrawn else (),
            finding.discussed_with,
        )


def drawn_slices(task: Task, finding: Finding, tiles: Tiles) -> tuple[DrawnSlice, ...]:
    if not finding.slices:
        what = "holds a nodule without an outline."
        remedy = "Draw it, make it a point below 3 mm, or remove it."
        raise InputError.at(f"case '{task.name}'", what, remedy)
    original = to_original_grid(finding, tiles)
    return tuple(
        DrawnSlice(
            outline=slice_.outline,
            **{name: row[name] for name in DrawnSlice.model_fields if name != "outline"},
        )
        for slice_, row in zip(
            original.slices, slice_rows(task.case_id, "", original, tiles), strict=True
        )
    )


def finding_of(shown: ShownCandidate, tiles: Tiles) -> Finding:
    """A candidate as a finding that the person can answer, and change if that is allowed."""
    slices = list(shown_outlines(shown.slices, tiles))
    return Finding.model_validate(
        {"position_mm": _middle(shown.slices, tiles), "slices": slices, "type": shown.type}
    )


def status_of(shown: ShownCandidate, tiles: Tiles) -> JsonObject:
    """What is known of a candidate; ``why`` holds notices that the route translates."""
    every = chain(shown.slices, *shown.readers.values())
    at = {slice_.slice_index: shown_slice(slice_, tiles) for slice_ in every}
    return {
        "is_asked": shown.is_asked,
        "inconsistent": sorted(
            {
                at[inconsistent_slice]
                for inconsistent_slice in shown.inconsistent_slices
                if inconsistent_slice in at
            }
        ),
        "readers": [
            {"letter": letter, "slices": list(shown_outlines(slices, tiles))}
            for letter, slices in shown.readers.items()
        ],
        "reader_count": shown.reader_count,
        "why": shown.why,
        "types": shown.types,
        "comment": shown.comment,
        "is_nodule": shown.is_nodule,
        "note": shown.note,
    }


def _middle(slices: tuple[DrawnSlice, ...], tiles: Tiles) -> list[float]:
    largest = max(slices, key=lambda slice_: slice_.length_mm * slice_.width_mm)
    center = np.array([[largest.center_x_mm, largest.center_y_mm]])
    number = shown_slice(largest, tiles)
    height = float(tiles.grid.height_on(np.array([float(number)]), center)[0])
    return [largest.center_x_mm, largest.center_y_mm, height]


class ProjectHandles(Protocol):
    """Opens the project to read it, or to take a step."""

    def __call__(self, *, acts: bool = False) -> AbstractContextManager[ProjectHandle]: ...


class ProjectSession(ReadingSession):
    """The cases of a project in which a person has a part."""

    def __init__(
        self,
        folder: Path,
        images: Mapping[str, Scan],
        drafts: Drafts,
        reader: str,
        handles: ProjectHandles,
        voxels: Voxels,
        known: KnownBatches | None = None,
    ) -> None:
        super().__init__(folder, [], drafts, reader, voxels)
        self._images = images
        self._own = drafts
        self._handles = handles
        self._known = known or KnownBatches()
        self._open: dict[int, Task] = {}

    def tasks(self) -> dict[int, Task]:
        with self._handles() as handle:
            return self._tasks(handle, self._known.of(handle))

    def _tasks(self, handle: ProjectHandle, batches: Mapping[str, Batch]) -> dict[int, Task]:
        tasks = {task.number: task for task in tasks_of(handle, batches, self.reader)}
        self._open |= tasks
        return tasks

    def is_open(self, number: int) -> bool:
        return number in self._open or number in self.tasks()

    def scan(self, number: int) -> Scan:
        with self._handles() as handle:
            case_id = self._open[number].case_id
            name = handle.repeats.get(case_id, case_id)
        if name not in self._images:
            raise InputError.at(f"case '{self.title(number)}'", "has no image in the folder.")
        return self._images[name]

    def title(self, number: int) -> str:
        return self._open[number].name

    def after(self, number: int) -> int | None:
        return min((other for other in self._open if other > number), default=None)

    def draft_key(self, number: int) -> str:
        return _key(self.tasks()[number])

    def is_closed(self, number: int) -> bool:
        return self.tasks()[number].mode == "done"

    def list_scans(self) -> list[JsonObject]:
        drafts = self._own.every()
        tasks = [(task, drafts.get(_key(task), Draft())) for task in self.tasks().values()]
        return [
            {
                "number": task.number,
                "case_id": task.name,
                "batch": task.batch_id,
                "mode": task.mode,
                "findings": len(draft.present),
                "seconds": draft.seconds,
                "is_submitted": task.mode == "done",
            }
            for task, draft in tasks
        ]

    def batch_statuses(self) -> list[JsonObject]:
        with self._handles() as handle:
            batches = self._known.of(handle)
            tasks = list(self._tasks(handle, batches).values())
            statuses = list(statuses_of(handle, batches, self.reader, tasks))
        return [
            {
                "batch": status.batch_id,
                "state": status.state,
                "done": status.done,
                "total": status.total,
                "may_release": status.may_release,
                "seconds_left": self._seconds_left(
                    [task for task in tasks if task.batch_id == status.batch_id]
                ),
            }
            for status in statuses
        ]

    def _seconds_left(self, tasks: list[Task]) -> float | None:
        """The mean time of finished readings for each open one; None: none is finished."""
        stored = self._own.every()
        drafts = {task.number: stored.get(_key(task, "read"), Draft()) for task in tasks}
        spent = [draft.seconds for draft in drafts.values() if draft.is_submitted]
        left = [task for task in tasks if task.mode == "read"]
        if not spent or not left:
            return None
        mean = sum(spent) / len(spent)
        return sum(max(0.0, mean - drafts[task.number].seconds) for task in left)

    def context(self, number: int, tiles: Tiles) -> ScanContext:
        with self._handles() as handle:
            batches = self._known.of(handle)
            task = self._tasks(handle, batches)[number]
            batch = batches[task.batch_id]
            candidates = shown_candidates(handle.workflow, batch, self.reader, task.case_id)
            others = drawn_by_others(handle.workflow, batch, self.reader, task.case_id)
        is_own = task.mode == "revise"
        return ScanContext(
            task.mode,
            {candidate.name: finding_of(candidate, tiles) for candidate in candidates},
            {}
            if is_own
            else {candidate.name: status_of(candidate, tiles) for candidate in candidates},
            {
                name: [finding_of(finding, tiles) for finding in drawn]
                for name, drawn in others.items()
            },
        )

    def submit(self, number: int, tiles: Tiles, drafts: Drafts) -> None:
        """Take the steps that follow from the draft of a case, all or none."""
        task = self.tasks()[number]
        if task.mode == "done":
            raise ConflictError("submitted")
        with _errors_by_title(task):
            self._submit(task, self.context(number, tiles), tiles, drafts)

    def _submit(self, task: Task, context: ScanContext, tiles: Tiles, drafts: Drafts) -> None:
        with drafts.submitting(_key(task)) as draft, self._handles(acts=True) as handle:
            if task.mode in ("read", "revise"):
                before = handle.batch(task.batch_id).readings.get((task.case_id, self.reader))
                unchanged = {
                    finding.finding_id: finding
                    for finding in (before.findings if before and task.mode == "revise" else ())
                    if draft.findings.get(finding.finding_id) is None
                }
                drawn = reading_of(task, self.reader, draft.present, tiles, unchanged)
                submit = revise_readings if task.mode == "revise" else submit_readings
                submit(handle, task.batch_id, self.reader, [drawn])
            else:
                findings = {**context.candidates, **draft.present}
                answers = list(answers_of(task, findings, context.candidates, tiles))
                submit_answers(handle, self.reader, task, answers)

    def release(self, batch_id: str) -> None:
        with self._handles(acts=True) as handle:
            handle.act(self.reader, ReleaseBatch(batch_id=batch_id))


@contextmanager
def _errors_by_title(task: Task) -> Iterator[None]:
    """Name a case in errors like the page does: its real name would reveal a repeated case."""
    try:
        yield
    except InputError as error:
        if task.name == task.case_id:
            raise
        names = (f"'{task.case_id}'", f"'{task.name}'")
        raise InputError(
            Problem(problem.where.replace(*names), problem.what.replace(*names), problem.remedy)
            for problem in error.problems
        ) from None


def _key(task: Task, mode: str = "") -> str:
    return f"{task.batch_id}/{task.case_id}/{mode or task.mode}"


@contextmanager
def open_project_session(
    project: Path,
    images: Path,
    reader: str,
    folder: Path | None = None,
    key: Path | None = None,
    passphrase: str = "",
) -> Iterator[ProjectSession]:
    """The session of a project's person; ``folder`` holds drafts (None: next to the project)."""
    handle, lock = open_project(project, key, passphrase), RLock()
    handle.workflow.roster.person(reader)
    tasks = tasks_of(handle, KnownBatches().of(handle), reader)
    scans = scans_of(images, (handle.repeats.get(task.case_id, task.case_id) for task in tasks))

    @contextmanager
    def handles(*, acts: bool = False) -> Iterator[ProjectHandle]:  # noqa: ARG001 - of other projects
        with lock:
            yield handle

    where = project.resolve()
    drafts_folder = folder or where.with_name(f"{where.name}-{reader}")
    cache = where.with_name(f"{where.name}-voxels")
    with (
        open_drafts(drafts_folder, reader) as drafts,
        closing(
            ProjectSession(drafts_folder, scans, drafts, reader, handles, Voxels(cache))
        ) as session,
    ):
        yield session
