"""A project, its images and a person -> the room in which they read, type, review and arbitrate.

The log of the project is the truth: what was handed in there cannot be changed here, and what is
asked in a case follows from it. Drafts are the person's own until they are handed in.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from threading import RLock
from typing import Protocol

import numpy as np

from nodulebench.annotation.project import ProjectHandle, open_project
from nodulebench.annotation.reader_view import (
    Answer,
    ShownCandidate,
    drawn_by_others,
    shown_candidates,
    submit_answers,
    submit_reading,
)
from nodulebench.annotation.readings.reading import DrawnFinding, DrawnSlice, Reading
from nodulebench.annotation.tasks import KnownBatches, Task, statuses_of, tasks_of
from nodulebench.annotation.workflow.actions import ReleaseBatch
from nodulebench.annotation.workflow.batch import Batch
from nodulebench.core.errors import InputError, Problem
from nodulebench.core.json_types import JsonObject
from nodulebench.web.viewer.drafts import ConflictError, Draft, Drafts, open_drafts
from nodulebench.web.viewer.evaluation import outlined, shown_number
from nodulebench.web.viewer.export import placed, slice_rows
from nodulebench.web.viewer.findings import Finding, OutlinedSlice
from nodulebench.web.viewer.scans import Scan, Tiles, scans_of
from nodulebench.web.viewer.session import ReadingSession, ScanContext, Voxels


def reading_of(
    task: Task,
    reader_id: str,
    findings: Mapping[str, Finding],
    tiles: Tiles,
    kept: Mapping[str, DrawnFinding] | None = None,
) -> Reading:
    """What a reader drew in a case: its nodules; points below 3 mm and non-nodules are none.

    Args:
        task: the case.
        reader_id: who drew it.
        findings: what was drawn or changed.
        tiles: the voxels of the scan.
        kept: what was read before and left as it was, to the last digit.

    Raises:
        InputError: if a nodule has no outline.
    """
    nodules = {name: finding for name, finding in findings.items() if finding.kind == "nodule"}
    drawn = tuple(
        DrawnFinding(finding_id=name, slices=drawn_slices(task, nodule, tiles), type=nodule.type)
        for name, nodule in nodules.items()
    )
    findings_now = (*(kept or {}).values(), *drawn)
    return Reading(case_id=task.case_id, reader_id=reader_id, findings=findings_now)


def answers_of(
    task: Task, findings: Mapping[str, Finding], given: Mapping[str, Finding], tiles: Tiles
) -> Iterator[Answer]:
    """What somebody said of candidates, and what they drew besides.

    Args:
        task: the case.
        findings: as they stand now.
        given: candidates as they were before.
        tiles: the voxels of the scan.
    """
    for name, finding in findings.items():
        before = given.get(name)
        is_anew = before is None or finding.slices != before.slices
        if before is None and finding.kind != "nodule":
            continue
        yield Answer(
            name,
            finding.type,
            None if finding.answer is None else finding.answer == "yes",
            finding.comment,
            drawn_slices(task, finding, tiles) if is_anew else (),
            finding.discussed_with,
        )


def drawn_slices(task: Task, finding: Finding, tiles: Tiles) -> tuple[DrawnSlice, ...]:
    """Outlines on the slices of the image as it was acquired, with their boxes.

    Raises:
        InputError: if there is none.
    """
    if not finding.slices:
        what = "holds a nodule without an outline."
        remedy = "Draw it, make it a point below 3 mm, or remove it."
        raise InputError.at(f"case '{task.name}'", what, remedy)
    return tuple(
        DrawnSlice(**{name: row[name] for name in DrawnSlice.model_fields})
        for row in slice_rows(task.case_id, "", placed(finding, tiles), tiles)
    )


def finding_of(shown: ShownCandidate, tiles: Tiles) -> Finding:
    """A candidate as a finding that can be judged, and changed where that is allowed."""
    slices = tuple(
        OutlinedSlice.model_validate(one) for one in outlined(_rows(shown.slices), tiles)
    )
    return Finding.model_validate(
        {"position_mm": _middle(shown.slices, tiles), "slices": slices, "type": shown.type}
    )


def status_of(shown: ShownCandidate, tiles: Tiles) -> JsonObject:
    """What is known of a candidate, ``why`` as notices whose words are made at the door."""
    at = {one.slice_index: shown_number(row, tiles) for one, row in _with_rows(shown)}
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
            {"letter": letter, "slices": list(outlined(_rows(slices), tiles))}
            for letter, slices in shown.readers.items()
        ],
        "reader_count": shown.reader_count,
        "why": shown.why,
        "types": shown.types,
        "comment": shown.comment,
        "is_nodule": shown.is_nodule,
        "note": shown.note,
    }


def _with_rows(shown: ShownCandidate) -> list[tuple[DrawnSlice, JsonObject]]:
    every = [*shown.slices, *(one for each in shown.readers.values() for one in each)]
    return list(zip(every, _rows(every), strict=True))


def _rows(slices: Iterable[DrawnSlice]) -> list[JsonObject]:
    return [slice_.model_dump() for slice_ in slices]


def _middle(slices: tuple[DrawnSlice, ...], tiles: Tiles) -> list[float]:
    """The middle of the largest box, on the slice where that is shown."""
    largest = max(slices, key=lambda slice_: slice_.length_mm * slice_.width_mm)
    center = np.array([[largest.center_x_mm, largest.center_y_mm]])
    number = shown_number(largest.model_dump(), tiles)
    height = float(tiles.grid.height_on(np.array([float(number)]), center)[0])
    return [largest.center_x_mm, largest.center_y_mm, height]


class ProjectHandles(Protocol):
    """Opens the project for one look or one step."""

    def __call__(self, *, acts: bool = False) -> AbstractContextManager[ProjectHandle]:
        """The project; ``acts``: for a step."""
        ...


class ProjectSession(ReadingSession):
    """The cases of a project in which one person has a part."""

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
        """The person's cases by number, as the log has them now."""
        with self._handles() as handle:
            return self._tasks(handle, self._known.of(handle))

    def _tasks(self, handle: ProjectHandle, batches: Mapping[str, Batch]) -> dict[int, Task]:
        found = {task.number: task for task in tasks_of(handle, batches, self.reader)}
        self._open |= found
        return found

    def is_open(self, number: int) -> bool:
        """Whether the person has a part in a case; whoever had one keeps it."""
        return number in self._open or number in self.tasks()

    def scan(self, number: int) -> Scan:
        """The image of a case."""
        with self._handles() as handle:
            case_id = self._open[number].case_id
            name = handle.repeats.get(case_id, case_id)
        if name not in self._images:
            raise InputError.at(f"case '{self.title(number)}'", "has no image in the folder.")
        return self._images[name]

    def title(self, number: int) -> str:
        """What a case is called in its batch."""
        return self._open[number].name

    def after(self, number: int) -> int | None:
        """The next case of the person."""
        return min((one for one in self._open if one > number), default=None)

    def draft_key(self, number: int) -> str:
        """Drafts are of a batch, a case and what was asked there."""
        return _key(self.tasks()[number])

    def is_closed(self, number: int) -> bool:
        """Whether nothing is asked in a case now."""
        return self.tasks()[number].mode == "done"

    def listed(self) -> list[JsonObject]:
        """Every case of the person, what is asked there, and the time spent on it."""
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

    def stands(self) -> list[JsonObject]:
        """How far each batch of the person has come, and how long the rest may take."""
        with self._handles() as handle:
            batches = self._known.of(handle)
            tasks = list(self._tasks(handle, batches).values())
            stands = statuses_of(handle, batches, self.reader, tasks)
        return [
            {
                "batch": one.batch_id,
                "state": one.state,
                "done": one.done,
                "total": one.total,
                "may_release": one.may_release,
                "seconds_left": self._seconds_left(
                    [task for task in tasks if task.batch_id == one.batch_id]
                ),
            }
            for one in stands
        ]

    def _seconds_left(self, tasks: list[Task]) -> float | None:
        """The mean time of cases that were read, for each that is not; None: none was."""
        every = self._own.every()
        drafts = {task.number: every.get(_key(task, "read"), Draft()) for task in tasks}
        spent = [draft.seconds for draft in drafts.values() if draft.is_submitted]
        left = [task for task in tasks if task.mode == "read"]
        if not spent or not left:
            return None
        mean = sum(spent) / len(spent)
        return sum(max(0.0, mean - drafts[one.number].seconds) for one in left)

    def beside(self, number: int, tiles: Tiles) -> ScanContext:
        """What is asked in a case, and the candidates that the person may see there."""
        with self._handles() as handle:
            batches = self._known.of(handle)
            task = self._tasks(handle, batches)[number]
            batch = batches[task.batch_id]
            seen = shown_candidates(handle.workflow, batch, self.reader, task.case_id)
            others = drawn_by_others(handle.workflow, batch, self.reader, task.case_id)
        is_own = task.mode == "revise"
        return ScanContext(
            task.mode,
            {one.name: finding_of(one, tiles) for one in seen},
            {} if is_own else {one.name: status_of(one, tiles) for one in seen},
            {name: [finding_of(one, tiles) for one in drawn] for name, drawn in others.items()},
        )

    def hand_in(self, number: int, tiles: Tiles, drafts: Drafts) -> None:
        """Take the steps that follow from what was drawn and said in a case, all or none."""
        task = self.tasks()[number]
        if task.mode == "done":
            raise ConflictError("submitted")
        with _told_by_name(task):
            self._hand_in(task, self.beside(number, tiles), tiles, drafts)

    def _hand_in(self, task: Task, beside: ScanContext, tiles: Tiles, drafts: Drafts) -> None:
        with drafts.handing_in(_key(task)) as draft, self._handles(acts=True) as handle:
            if task.mode in ("read", "revise"):
                before = handle.batch(task.batch_id).readings.get((task.case_id, self.reader))
                kept = {
                    finding.finding_id: finding
                    for finding in (before.findings if before and task.mode == "revise" else ())
                    if draft.findings.get(finding.finding_id) is None
                }
                drawn = reading_of(task, self.reader, draft.present, tiles, kept)
                submit_reading(handle, self.reader, task, drawn)
            else:
                said = _standing(draft, beside)
                answers = list(answers_of(task, said, beside.given, tiles))
                submit_answers(handle, self.reader, task, answers)

    def release(self, batch_id: str) -> None:
        """Release a batch; see ``annotate review release``."""
        with self._handles(acts=True) as handle:
            handle.act(self.reader, ReleaseBatch(batch_id=batch_id))


