import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from builders.annotation import MemoryStore, drawn, reading, small_cases, two_teams
from builders.words import sentences
from nodulebench.annotate.people import PROGRAM, Person, Roster, Team
from nodulebench.annotate.process.actions import (
    AddNodule,
    ArbitrateNodule,
    CheckBatch,
    FinishCase,
    OpenBatch,
    ReleaseBatch,
    ReviewNodule,
    SubmitReading,
    TypeNodule,
)
from nodulebench.annotate.process.batch import ITU, NIFDC
from nodulebench.annotate.process.events import check_chain
from nodulebench.annotate.process.storage import FileStore, act
from nodulebench.annotate.process.workflow import Workflow
from nodulebench.errors import InputError

SHARED = drawn("f", (3, 50, 50, 8))
LONE = drawn("g", (9, 20, 20, 6))
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


class Desk:
    """A workflow with its log, for tests that read as a story."""

    def __init__(self, workflow: Workflow, store=None) -> None:
        self.workflow = workflow
        self.store = store or MemoryStore()

    def does(self, actor: str, action) -> None:
        act(self.workflow, self.store, actor, action, lambda: NOON)

    def opens(self, team="one", reviewer="lead2", cases=("a",)) -> None:
        order = OpenBatch(batch_id="b1", team_id=team, case_ids=cases, reviewer_id=reviewer)
        self.does("office", order)

    def reads(self, reader: str, *findings, case="a") -> None:
        self.does(reader, SubmitReading(batch_id="b1", reading=reading(reader, case, *findings)))

    def checks(self) -> None:
        self.does(PROGRAM, CheckBatch(batch_id="b1"))

    def types(self, reader: str, name: str, said="solid") -> None:
        self.does(reader, TypeNodule(batch_id="b1", case_id="a", candidate_id=name, type=said))

    def reviews(self, actor: str, name: str, agrees: bool) -> None:
        self.does(actor, ReviewNodule(batch_id="b1", case_id="a", candidate_id=name, agrees=agrees))

    def adds(self, actor: str, finding, case="a") -> None:
        self.does(actor, AddNodule(batch_id="b1", case_id=case, finding=finding))

    def finishes(self, actor: str, case="a") -> None:
        self.does(actor, FinishCase(batch_id="b1", case_id=case))

    def rules(self, actor: str, name: str, is_nodule: bool, said=None) -> None:
        self.does(
            actor,
            ArbitrateNodule(
                batch_id="b1", case_id="a", candidate_id=name, is_nodule=is_nodule, type=said
            ),
        )

    def releases(self, actor: str) -> None:
        self.does(actor, ReleaseBatch(batch_id="b1"))

    def sees(self, actor: str) -> list[str]:
        found = self.workflow.visible_readings(self.store.read(), actor, "b1")
        return [one.reader_id for one in found]

    def is_shown(self, actor: str) -> list[tuple[str, int, tuple[int, ...]]]:
        found = self.workflow.visible_candidates(self.store.read(), actor, "b1")
        return [(one.candidate_id, len(one.boxes), one.inconsistent_slices) for one in found]

    @property
    def batch(self):
        return self.workflow.batches(self.store.read())["b1"]


@pytest.fixture
def desk() -> Desk:
    return Desk(Workflow(two_teams(), small_cases("a", "b"), NIFDC))


