"""Who reviews is drawn by a promise of the office: nobody who reads can aim at a reviewer."""

from pathlib import Path

import pytest

from builders.annotation import small_cases, two_teams
from builders.annotation_project import SHARED, Panel
from nodulebench.annotate.people import Person, Team
from nodulebench.annotate.process.actions import CheckBatch, Several, SubmitReading
from nodulebench.annotate.process.batch import NIFDC
from nodulebench.annotate.readings.reading import readings_of
from nodulebench.annotate.teams import new_seed, promise_of, random_reviewer
from nodulebench.errors import InputError
from nodulebench.formats import read_submission
from nodulebench.storage.json_text import write_json
from nodulebench.workflows.annotate.desk import (
    CASES,
    PROJECT,
    Desk,
    Project,
    draw_reviewer,
    open_batch,
)
from nodulebench.workflows.annotate.project_log import audit_project

FRIEND = "lead3"


@pytest.fixture
def panel(tmp_path: Path) -> Panel:
    """A project of three teams, so that there is a choice."""
    two, made = two_teams(), Panel(tmp_path)
    made.project.mkdir()
    more = tuple(
        Person(person_id=name, title="deputy_chief", years_reading=12, roles=("junior", "leader"))
        for name in ("r7", "r8", "r9", FRIEND)
    )
    team = Team(team_id="three", reader_ids=("r7", "r8", "r9"), leader_id=FRIEND)
    roster = two.model_copy(update={"people": (*two.people, *more), "teams": (*two.teams, team)})
    small_cases("a").write_csv(made.project / CASES)
    project = Project(roster=roster, rules=NIFDC, log_version=2)
    write_json(project.model_dump(mode="json"), made.project / PROJECT)
    return made


def aimed(panel: Panel, seeds: tuple[str, ...]) -> None:
    """The last reader hands in with another program, which tries seeds until a friend is drawn."""
    desk = panel.desk()
    cases = desk.workflow.cases
    file = panel.file("r3", {"a": [SHARED]})
    (reading,) = readings_of(read_submission(file, cases), cases, "r3")
    teams = desk.workflow.roster.teams
    seed = new_seed()
    while random_reviewer(teams, "one", "b1", (*seeds, seed)) != FRIEND:
        seed = new_seed()
    step = SubmitReading(batch_id="b1", reading=reading, seed=seed)
    desk.does("r3", Several(batch_id="b1", steps=(step, CheckBatch(batch_id="b1"))))


def opened(panel: Panel, promise: str | None) -> Desk:
    file = None if promise is None else panel.folder / promise
    open_batch(panel.desk(), "office", "b1", "one", ["a"], promise=file)
    for reader in ("r1", "r2"):
        panel.reads(reader, {"a": [SHARED]})
    return panel.desk()


def drawn(panel: Panel) -> str | None:
    return panel.desk().batch("b1").order.reviewer_id


def test_told_at_once_the_office_s_part_lets_the_last_reader_choose(panel: Panel) -> None:
    batch = opened(panel, None).batch("b1")
    assert batch.order.seed is not None
    aimed(panel, (batch.order.seed, *batch.seeds))
    assert drawn(panel) == FRIEND


def test_promised_it_cannot_be_aimed_at(panel: Panel) -> None:
    """As the last reader sees it: nothing that is known by then says who will be drawn."""
    found = set()
    for number in range(12):
        copy = Panel(panel.folder / str(number))
        copy.project.mkdir(parents=True)
        for name in (CASES, PROJECT):
            (copy.project / name).write_bytes((panel.project / name).read_bytes())
        batch = opened(copy, "b1.promise").batch("b1")
        assert batch.order.seed is None
        assert batch.order.promise is not None
        aimed(copy, (batch.order.promise, *batch.seeds))
        assert drawn(copy) is None
        draw_reviewer(copy.desk(), "office", "b1", copy.folder / "b1.promise")
        found.add(drawn(copy))
    assert found == {"lead2", FRIEND}  # by chance: 1 in 2,048 that one is never drawn


def test_the_office_cannot_choose_either(panel: Panel) -> None:
    opened(panel, "b1.promise")
    panel.reads("r3", {"a": [SHARED]})
    (panel.folder / "other").write_text(new_seed())
    with pytest.raises(InputError, match="was promised another draw"):
        draw_reviewer(panel.desk(), "office", "b1", panel.folder / "other")


def test_when_and_by_whom_it_is_drawn(panel: Panel) -> None:
    file = panel.folder / "b1.promise"
    opened(panel, "b1.promise")
    with pytest.raises(InputError, match="is not read by all"):
        draw_reviewer(panel.desk(), "office", "b1", file)
    panel.reads("r3", {"a": [SHARED]})
    for name in ("r1", "lead2"):
        with pytest.raises(InputError, match=f"'{name}' is not an organiser"):
            draw_reviewer(panel.desk(), name, "b1", file)
    panel.does("r1", "type", case_id="a", candidate_id="candidate-1", type="solid")
    with pytest.raises(InputError, match="is not the reviewer"):
        panel.finishes("lead2", "a")
    draw_reviewer(panel.desk(), "office", "b1", file)
    with pytest.raises(InputError, match="no reviewer who is still to be drawn"):
        draw_reviewer(panel.desk(), "office", "b1", file)
    assert [str(one) for one in audit_project(panel.desk()).problems] == []


def test_what_is_no_promise_is_told(panel: Panel) -> None:
    (panel.folder / "b1.promise").write_text("soon")
    with pytest.raises(InputError, match=r"b1\.promise: holds no promise"):
        opened(panel, "b1.promise")


def test_the_promise_of_a_killed_run_is_kept(panel: Panel) -> None:
    seed = new_seed()
    (panel.folder / "b1.promise").write_text(f"{seed}\n")
    assert opened(panel, "b1.promise").batch("b1").order.promise == promise_of(seed)


def test_the_promise_is_the_office_s_alone(panel: Panel) -> None:
    opened(panel, "b1.promise")
    file = panel.folder / "b1.promise"
    assert file.stat().st_mode & 0o777 == 0o600
    assert promise_of(file.read_text().strip()) == panel.desk().batch("b1").order.promise
    told = "was promised for a batch before"
    for place, why in ((file, told), (panel.project / "p", "lies in the project")):
        with pytest.raises(InputError, match=why):
            open_batch(panel.desk(), "office", "b2", "two", ["a"], promise=place)
    with pytest.raises(InputError, match="none is to be made"):
        open_batch(
            panel.desk(), "office", "b2", "two", ["a"], reviewer_id="lead1", promise=panel.folder
        )
    with pytest.raises(InputError, match="cannot be read"):
        draw_reviewer(panel.desk(), "office", "b1", panel.folder / "none")
