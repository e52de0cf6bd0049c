"""The reviewer is drawn after a commitment: no one can compute, influence or choose the reviewer.

What is tried here is tried with another program, which knows the whole log and the whole folder.
"""

import json
import shutil
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path

import pytest

from builders.annotation import small_cases, two_teams
from builders.annotation_project import SHARED, Panel
from nodulebench.annotation.actions import (
    NIFDC,
    CheckBatch,
    DrawReviewer,
    OpenBatch,
    Several,
    SubmitReading,
    event_of,
)
from nodulebench.annotation.people import (
    Person,
    Roster,
    Team,
    commitment_of,
    new_seed,
    random_reviewer,
)
from nodulebench.annotation.project import CASES, PROJECT, Project, audit_project, change_key
from nodulebench.annotation.readings import readings_of
from nodulebench.annotation.reviewer_draw import (
    commitment_file,
    draw_again,
    draw_reviewer,
    open_batch,
)
from nodulebench.annotation.steps import step_of
from nodulebench.core.errors import InputError
from nodulebench.io.formats import read_submission
from nodulebench.io.json_files import write_json
from nodulebench.security.event_signers import PersonSigner
from nodulebench.security.keys import new_person_key, read_private_key
from nodulebench.security.vault import decrypted_by

FRIEND = "lead3"
DEPUTY = "deputy"


def three_teams(*, deputy: str = DEPUTY) -> Roster:
    """A roster of three teams, so that there is a choice, with a second organiser."""
    two = two_teams()
    more = tuple(
        Person(person_id=name, title="deputy_chief", years_reading=12, roles=("junior", "leader"))
        for name in ("r7", "r8", "r9", FRIEND)
    )
    people = [*two.people, *more]
    if deputy == DEPUTY:
        people.append(Person(person_id=DEPUTY, roles=("organiser",)))
    else:
        people = [
            person.model_copy(update={"roles": (*person.roles, "organiser")})
            if person.person_id == deputy
            else person
            for person in people
        ]
    team = Team(team_id="three", reader_ids=("r7", "r8", "r9"), leader_id=FRIEND)
    return two.model_copy(update={"people": tuple(people), "teams": (*two.teams, team)})


def started(folder: Path, *, has_keys: bool = False, deputy: str = DEPUTY) -> Panel:
    made, roster = Panel(folder, has_keys), three_teams(deputy=deputy)
    made.project.mkdir(parents=True)
    if has_keys:
        people = tuple(
            person.model_copy(update={"key": new_person_key(folder / person.person_id).line})
            for person in roster.people
        )
        roster = roster.model_copy(update={"people": people})
    small_cases("a", "b").write_csv(made.project / CASES)
    project = Project(roster=roster, rules=NIFDC)
    write_json(project.model_dump(mode="json"), made.project / PROJECT)
    return made


@pytest.fixture(params=[False, True], ids=["without keys", "with keys"])
def panel(request: pytest.FixtureRequest, tmp_path: Path) -> Panel:
    """A project of three teams."""
    return started(tmp_path, has_keys=request.param)


def read_by(panel: Panel, *readers: str) -> None:
    for reader in readers:
        panel.reads(reader, {"a": [SHARED]})


def aimed(panel: Panel, seeds: tuple[str, ...]) -> None:
    """The last reader submits with another program, which tries seeds until a friend is drawn."""
    handle = panel.handle("r3")
    cases = handle.workflow.cases.filter(case_id="a")
    file = panel.file("r3", {"a": [SHARED]})
    (reading,) = readings_of(read_submission(file, cases), cases, "r3")
    teams = handle.workflow.roster.teams
    seed = new_seed()
    while random_reviewer(teams, "one", "b1", (*seeds, seed)) != FRIEND:
        seed = new_seed()
    step = SubmitReading(batch_id="b1", reading=reading, seed=seed)
    handle.act("r3", Several(batch_id="b1", steps=(step, CheckBatch(batch_id="b1"))))


