from dataclasses import fields
from pathlib import Path

import pytest

from builders.annotation import small_cases
from nodulebench.annotation.project import StartProjectOptions, start_project
from nodulebench.cli.annotate.review import start as start_command
from nodulebench.core.errors import InputError
from nodulebench.io.json_files import write_json

PEOPLE = {
    **{f"r{number}": ("resident", 6, "junior") for number in range(1, 8)},
    **dict.fromkeys(("lead1", "lead2", "lead3"), ("deputy_chief", 12, "leader")),
    "judge": ("chief", 20, "arbitrator"),
}
ROSTER = '[[people]]\nperson_id = "office"\nroles = ["organiser"]\n' + "".join(
    f'[[people]]\nperson_id = "{name}"\ntitle = "{title}"\nyears_reading = {years}\n'
    f'roles = ["{role}"]\n'
    for name, (title, years, role) in PEOPLE.items()
)


def start(folder: Path, *failed: str):
    (folder / "roster.toml").write_text(ROSTER)
    small_cases("a").write_csv(folder / "cases.csv")
    sheets = [{"candidate": name, "has_passed": name not in failed} for name in PEOPLE]
    write_json(sheets, folder / "exam.json")
    options = StartProjectOptions(
        folder=folder / "panel",
        roster=folder / "roster.toml",
        cases=folder / "cases.csv",
        seed=1,
        exam=folder / "exam.json",
    )
    return start_project(options)


def test_the_command_takes_the_options_of_the_service() -> None:
    taken = {param.name for param in start_command.params}
    assert taken == {field.name for field in fields(StartProjectOptions)} - {"is_examined_later"}


def test_teams_and_their_leaders_are_drawn_from_those_who_passed(tmp_path: Path) -> None:
    teams = start(tmp_path, "r3", "lead2").workflow.roster.teams
    readers = sorted(name for team in teams for name in team.reader_ids)
    assert readers == ["r1", "r2", "r4", "r5", "r6", "r7"]
    assert {team.leader_id for team in teams} == {"lead1", "lead3"}


def test_an_arbitrator_who_did_not_pass_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="person 'judge': is arbitrator and has not passed"):
        start(tmp_path, "r3", "judge")
    assert not (tmp_path / "panel").exists()


def test_a_leader_who_did_not_pass_leads_no_team(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 teams need as many leaders; there are 1"):
        start(tmp_path, "r3", "lead2", "lead3")