def test_a_batch_passes_from_reading_to_release(desk: Desk) -> None:
    desk.opens()
    desk.reads("r1", SHARED, LONE)
    desk.reads("r2", SHARED)
    assert desk.batch.state == "reading"
    assert (desk.sees("r1"), desk.sees("lead2"), desk.sees("judge1")) == (["r1"], [], [])
    desk.reads("r3", SHARED)
    assert desk.batch.state == "checking"
    desk.checks()
    assert desk.batch.state == "typing"
    assert desk.batch.checks["a"].inconsistent_slices == (9,)
    assert desk.is_shown("r1") == [("candidate-1", 1, ()), ("candidate-2", 1, ())]
    assert desk.is_shown("r2") == [("candidate-1", 1, ())]
    assert desk.is_shown("lead2") == []
    desk.types("r2", "candidate-1")
    desk.types("r1", "candidate-2", "calcified")
    assert desk.batch.state == "review"
    assert desk.is_shown("lead2") == [("candidate-1", 1, ()), ("candidate-2", 1, (9,))]
    assert desk.sees("lead2") == ["r1", "r2", "r3"]
    assert (desk.sees("r1"), desk.sees("lead1"), desk.sees("judge1")) == (["r1"], [], [])
    desk.reviews("lead2", "candidate-1", True)
    desk.reviews("lead2", "candidate-2", True)
    assert desk.batch.state == "review"
    desk.finishes("lead2")
    assert desk.batch.state == "arbitration"
    assert desk.sees("judge1") == ["r1", "r2", "r3"]
    with pytest.raises(InputError, match=r"has 1 open dispute\(s\): a candidate-2. Settle them"):
        desk.releases("judge1")
    desk.rules("judge2", "candidate-2", False)
    desk.releases("judge1")
    assert desk.batch.state == "released"
    assert desk.sees("r1") == ["r1", "r2", "r3"]
    assert desk.batch.nodules == [("a", "candidate-1")]
    assert desk.batch.nodule_type(("a", "candidate-1")) == "solid"
    log = [(event.actor_id, event.step, event.change) for event in desk.store.read()]
    assert log[0] == ("office", "open", "1 cases for one")
    assert log[1] == ("r1", "read", "2 findings")
    assert log[4] == ("program", "check", "2 candidates, 1 inconsistent slices")
    assert log[-2:] == [
        ("judge2", "arbitrate", "candidate-2 is no nodule"),
        ("judge1", "release", "released"),
    ]


def test_an_objection_or_types_that_differ_are_disputes(desk: Desk) -> None:
    desk = Desk(Workflow(two_teams(), small_cases("a"), NIFDC.model_copy(update={"typings": 2})))
    desk.opens()
    for reader in ("r1", "r2", "r3"):
        desk.reads(reader, SHARED)
    desk.checks()
    desk.types("r1", "candidate-1", "solid")
    assert desk.batch.state == "typing"
    desk.types("r3", "candidate-1", "calcified")
    desk.reviews("lead2", "candidate-1", False)
    desk.finishes("lead2")
    key = ("a", "candidate-1")
    assert sentences(desk.batch.dispute(key)) == ("its types differ", "the reviewer objects")
    assert desk.batch.nodule_type(key) is None
    assert desk.batch.nodules == []
    with pytest.raises(InputError, match="is ruled a nodule without a type"):
        desk.rules("judge1", "candidate-1", True)
    desk.rules("judge1", "candidate-1", True, "part_solid")
    assert desk.batch.nodule_type(key) == "part_solid"


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (lambda d: d.reads("nobody", SHARED), "person 'nobody': is not known. Known: r1, r2"),
        (
            lambda d: d.reads("r4", SHARED),
            "batch 'b1': 'r4' is not one of its readers (r1, r2, r3).",
        ),
        (
            lambda d: d.reads("r2", SHARED, case="b"),
            "batch 'b1': case 'b' is not one of its 1 cases. Hand the reading in with the batch",
        ),
        (
            lambda d: d.reads("r1", LONE),
            "batch 'b1': 'r1' has handed in case 'a' before. A reading cannot be changed.",
        ),
        (
            lambda d: d.reads("r2", drawn("x", (3, 300, 50, 8))),
            "reader 'r2' case 'a' finding 'x' slice 3: the outline lies outside the image.",
        ),
        (
            lambda d: d.does(
                "r2", SubmitReading(batch_id="b1", reading=reading("r3", "a", SHARED))
            ),
            "batch 'b1': 'r2' hands in a reading of 'r3'.",
        ),
        (
            lambda d: d.checks(),
            "batch 'b1': is in the state 'reading'; 'check' is a step of 'checking'.",
        ),
        (lambda d: d.opens(), "batch 'b1': was opened before. Choose another name."),
        (
            lambda d: d.does("r1", ReleaseBatch(batch_id="b9")),
            "batch 'b9': is not open. Open: b1.",
        ),
    ],
)
def test_what_is_wrong_is_told_and_changes_nothing(desk: Desk, step, what: str) -> None:
    desk.opens()
    desk.reads("r1", SHARED)
    before = desk.store.read()
    with pytest.raises(InputError) as told:
        step(desk)
    assert str(told.value).startswith(what)
    assert desk.store.read() == before