def forged(panel: Panel, actor: str, action: OpenBatch | DrawReviewer) -> None:
    """Write an event with another program, which checks nothing."""
    handle = panel.handle(actor)
    events, seal = handle.log.read(), handle.log.log.signer
    assert isinstance(seal, PersonSigner | None)
    last = events[-1].digest if events else handle.log.view().last_digest
    event = event_of(len(events) + 1, last, actor, action, datetime.now(UTC), seal)
    assert handle.log.log.append_event(event)


def drawn(panel: Panel) -> str | None:
    return panel.handle().batch("b1").order.reviewer_id


def notices_of(panel: Panel) -> dict[str, dict[str, object]]:
    """What the audit warns of; nothing is wrong."""
    audit = audit_project(panel.handle())
    assert audit.problems == ()
    usual = ("log_unsigned", "log_without_checkpoint")
    return {
        notice.code: dict(notice.values) for notice in audit.notices if notice.code not in usual
    }


def test_nothing_that_a_reader_can_see_says_who_will_be_drawn(panel: Panel) -> None:
    panel.opens("a")
    read_by(panel, "r1", "r2", "r3")
    batch = panel.handle().batch("b1")
    assert drawn(panel) is None
    panel.draws()
    seed = panel.handle().log.read()[-1].payload["seed"]
    assert commitment_of(seed) == batch.order.commitment
    assert len({seed, *batch.seeds}) == 4
    assert drawn(panel) == random_reviewer(
        panel.handle().workflow.roster.teams, "one", "b1", (seed, *batch.seeds)
    )
    before = [path for path in panel.project.rglob("*.json") if path.name != "00000005.json"]
    assert not any(seed in path.read_text() for path in before)
    assert notices_of(panel) == {}


def test_the_last_reader_cannot_aim_at_a_reviewer(tmp_path: Path) -> None:
    """Who aims knows the promise, not what is promised: that may be anything."""
    panel = started(tmp_path)
    panel.opens("a")
    read_by(panel, "r1", "r2")
    batch = panel.handle().batch("b1")
    assert batch.order.commitment is not None
    aimed(panel, (batch.order.commitment, *batch.seeds))
    teams, seeds = panel.handle().workflow.roster.teams, panel.handle().batch("b1").seeds
    drawn_by = [random_reviewer(teams, "one", "b1", (new_seed(), *seeds)) for _ in range(1000)]
    assert 400 < drawn_by.count(FRIEND) < 600  # 6 standard deviations around one half
    panel.draws()
    assert notices_of(panel) == {}


def test_with_keys_only_organisers_open_the_commitment(tmp_path: Path) -> None:
    panel = started(tmp_path, has_keys=True)
    panel.opens("a")
    assert [*panel.folder.glob("*.commitment")] == []
    sealed = panel.handle().batch("b1").order.sealed
    assert "age-encryption.org" in b64decode(sealed).decode("latin-1")
    for name in ("r3", "lead2", FRIEND, "judge1"):
        key = read_private_key(panel.folder / name)
        with pytest.raises(InputError, match="does not open"):
            decrypted_by(b64decode(sealed), key, name)
    read_by(panel, "r1", "r2", "r3")
    draw_reviewer(panel.handle(DEPUTY), DEPUTY, "b1")  # the other is away
    assert drawn(panel) is not None


def test_who_reads_cannot_be_the_office(tmp_path: Path) -> None:
    panel = started(tmp_path, has_keys=True, deputy="r3")
    with pytest.raises(InputError, match="'r3' is in its team and would know"):
        open_batch(panel.handle("r3"), "r3", "b1", "one", ["a"])
    panel.opens("a")
    read_by(panel, "r1", "r2", "r3")
    with pytest.raises(
        InputError, match="commitment of batch 'b1': cannot be decrypted with this key"
    ):
        draw_reviewer(panel.handle("r3"), "r3", "b1")
    open_batch(panel.handle("r3"), "r3", "b2", "two", ["b"])