def _standing(draft: Draft, beside: ScanContext) -> JsonObject:
    """Candidates as they were given, with what was said of them since, and what was added."""
    return {**beside.given, **draft.present}


@contextmanager
def _told_by_name(task: Task) -> Iterator[None]:
    """What is told of a case calls it as the room does: another name would tell a repeat."""
    try:
        yield
    except InputError as error:
        if task.name == task.case_id:
            raise
        named = (f"'{task.case_id}'", f"'{task.name}'")
        raise InputError(
            Problem(problem.where.replace(*named), problem.what.replace(*named), problem.remedy)
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
    """The room of somebody who has a part in an annotation project.

    Args:
        project: what ``annotate review start`` made.
        images: where the scans of its cases are.
        reader: who works.
        folder: where their drafts are kept; None: beside the project.
        key: their private OpenSSH key, where the roster names keys.
        passphrase: of the key, if it has one.

    Raises:
        InputError: if nobody has that name, an image is missing, or the person works there already.
    """
    handle, lock = open_project(project, key, passphrase), RLock()
    handle.workflow.roster.person(reader)
    tasks = tasks_of(handle, KnownBatches().of(handle), reader)
    scans = scans_of(images, (handle.repeats.get(task.case_id, task.case_id) for task in tasks))

    @contextmanager
    def handles(*, acts: bool = False) -> Iterator[ProjectHandle]:  # noqa: ARG001 - of other projects
        with lock:
            yield handle

    where = project.resolve()
    kept = folder or where.with_name(f"{where.name}-{reader}")
    cache = where.with_name(f"{where.name}-voxels")
    with (
        open_drafts(kept, reader) as drafts,
        closing(ProjectSession(kept, scans, drafts, reader, handles, Voxels(cache))) as room,
    ):
        yield room