@pytest.mark.parametrize(
    ("reviewer", "what"),
    [
        ("lead1", "'lead1' is of the team that reads it. A batch is reviewed by the leader of"),
        ("r1", "'r1' is of the team that reads it."),
        ("judge1", "'judge1' leads no team."),
        (None, "has no reviewer. Name the leader of another team."),
    ],
)
def test_only_the_leader_of_another_team_reviews(desk: Desk, reviewer, what: str) -> None:
    with pytest.raises(InputError) as told:
        desk.opens(reviewer=reviewer)
    assert str(told.value).startswith(f"batch 'b1': {what}")
    assert desk.store.read() == []


def test_who_has_not_drawn_a_nodule_cannot_type_it_nor_type_it_twice(desk: Desk) -> None:
    desk.opens()
    desk.reads("r1", LONE, SHARED)
    desk.reads("r2")
    desk.reads("r3", SHARED)
    desk.checks()
    with pytest.raises(InputError, match="'r2' has not drawn it and cannot type it"):
        desk.types("r2", "candidate-1")
    desk.types("r1", "candidate-1")
    with pytest.raises(InputError, match="'r1' has typed it before"):
        desk.types("r1", "candidate-1")
    with pytest.raises(InputError, match="'candidate-7': is not among the candidates"):
        desk.types("r1", "candidate-7")


def test_in_the_itu_workflow_one_of_three_experts_decides() -> None:
    experts = tuple(
        Person(person_id=name, roles=("panel", *(("arbitrator",) if name == "e1" else ())))
        for name in ("e1", "e2", "e3")
    )
    office = Person(person_id="office", roles=("organiser",))
    roster = Roster(
        people=(*experts, office), teams=(Team(team_id="one", reader_ids=("e1", "e2", "e3")),)
    )
    desk = Desk(Workflow(roster, small_cases("a"), ITU))
    desk.opens(reviewer=None)
    desk.reads("e1")
    desk.reads("e2", SHARED)
    desk.reads("e3", SHARED)
    desk.checks()
    desk.types("e2", "candidate-1")
    assert desk.batch.state == "arbitration"
    assert desk.sees("e1") == ["e1"]
    assert desk.is_shown("e1") == [("candidate-1", 1, (3,))]
    with pytest.raises(InputError, match="'e2' is not an arbitrator"):
        desk.rules("e2", "candidate-1", True, "solid")
    desk.rules("e1", "candidate-1", True, "solid")
    desk.releases("e1")
    assert desk.batch.nodules == [("a", "candidate-1")]


def test_files_keep_the_log_and_show_tampering(tmp_path: Path) -> None:
    desk = Desk(Workflow(two_teams(), small_cases("a")), FileStore(tmp_path / "events"))
    desk.opens()
    desk.reads("r1", SHARED)
    again = FileStore(tmp_path / "events").read()
    assert [event.step for event in again] == ["open", "read"]
    assert again[1].at == NOON
    assert again[1].previous == again[0].digest
    file = tmp_path / "events" / "00000002.json"
    file.write_text(file.read_text().replace('"length_mm": 8.0', '"length_mm": 9.0'))
    with pytest.raises(InputError, match=r"02.json: was changed: its payload has another digest"):
        desk.store.read()
    file.unlink()
    file.with_name("00000003.json").write_text(again[1].model_dump_json())
    with pytest.raises(InputError, match=r"00000003.json: follows a gap: event 2 is not there"):
        desk.store.read()
    file.with_name("00000003.json").rename(file)
    file.with_name("00000001.json").rename(file.with_name("00000003.json"))
    with pytest.raises(InputError, match=r"00000003.json: was changed: it says that it is event 1"):
        desk.store.read()


def test_a_damaged_file_of_the_log_is_named(tmp_path: Path) -> None:
    (tmp_path / "00000001.json").write_text('{"number": 1}')
    with pytest.raises(InputError, match=r"00000001.json: is not an event. Restore the log"):
        FileStore(tmp_path).read()


