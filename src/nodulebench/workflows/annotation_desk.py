"""A folder that holds an annotation project: who takes part, the cases, and every step taken."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import Field, ValidationError

from nodulebench.annotate.actions import ACTIONS, Action, CheckBatch, OpenBatch, SubmitReading
from nodulebench.annotate.batch import WORKFLOWS, Batch, WorkflowRules
from nodulebench.annotate.events import Event
from nodulebench.annotate.people import PROGRAM, Roster, Written
from nodulebench.annotate.reading import readings_of
from nodulebench.annotate.repeats import draw_repeats, with_repeats
from nodulebench.annotate.storage import FileStore, act
from nodulebench.annotate.teams import random_reviewer, random_teams
from nodulebench.annotate.workflow import Workflow
from nodulebench.errors import InputError, Problem
from nodulebench.formats import read_cases, read_submission
from nodulebench.formats.bundle import write_reference
from nodulebench.formats.folder import staged_folder
from nodulebench.formats.json_text import read_json, write_json
from nodulebench.formats.table_file import write_table
from nodulebench.model.tables import Reference
from nodulebench.workflows.unite_readings import Accepted, unite

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
        batches = self.batches()
        if batch_id not in batches:
            known = ", ".join(batches) or "none"
            raise InputError(Problem(f"batch '{batch_id}'", "is not open.", f"Open: {known}."))
        return batches[batch_id]

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
    """
    written = _read_toml(roster)
    changes = written.pop("rules", {})
    if workflow not in WORKFLOWS:
        raise InputError(
            Problem(f"workflow '{workflow}'", "is not known.", f"Known: {', '.join(WORKFLOWS)}.")
        )
    try:
        people = Roster.model_validate(written)
        rules = WorkflowRules.model_validate({**WORKFLOWS[workflow].model_dump(), **changes})
    except ValidationError as error:
        raise InputError(
            Problem(f"{roster.name} {'.'.join(str(part) for part in one['loc'])}", f"{one['msg']}.")
            for one in error.errors(include_url=False)
        ) from error
    if seed is not None:
        people = _with_drawn_teams(people, rules, seed)
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


def _with_drawn_teams(people: Roster, rules: WorkflowRules, seed: int) -> Roster:
    juniors = [one.person_id for one in people.people if "junior" in one.roles]
    leaders = [one.person_id for one in people.people if "leader" in one.roles]
    teams = random_teams(juniors, leaders, size=rules.readers, seed=seed)
    return people.model_copy(update={"teams": teams})


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(Problem(path.name, f"is not valid TOML: {error}.")) from error


def open_project(folder: Path) -> Desk:
    """The project of a folder.

    Raises:
        InputError: if the folder holds none.
    """
    if not (folder / PROJECT).is_file():
        raise InputError(
            Problem(str(folder), "holds no annotation project.", "Start one with 'start'.")
        )
    try:
        project = Project.model_validate(read_json(folder / PROJECT))
    except ValidationError as error:
        raise InputError(Problem(str(folder / PROJECT), "is damaged.")) from error
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
    """Give cases to a team; where nobody is named, the reviewer is drawn by the batch's name."""
    if reviewer_id is None and desk.workflow.rules.has_review:
        seed = sum(batch_id.encode())
        reviewer_id = random_reviewer(desk.workflow.roster.teams, team_id, seed=seed)
    try:
        order = OpenBatch(
            batch_id=batch_id, team_id=team_id, case_ids=tuple(case_ids), reviewer_id=reviewer_id
        )
    except ValidationError as error:
        raise InputError(
            Problem(f"batch '{batch_id}' {one['loc'][0]}", f"{one['msg']}.")
            for one in error.errors(include_url=False)
        ) from error
    return desk.does(actor_id, order)


def hand_in(desk: Desk, batch_id: str, reader_id: str, path: Path) -> list[Event]:
    """Hand in a reader's file for all cases of a batch, all or nothing.

    When the last reading is in, the program checks the consistency by itself.
    """
    desk.workflow.roster.person(reader_id)
    order = desk.batch(batch_id).order
    cases = desk.workflow.cases.filter(pl.col("case_id").is_in(order.case_ids))
    said = read_submission(path, desk.workflow.cases)
    events = desk.store.read()
    steps: list[tuple[str, Action]] = [
        (reader_id, SubmitReading(batch_id=batch_id, reading=reading))
        for reading in readings_of(said, cases, reader_id)
    ]
    if not {reader for _, reader in desk.batch(batch_id).missing_readings} - {reader_id}:
        steps.append((PROGRAM, CheckBatch(batch_id=batch_id)))
    done = desk.workflow.perform_all(events, steps, datetime.now(UTC))
    for event in done:
        desk.store.append(event)
    return done


def released_reference(desk: Desk, batch_ids: Iterable[str] = ()) -> Reference:
    """The nodules of released batches: the union of what their readers drew, with types.

    Cases that were shown a second time are left out.

    Args:
        desk: the project.
        batch_ids: the batches; empty: all that are released.

    Raises:
        InputError: if a batch is not released, or none is.
    """
    batches = desk.batches()
    wanted = list(batch_ids) or [name for name, one in batches.items() if one.is_released]
    problems = [
        Problem(f"batch '{name}'", "is not released.")
        for name in wanted
        if name not in batches or not batches[name].is_released
    ]
    if problems or not wanted:
        raise InputError(problems or Problem(str(desk.folder), "no batch is released."))
    chosen = [batches[name] for name in wanted]
    listed = [
        case_id for one in chosen for case_id in one.order.case_ids if case_id not in desk.repeats
    ]
    names = pl.Series("case_id", listed, dtype=pl.String)
    if names.is_duplicated().any():
        raise InputError(
            Problem(f"case '{case_id}'", "is in several of the batches.", "Name one of them.")
            for case_id in names.filter(names.is_duplicated()).unique(maintain_order=True)
        )
    cases = desk.workflow.cases.join(
        names.to_frame(), on="case_id", how="semi", maintain_order="left"
    )
    accepted = [
        Accepted(key[0], one.candidates[key], one.nodule_type(key))
        for one in chosen
        for key in one.nodules
        if key[0] not in desk.repeats
    ]
    readings = [reading for one in chosen for reading in one.readings.values()]
    return unite(desk.folder.name, cases, readings, accepted)


def export_released(desk: Desk, target: Path, batch_ids: Iterable[str] = ()) -> Reference:
    """Write the nodules of released batches as a bundle."""
    reference = released_reference(desk, batch_ids)
    write_reference(reference, target)
    return reference


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