def test_a_seed_that_is_known_from_the_start_does_not_affect_the_order() -> None:
    order = {"batch_id": "b1", "team_id": "one", "case_ids": ("a",), "seed": new_seed()}
    with pytest.raises(InputError, match="seed"):
        step_of({"step": "open", **order})


def test_the_office_cannot_tell_another_than_it_promised(panel: Panel) -> None:
    open_batch(
        panel.handle("office"), "office", "b1", "one", ["a"], commitment=panel.folder / "own"
    )
    read_by(panel, "r1", "r2", "r3")
    other = json.loads((panel.folder / "own").read_text()) | {"seed": new_seed()}
    (panel.folder / "own").write_text(json.dumps(other))
    with pytest.raises(InputError, match="has a commitment that the seed does not match"):
        draw_reviewer(panel.handle("office"), "office", "b1", panel.folder / "own")
    assert drawn(panel) is None
    forged(panel, "office", DrawReviewer(batch_id="b1", seed=new_seed(), reviewer_id=FRIEND))
    (problem,) = audit_project(panel.handle()).problems
    assert "was not allowed: batch 'b1': has a commitment that the seed does not match" in str(
        problem
    )


def test_a_withheld_commitment_and_a_reopened_batch_are_reported(panel: Panel) -> None:
    panel.opens("a")
    assert notices_of(panel) == {}
    read_by(panel, "r1", "r2", "r3")
    last = panel.handle().log.read()[-1].at.isoformat(timespec="seconds")
    assert notices_of(panel) == {"draw_waits": {"batch": "b1", "since": last}}
    panel.opens("a", batch="b2")
    assert notices_of(panel)["cases_opened_again"] == {"batches": ["b1", "b2"]}
    panel.draws()
    assert "draw_waits" not in notices_of(panel)


def test_a_lost_commitment_can_be_replaced_and_the_audit_reports_it(panel: Panel) -> None:
    panel.opens("a")
    with pytest.raises(InputError, match="is not read by all"):
        draw_again(panel.handle("judge1"), "judge1", "b1", "lost")
    read_by(panel, "r1", "r2", "r3")
    for name in ("office", "r1", "lead2"):
        with pytest.raises(InputError, match=f"'{name}' is not an arbitrator"):
            draw_again(panel.handle(name), name, "b1", "lost")
    with pytest.raises(InputError, match="without a reason"):
        draw_again(panel.handle("judge1"), "judge1", "b1", " ")
    draw_again(panel.handle("judge1"), "judge1", "b1", "the disk broke")
    assert drawn(panel) in ("lead2", FRIEND)
    values = {"batch": "b1", "reader": "judge1", "reason": "the disk broke"}
    assert notices_of(panel) == {"reviewer_drawn_again": values}
    with pytest.raises(InputError, match="does not wait for the draw of a reviewer"):
        panel.draws()
    change = panel.handle().log.read()[-1].change
    assert change.endswith("was drawn again to review: the disk broke")


def test_a_commitment_for_a_key_that_was_replaced_opens_with_the_old_one(tmp_path: Path) -> None:
    panel = started(tmp_path, has_keys=True, deputy="r3")
    panel.opens("a")
    shutil.copy(tmp_path / "office", tmp_path / "old")
    new_person_key(tmp_path / "new")
    change_key(panel.handle("office"), "office", "office", tmp_path / "new.pub", reason="old")
    shutil.move(tmp_path / "new", tmp_path / "office")
    read_by(panel, "r1", "r2", "r3")
    with pytest.raises(
        InputError,
        match=r"no organiser had it when the batch was opened. Give your key of that time. If it",
    ):
        panel.draws()
    with pytest.raises(InputError, match=r"is encrypted for organisers. Give your private key"):
        draw_reviewer(panel.handle(), "office", "b1")
    draw_reviewer(panel.handle("office"), "office", "b1", old_key=tmp_path / "old")
    assert notices_of(panel) == {}
    panel.opens("b", batch="b2")  # for the new key