def test_of_two_simultaneous_steps_one_is_refused(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    workflow = Workflow(two_teams(), small_cases("a"))
    order = OpenBatch(batch_id="b1", team_id="one", case_ids=("a",), reviewer_id="lead2")
    event = workflow.perform([], "office", order, NOON)
    store.append(event)
    with pytest.raises(InputError, match="somebody else was faster: event 1 exists"):
        store.append(event)
    assert store.read() == [event]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("actor", "changes", "what"),
    [
        ("r1", {}, "'r1' is no organiser and cannot open it."),
        ("office", {"case_ids": ("z",)}, "case 'z' is not in the table of cases."),
        ("office", {"case_ids": ("a", "a")}, "case 'a' is listed more than once."),
        ("office", {"team_id": "three"}, "team 'three': is not known. Known: one, two."),
    ],
)
def test_a_batch_that_cannot_be_is_not_opened(desk: Desk, actor, changes, what: str) -> None:
    fields = {"batch_id": "b1", "team_id": "one", "case_ids": ("a",), "reviewer_id": "lead2"}
    with pytest.raises(InputError, match=re.escape(what)):
        desk.does(actor, OpenBatch(**fields | changes))
    assert desk.store.read() == []


def test_a_team_has_as_many_readers_as_the_workflow_wants() -> None:
    rules = NIFDC.model_copy(update={"readers": 4})
    desk = Desk(Workflow(two_teams(), small_cases("a"), rules))
    with pytest.raises(InputError, match="one has 3 readers, not 4"):
        desk.opens()
    itu = Desk(Workflow(two_teams(), small_cases("a"), ITU))
    with pytest.raises(InputError, match="the workflow 'fg-ai4h' has no review"):
        itu.opens()


def test_review_and_arbitration_happen_once_by_those_who_may(desk: Desk) -> None:
    desk.opens()
    desk.reads("r1", SHARED, LONE)
    desk.reads("r2", SHARED)
    desk.reads("r3", SHARED)
    with pytest.raises(InputError, match="'office' is not the program itself"):
        desk.does("office", CheckBatch(batch_id="b1"))
    desk.checks()
    desk.types("r2", "candidate-1")
    desk.types("r1", "candidate-2")
    with pytest.raises(InputError, match="'lead1' is not the reviewer 'lead2'"):
        desk.reviews("lead1", "candidate-1", True)
    desk.reviews("lead2", "candidate-1", True)
    with pytest.raises(InputError, match="was reviewed before"):
        desk.reviews("lead2", "candidate-1", False)
    desk.reviews("lead2", "candidate-2", True)
    desk.finishes("lead2")
    with pytest.raises(InputError, match="'lead2' is not an arbitrator who has not read"):
        desk.rules("lead2", "candidate-2", False)
    with pytest.raises(InputError, match="'r1' is not an arbitrator"):
        desk.releases("r1")
    with pytest.raises(InputError, match="'candidate-1': is not in dispute"):
        desk.rules("judge1", "candidate-1", False)
    desk.rules("judge1", "candidate-2", True, "solid")
    with pytest.raises(InputError, match="'candidate-2': was settled before"):
        desk.rules("judge2", "candidate-2", False)


MISSED = drawn("missed", (5, 80, 80, 6), (6, 80, 80, 6), type="solid")


def in_review(desk: Desk, *findings, cases=("a",)) -> None:
    """Bring a batch to the review; every reader drew the same, all solid."""
    desk.opens(cases=cases)
    for case in cases:
        for reader in ("r1", "r2", "r3"):
            desk.reads(reader, *findings, case=case)
    desk.checks()
    for case, name in desk.batch.untyped:
        desk.does("r1", TypeNodule(batch_id="b1", case_id=case, candidate_id=name, type="solid"))


def test_cases_in_which_nobody_found_anything_are_reviewed_too(desk: Desk) -> None:
    in_review(desk, cases=("a", "b"))
    assert (desk.batch.state, desk.batch.unfinished) == ("review", ["a", "b"])
    with pytest.raises(InputError, match="'release' is a step of 'arbitration'"):
        desk.releases("judge1")
    desk.finishes("lead2")
    assert (desk.batch.state, desk.batch.unfinished) == ("review", ["b"])
    desk.finishes("lead2", "b")
    assert desk.batch.state == "arbitration"
    desk.releases("judge1")
    assert desk.batch.nodules == []
    assert [one.change for one in desk.store.read() if one.step == "finish"] == [
        "review finished"
    ] * 2


