"""A roster, cases and a workflow -> the folder of an annotation project."""

import tomllib
from pathlib import Path
from secrets import randbits
from typing import Any

from nodulebench.annotation.exam import who_passed
from nodulebench.annotation.people import Role, Roster
from nodulebench.annotation.project import CASES, PROJECT, Desk, Project, open_project
from nodulebench.annotation.readings.repeats import draw_repeats, with_repeats
from nodulebench.annotation.teams import random_teams
from nodulebench.annotation.workflow.rules import WORKFLOWS, WorkflowRules
from nodulebench.annotation.workflow.workflow import Workflow
from nodulebench.core.config_model import checked
from nodulebench.core.errors import InputError, Problem, refuse_any
from nodulebench.core.tables import NODULES, Reference
from nodulebench.io.atomic import staged_folder
from nodulebench.io.case_lists import read_case_list
from nodulebench.io.formats import read_cases
from nodulebench.io.json_files import write_json
from nodulebench.io.table_files import write_table


def start_project(
    folder: Path,
    roster: Path,
    cases: Path,
    *,
    series: Path | None = None,
    workflow: str = "nifdc-2022",
    seed: int | None = None,
    repeat_share: float = 0.0,
    repeat_seed: int | None = None,
    exam: Path | None = None,
    is_examined_later: bool = False,
) -> Desk:
    """Make the folder of a project.

    Args:
        folder: where it shall be; it must not hold anything yet.
        roster: TOML with ``[[people]]`` and, unless they are drawn, ``[[teams]]``; a table
            ``[rules]`` changes single rules of the workflow.
        cases: the table of cases, or a folder that holds one.
        series: list or table of cases, as ``draw`` writes it: restricts and orders them.
        workflow: the name of a published workflow.
        seed: draw teams at random from all juniors and leaders with this seed.
        repeat_share: the share of the cases that readers are shown a second time under another
            name, to see how far they agree with themselves.
        repeat_seed: of the draw of these cases and of their names; None: one that nobody knows.
        exam: ``exam.json`` of an exam: only who passed it can read, review and arbitrate.
        is_examined_later: whether who lets people in sees that they passed, as a site does.
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
    if passed is None and rules.requires_exam and not is_examined_later:
        remedy = "Give what 'annotate exam' wrote: exam.json."
        raise InputError.at(f"workflow '{rules.name}'", "asks for an exam.", remedy)
    if seed is not None:
        people = _with_drawn_teams(people, rules, seed, passed)
    if passed is not None:
        _refuse_failed(people, passed)
    table = read_cases(cases)
    if series is not None:
        pool = Reference(cases.name, table, NODULES.empty())
        table = pool.restricted(read_case_list(series), series.name).cases
    repeats = (
        draw_repeats(
            table["case_id"].to_list(),
            repeat_share,
            seed=randbits(64) if repeat_seed is None else repeat_seed,
        )
        if repeat_share
        else {}
    )
    if repeats and rules.revision == "case":
        raise InputError.at(
            "rules",
            "cases are shown twice, and readers would see what others drew before the second time.",
            'Set revision = "batch" in [rules] of the roster.',
        )
    table = with_repeats(table, repeats)
    Workflow(people, table, rules)
    with staged_folder(folder, last=PROJECT, is_new=True) as stage:
        write_table(table, stage / CASES)
        names = None if passed is None else tuple(sorted(passed))
        project = Project(roster=people, rules=rules, repeats=repeats, passed=names)
        write_json(project.model_dump(mode="json"), stage / PROJECT)
    return open_project(folder)


def _with_drawn_teams(
    people: Roster, rules: WorkflowRules, seed: int, passed: frozenset[str] | None
) -> Roster:
    def those(role: Role) -> list[str]:
        having = [one.person_id for one in people.people if role in one.roles]
        return [name for name in having if passed is None or name in passed]

    teams = random_teams(those("junior"), those("leader"), size=rules.readers, seed=seed)
    return people.model_copy(update={"teams": teams})


def _refuse_failed(people: Roster, passed: frozenset[str]) -> None:
    """Refuse readers, leaders and arbitrators who have not passed."""
    problems = [
        Problem(
            f"team '{team.team_id}'",
            f"'{name}' has not passed the exam.",
            "Give the place to somebody who has, or draw the teams.",
        )
        for team in people.teams
        for name in (*team.reader_ids, *((team.leader_id,) if team.leader_id else ()))
        if name not in passed
    ]
    problems += [
        Problem(
            f"person '{one.person_id}'",
            "is arbitrator and has not passed the exam.",
            "Examine arbitrators too, or take the role away.",
        )
        for one in people.people
        if "arbitrator" in one.roles and one.person_id not in passed
    ]
    refuse_any(problems)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError.at(path.name, f"is not valid TOML: {error}.") from error
