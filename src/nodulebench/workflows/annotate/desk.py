"""A folder that holds an annotation project: who takes part, the cases, and every step taken."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import Field, ValidationError

from nodulebench.annotate.people import PROGRAM, Roster
from nodulebench.annotate.process.actions import (
    ACTIONS,
    Action,
    AddNodule,
    CheckBatch,
    FinishCase,
    OpenBatch,
    SubmitReading,
)
from nodulebench.annotate.process.batch import WORKFLOWS, Batch, WorkflowRules
from nodulebench.annotate.process.events import Event
from nodulebench.annotate.process.permissions import known_batch
from nodulebench.annotate.process.storage import FileStore, act
from nodulebench.annotate.process.workflow import SeenCandidate, Workflow
from nodulebench.annotate.readings.reading import Reading, readings_of
from nodulebench.annotate.readings.repeats import draw_repeats, with_repeats
from nodulebench.annotate.teams import random_reviewer, random_teams
from nodulebench.errors import InputError, Problem, refuse_any
from nodulebench.formats import read_cases, read_submission
from nodulebench.model.written import Written, checked
from nodulebench.storage.json_text import read_json, write_json
from nodulebench.storage.staging import staged_folder
from nodulebench.storage.table_file import write_table
from nodulebench.workflows.annotate.exam import who_passed

PROJECT, CASES, EVENTS = "project.json", "cases.csv", "events"


class Project(Written):
    """Who takes part, and by which rules."""

    roster: Roster
    rules: WorkflowRules
    repeats: dict[str, str] = Field(default_factory=dict)
    """Cases that are shown a second time: the name each is shown by -> the case."""


@dataclass(frozen=True)
class Desk:
    """An annotation project in its folder."""

    folder: Path
    workflow: Workflow
    store: FileStore
    repeats: Mapping[str, str]
    """Cases that are shown a second time: the name each is shown by -> the case."""

    def does(self, actor_id: str, action: Action) -> Event:
        """Take one step.

        Raises:
            InputError: with the reason, if it is not allowed; nothing is changed.
        """
        return act(self.workflow, self.store, actor_id, action)

    def batch(self, batch_id: str) -> Batch:
        """A batch as it stands.

        Raises:
            InputError: if it was not opened.
        """
        return known_batch(self.batches(), batch_id)

    def visible(self, actor_id: str, batch_id: str) -> tuple[list[Reading], list[SeenCandidate]]:
        """The readings and candidates of a batch that someone may see now."""
        events = self.store.read()
        return (
            self.workflow.visible_readings(events, actor_id, batch_id),
            self.workflow.visible_candidates(events, actor_id, batch_id),
        )

    def batches(self) -> dict[str, Batch]:
        """All batches as they stand."""
        return self.workflow.batches(self.store.read())


def start_project(
    folder: Path,
    roster: Path,
    cases: Path,
    *,
    workflow: str = "nifdc-2022",
    seed: int | None = None,
    repeat_share: float = 0.0,
    exam: Path | None = None,
) -> Desk:
    """Make the folder of a project.

    Args:
        folder: where it shall be; it must not hold anything yet.
        roster: TOML with ``[[people]]`` and, unless they are drawn, ``[[teams]]``; a table
            ``[rules]`` changes single rules of the workflow.
        cases: the table of cases.
        workflow: the name of a published workflow.
        seed: draw teams at random from all juniors and leaders with this seed.
        repeat_share: the share of the cases that readers are shown a second time under another
            name, to see how far they agree with themselves.
        exam: ``exam.json`` of an exam: only who passed it can read.
    """
    written = _read_toml(roster)
    changes = written.pop("rules", {})
    if workflow not in WORKFLOWS:
        raise InputError.at(
            f"workflow '{workflow}'", "is not known.", f"Known: {', '.join(WORKFLOWS)}."
        )
    people = checked(Roster, written, roster.name)
    changed = {**WORKFLOWS[workflow].model_dump(), **changes}
    rules = checked(WorkflowRules, changed, f"{roster.name} rules")
    passed = None if exam is None else who_passed(exam)
    if seed is not None:
        people = _with_drawn_teams(people, rules, seed, passed)
    elif passed is not None:
        _refuse_failed(people, passed)
    table = read_cases(cases)
    repeats = (
        draw_repeats(table["case_id"].to_list(), repeat_share, seed=seed or 0)
        if repeat_share
        else {}
    )
    table = with_repeats(table, repeats)
    Workflow(people, table, rules)
    with staged_folder(folder, last=PROJECT, is_new=True) as stage:
        write_table(table, stage / CASES)
        project = Project(roster=people, rules=rules, repeats=repeats)
        write_json(project.model_dump(mode="json"), stage / PROJECT)
    return open_project(folder)


def _with_drawn_teams(
    people: Roster, rules: WorkflowRules, seed: int, passed: frozenset[str] | None
) -> Roster:
    juniors = [
        one.person_id
        for one in people.people
        if "junior" in one.roles and (passed is None or one.person_id in passed)
    ]
    leaders = [one.person_id for one in people.people if "leader" in one.roles]
    teams = random_teams(juniors, leaders, size=rules.readers, seed=seed)
    return people.model_copy(update={"teams": teams})


def _refuse_failed(people: Roster, passed: frozenset[str]) -> None:
    problems = [
        Problem(
            f"team '{team.team_id}'",
            f"'{reader}' has not passed the exam.",
            "Give the place to somebody who has, or draw the teams.",
        )
        for team in people.teams
        for reader in team.reader_ids
        if reader not in passed
    ]
    refuse_any(problems)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError.at(path.name, f"is not valid TOML: {error}.") from error


def open_project(folder: Path) -> Desk:
    """The project of a folder.

    Raises:
        InputError: if the folder holds none.
    """
    if not (folder / PROJECT).is_file():
        raise InputError.at(str(folder), "holds no annotation project.", "Start one with 'start'.")
    try:
        project = Project.model_validate(read_json(folder / PROJECT))
    except ValidationError as error:
        raise InputError.at(str(folder / PROJECT), "is damaged.") from error
    workflow = Workflow(project.roster, read_cases(folder / CASES), project.rules)
    return Desk(folder, workflow, FileStore(folder / EVENTS), project.repeats)


def open_batch(
    desk: Desk,
    actor_id: str,
    batch_id: str,
    team_id: str,
    case_ids: Iterable[str],
    *,
    reviewer_id: str | None = None,
) -> Event:
    """Give cases to a team; where nobody is named, the reviewer is drawn by chance."""
    if reviewer_id is None and desk.workflow.rules.has_review:
        reviewer_id = random_reviewer(desk.workflow.roster.teams, team_id)
    fields = {
        "batch_id": batch_id,
        "team_id": team_id,
        "case_ids": tuple(case_ids),
        "reviewer_id": reviewer_id,
    }
    return desk.does(actor_id, checked(OpenBatch, fields, f"batch '{batch_id}'"))


def hand_in(desk: Desk, batch_id: str, reader_id: str, path: Path) -> list[Event]:
    """Hand in a reader's file for all cases of a batch, all or nothing.

    When the last reading is in, the program checks the consistency by itself.
    """
    desk.workflow.roster.person(reader_id)
    order = desk.batch(batch_id).order
    cases = desk.workflow.cases.filter(pl.col("case_id").is_in(order.case_ids))
    said = read_submission(path, desk.workflow.cases)
    steps: list[tuple[str, Action]] = [
        (reader_id, SubmitReading(batch_id=batch_id, reading=reading))
        for reading in readings_of(said, cases, reader_id)
    ]
    if not {reader for _, reader in desk.batch(batch_id).missing_readings} - {reader_id}:
        steps.append((PROGRAM, CheckBatch(batch_id=batch_id)))
    return _does_all(desk, steps)


def add_nodules(
    desk: Desk, batch_id: str, reviewer_id: str, path: Path, *, comment: str = ""
) -> list[Event]:
    """Add the nodules of a reviewer's file, all or none, each with its type."""
    desk.workflow.roster.person(reviewer_id)
    order = desk.batch(batch_id).order
    cases = desk.workflow.cases.filter(pl.col("case_id").is_in(order.case_ids))
    said = read_submission(path, desk.workflow.cases)
    steps: list[tuple[str, Action]] = [
        (
            reviewer_id,
            AddNodule(batch_id=batch_id, case_id=reading.case_id, finding=finding, comment=comment),
        )
        for reading in readings_of(said, cases, reviewer_id)
        for finding in reading.findings
    ]
    if not steps:
        raise InputError.at(path.name, "holds no nodule to add.")
    return _does_all(desk, steps)


def finish_cases(
    desk: Desk, batch_id: str, reviewer_id: str, case_ids: Iterable[str]
) -> list[Event]:
    """Finish the review of cases, all or none."""
    steps = [(reviewer_id, FinishCase(batch_id=batch_id, case_id=case_id)) for case_id in case_ids]
    return _does_all(desk, steps)


def _does_all(desk: Desk, steps: Iterable[tuple[str, Action]]) -> list[Event]:
    done = desk.workflow.perform_all(desk.store.read(), steps, datetime.now(UTC))
    for event in done:
        desk.store.append(event)
    return done


def step_of(fields: dict[str, Any]) -> Action:
    """An action from its fields.

    Raises:
        InputError: for each field that cannot be.
    """
    try:
        return ACTIONS.validate_python(fields)
    except ValidationError as error:
        raise InputError(
            Problem(f"{fields['step']} {one['loc'][-1]}", f"'{one['input']}': {one['msg']}.")
            for one in error.errors(include_url=False)
        ) from error