def test_the_reviewer_adds_what_every_reader_missed_and_an_arbitrator_decides(desk: Desk) -> None:
    in_review(desk, SHARED)
    desk.reviews("lead2", "candidate-1", True)
    desk.adds("lead2", MISSED)
    key = ("a", "candidate-2")
    assert desk.batch.unreviewed == []
    assert sentences(desk.batch.dispute(key)) == ("'lead2' added it and no reader drew it",)
    desk.finishes("lead2")
    assert desk.batch.state == "arbitration"
    assert desk.batch.open_disputes == [key]
    assert desk.is_shown("r1") == [("candidate-1", 1, ())]
    assert desk.is_shown("judge1") == [("candidate-1", 1, ()), ("candidate-2", 2, (5, 6))]
    with pytest.raises(InputError, match=r"has 1 open dispute\(s\): a candidate-2"):
        desk.releases("judge1")
    desk.rules("judge1", "candidate-2", True, "part_solid")
    desk.releases("judge1")
    assert desk.batch.nodules == [("a", "candidate-1"), key]
    assert desk.batch.nodule_type(key) == "part_solid"
    assert desk.batch.candidates[key].reader_ids == ("lead2",)
    (event,) = (one for one in desk.store.read() if one.step == "add")
    assert (event.actor_id, event.case_id) == ("lead2", "a")
    assert event.change == "candidate-2 added, solid, on 2 slices"
    assert event.payload["finding"]["slices"][1]["slice_index"] == 6


def test_what_an_arbitrator_does_not_accept_is_not_added(desk: Desk) -> None:
    in_review(desk)
    desk.adds("lead2", MISSED)
    desk.finishes("lead2")
    desk.rules("judge1", "candidate-1", False)
    desk.releases("judge1")
    assert desk.batch.nodules == []


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (lambda d: d.adds("lead1", MISSED), "batch 'b1': 'lead1' is not the reviewer 'lead2'."),
        (lambda d: d.adds("r1", MISSED), "batch 'b1': 'r1' is not the reviewer 'lead2'."),
        (lambda d: d.adds("judge1", MISSED), "batch 'b1': 'judge1' is not the reviewer 'lead2'."),
        (
            lambda d: d.adds("lead2", MISSED, case="z"),
            "batch 'b1' case 'z': is not one of its cases.",
        ),
        (
            lambda d: d.adds("lead2", MISSED, case="b"),
            "batch 'b1' case 'b': its review is finished.",
        ),
        (
            lambda d: d.adds("lead2", MISSED.model_copy(update={"type": None})),
            "batch 'b1' case 'a': a nodule is added without a type. Say which type it is.",
        ),
        (
            lambda d: d.adds("lead2", drawn("x", (3, 52, 50, 8), type="solid")),
            "batch 'b1' case 'a': finding 'x' is candidate-1 already. Agree with it, or object",
        ),
        (
            lambda d: d.adds("lead2", drawn("x", (2, 20, 20, 4), type="solid")),
            "batch 'b1' case 'a': finding 'x' is candidate-2 already. Agree with it, or object",
        ),
        (
            lambda d: d.adds("lead2", drawn("kept", (9, 90, 90, 4), type="solid")),
            "reader 'lead2' case 'a' finding 'kept': was given before.",
        ),
        (
            lambda d: d.adds("lead2", drawn("x", (3, 300, 50, 8), type="solid")),
            "reader 'lead2' case 'a' finding 'x' slice 3: the outline lies outside the image.",
        ),
        (
            lambda d: d.finishes("lead2"),
            "batch 'b1' case 'a': is not judged yet: candidate-1. Judge them first.",
        ),
        (
            lambda d: d.reviews("lead2", "candidate-2", True),
            "batch 'b1' case 'a' 'candidate-2': was added in the review; the arbitration judges",
        ),
    ],
)
def test_what_a_review_cannot_be_changes_nothing(desk: Desk, step, what: str) -> None:
    in_review(desk, SHARED, cases=("a", "b"))
    desk.does(
        "lead2", ReviewNodule(batch_id="b1", case_id="b", candidate_id="candidate-1", agrees=True)
    )
    desk.finishes("lead2", "b")
    desk.adds("lead2", drawn("kept", (2, 20, 20, 4), type="solid"))
    before = desk.store.read()
    with pytest.raises(InputError) as told:
        step(desk)
    assert str(told.value).startswith(what)
    assert desk.store.read() == before


def test_an_event_that_does_not_follow_is_found(desk: Desk) -> None:
    desk.opens()
    desk.reads("r1", SHARED)
    first, second = desk.store.read()
    with pytest.raises(InputError, match=r"^event 2: does not follow from event 1: one of the two"):
        check_chain([first.model_copy(update={"change": "other"}), second])