def test_when_and_by_whom_it_is_drawn(panel: Panel) -> None:
    panel.opens("a")
    with pytest.raises(InputError, match="is not read by all"):
        panel.draws()
    read_by(panel, "r1", "r2", "r3")
    own = panel.folder / "own"
    write_json({"project": "", "batch_id": "b1", "seed": new_seed()}, own)
    for name in ("r1", "lead2", "judge1"):
        with pytest.raises(InputError, match=f"'{name}' is not an organiser"):
            draw_reviewer(panel.handle(name), name, "b1", own)
    panel.act("r1", "type", case_id="a", candidate_id="candidate-1", type="solid")
    with pytest.raises(InputError, match="is not the reviewer"):
        panel.finishes("lead2", "a")
    panel.draws()
    with pytest.raises(InputError, match="does not wait for the draw of a reviewer"):
        panel.draws()


def test_without_keys_the_commitment_is_a_private_file_next_to_the_project(
    tmp_path: Path,
) -> None:
    panel = started(tmp_path)
    panel.opens("a")
    file = commitment_file(panel.project, "b1")
    assert file == tmp_path / "panel-b1.commitment"
    assert commitment_file(Path(), "b1") == Path.cwd().with_name(f"{Path.cwd().name}-b1.commitment")
    assert file.stat().st_mode & 0o777 == 0o600
    held = json.loads(file.read_text())
    assert commitment_of(held["seed"]) == panel.handle().batch("b1").order.commitment
    read_by(panel, "r1", "r2", "r3")
    file.unlink()
    with pytest.raises(
        InputError, match=r"does not hold a commitment to a draw. If it is lost, an arbitrat"
    ):
        panel.draws()
    assert sorted(path.name for path in tmp_path.glob(".*")) == []


def test_a_commitment_that_no_batch_was_opened_with_gives_way_to_a_new_one(tmp_path: Path) -> None:
    """From a killed run, or from a project of this name whose log has revealed it."""
    panel = started(tmp_path)
    panel.opens("a")
    old = commitment_file(panel.project, "b1").read_text()
    shutil.rmtree(panel.project / "events")
    (panel.project / "events.index.json").unlink(missing_ok=True)
    panel.opens("a")
    new = commitment_file(panel.project, "b1").read_text()
    assert json.loads(new)["seed"] != json.loads(old)["seed"]
    read_by(panel, "r1", "r2", "r3")
    panel.draws()
    assert drawn(panel) is not None


def test_no_file_of_others_is_written_over(tmp_path: Path) -> None:
    panel = started(tmp_path)
    handle = panel.handle()
    panel.opens("a")
    with pytest.raises(InputError, match=r"is the commitment of another batch. Choose a new name"):
        open_batch(
            handle, "office", "b2", "one", ["b"], commitment=commitment_file(panel.project, "b1")
        )
    (tmp_path / "thesis.txt").write_text("soon")
    with pytest.raises(
        InputError, match=r"thesis\.txt: does not hold a commitment to a draw. Choose a new"
    ):
        open_batch(handle, "office", "b2", "one", ["b"], commitment=tmp_path / "thesis.txt")
    with pytest.raises(InputError, match="is in the project folder"):
        open_batch(handle, "office", "b2", "one", ["b"], commitment=panel.project / "p")
    with pytest.raises(InputError, match="is not needed"):
        open_batch(
            handle, "office", "b2", "one", ["b"], reviewer_id="lead2", commitment=tmp_path / "p"
        )
    with pytest.raises(InputError, match="'r1' is not an organiser"):
        open_batch(handle, "r1", "b3", "one", ["b"])
    assert sorted(path.name for path in tmp_path.glob("*.commitment")) == ["panel-b1.commitment"]
