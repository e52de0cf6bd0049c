"""Whatever anybody tries in whatever order, the workflow's promises hold."""

from datetime import UTC, datetime, timedelta
from typing import get_args

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from builders.annotation import drawn, memory_log, reading, small_cases, two_teams
from nodulebench.annotation.actions import (
    NIFDC,
    AddNodule,
    ArbitrateNodule,
    CheckBatch,
    DrawReviewer,
    FinishCase,
    OpenBatch,
    ReleaseBatch,
    ReviewNodule,
    SubmitReading,
    TypeNodule,
    WorkflowRules,
)
from nodulebench.annotation.batch import State
from nodulebench.annotation.people import PROGRAM, commitment_of
from nodulebench.annotation.project_log import act
from nodulebench.annotation.readings import DrawnFinding, Reading
from nodulebench.annotation.workflow import Workflow
from nodulebench.core.errors import InputError

ROSTER = two_teams()
TEAMS = {team.team_id: team for team in ROSTER.teams}
PEOPLE = [person.person_id for person in ROSTER.people]
CASES = small_cases("a", "b")
START = datetime(2026, 1, 1, tzinfo=UTC)
SEED = "5" * 64
COMMITMENT = commitment_of(SEED)
MARKS = {
    "center": drawn("f1", (3, 50, 50, 8), (4, 50, 50, 8)),
    "corner": drawn("f2", (9, 20, 20, 6)),
    "outside": drawn("f3", (3, 500, 50, 8)),
}
ADDED = {
    "missed": drawn("f4", (15, 80, 80, 6), type="solid"),
    "typeless": drawn("f5", (12, 70, 20, 6)),
    "center again": drawn("f6", (4, 51, 50, 6), type="solid"),
    "outside": drawn("f7", (15, 800, 80, 6), type="solid"),
}
people = st.sampled_from([*PEOPLE, "nobody", PROGRAM])
readers = st.sampled_from(["r1", "r2", "r3", "r4"])
batch_ids = st.sampled_from(["batch-1", "batch-2"])
case_ids = st.sampled_from(["a", "b"])
candidate_ids = st.sampled_from(["candidate-1", "candidate-2", "candidate-3"])
types = st.sampled_from(["solid", "calcified"])


class AnyoneTriesAnything(RuleBasedStateMachine):
    """People try steps, allowed or not; what was accepted is remembered beside the log."""

    rules_of_workflow: WorkflowRules = NIFDC

    def __init__(self) -> None:
        super().__init__()
        self.workflow = Workflow(ROSTER, CASES, self.rules_of_workflow)
        self.store = memory_log()
        self.handed_in: dict[tuple[str, str, str], Reading] = {}
        self.highest: dict[str, int] = {}
        self.added: dict[tuple[str, str, str], tuple[str, DrawnFinding]] = {}

    @initialize(cases=st.sampled_from([("a",), ("a", "b")]), is_drawn=st.booleans())
    def open_the_first_batch(self, cases, is_drawn) -> None:
        reviewer, commitment = (None, COMMITMENT) if is_drawn else ("lead2", None)
        self.open_batch("office", "batch-1", "one", reviewer, cases, commitment)

    def attempt(self, actor: str, action) -> bool:
        before = self.store.read()
        try:
            event = act(
                self.workflow, self.store, actor, action, lambda: START + timedelta(len(before))
            )
        except InputError:
            assert self.store.read() == before
            return False
        assert self.store.read() == [*before, event]
        assert event.person == actor
        return True

    def batch(self, batch_id: str):
        return self.workflow.batches(self.store.read()).get(batch_id)

    @rule(
        actor=st.sampled_from(["office", "r1"]),
        batch_id=batch_ids,
        team=st.sampled_from(["one", "two"]),
        reviewer=st.sampled_from(["lead1", "lead2", "r1", "judge1", None]),
        cases=st.sampled_from([("a",), ("a", "b"), ("z",)]),
        commitment=st.sampled_from([None, COMMITMENT]),
    )
    def open_batch(self, actor, batch_id, team, reviewer, cases, commitment=None) -> None:
        order = OpenBatch(
            batch_id=batch_id,
            team_id=team,
            case_ids=cases,
            reviewer_id=reviewer,
            commitment=commitment,
        )
        if self.attempt(actor, order):
            assert actor == "office"
            assert cases != ("z",)
            assert (reviewer is None) == (commitment is not None)
            assert reviewer not in TEAMS[team].member_ids
            assert reviewer in ("lead1", "lead2", None)

    @rule(
        actor=people,
        batch_id=batch_ids,
        seed=st.sampled_from([SEED, "0" * 64]),
        redraw_reason=st.sampled_from(["", "lost"]),
    )
    def draw(self, actor, batch_id, seed, redraw_reason) -> None:
        before = self.batch(batch_id)
        if self.attempt(
            actor, DrawReviewer(batch_id=batch_id, seed=seed, redraw_reason=redraw_reason)
        ):
            assert before.order.commitment == COMMITMENT
            assert before.order.reviewer_id is None
            assert before.checks is not None
            assert not before.missing_readings
            assert (
                actor in ("judge1", "judge2")
                if redraw_reason
                else (actor, seed) == ("office", SEED)
            )
            reviewer = self.batch(batch_id).order.reviewer_id
            assert reviewer in ("lead1", "lead2")
            assert reviewer not in TEAMS[before.order.team_id].member_ids

    @rule(
        actor=people,
        reader=readers,
        batch_id=batch_ids,
        case_id=st.sampled_from(["a", "b", "z"]),
        marks=st.lists(st.sampled_from(sorted(MARKS)), unique=True, max_size=2),
    )
    def hand_in(self, actor, reader, batch_id, case_id, marks) -> None:
        self.read(actor, reading(reader, case_id, *(MARKS[name] for name in marks)), batch_id)

    def read(self, actor: str, drawn_marks: Reading, batch_id: str) -> None:
        if self.attempt(actor, SubmitReading(batch_id=batch_id, reading=drawn_marks)):
            key = (batch_id, drawn_marks.case_id, drawn_marks.reader_id)
            assert key not in self.handed_in
            assert actor == drawn_marks.reader_id
            assert MARKS["outside"] not in drawn_marks.findings
            self.handed_in[key] = drawn_marks

    @precondition(lambda self: self.handed_in)
    @rule(
        data=st.data(),
        marks=st.lists(st.sampled_from(["center", "corner"]), unique=True, max_size=2),
    )
    def hand_in_again(self, data, marks) -> None:
        batch_id, case_id, reader = data.draw(st.sampled_from(sorted(self.handed_in)))
        self.read(reader, reading(reader, case_id, *(MARKS[name] for name in marks)), batch_id)

    @rule(data=st.data(), said=types, agrees=st.booleans())
    def take_the_next_step(self, data, said, agrees) -> None:
        """Whatever the first batch waits for is done by whoever may do it."""
        batch = self.batch("batch-1")
        match batch.state:
            case "reading":
                case_id, reader = data.draw(st.sampled_from(batch.missing_readings))
                names = data.draw(st.sampled_from([[], ["center"], ["center", "corner"]]))
                marks = (MARKS[name] for name in names)
                self.read(reader, reading(reader, case_id, *marks), "batch-1")
            case "checking":
                self.check(PROGRAM, "batch-1")
            case "typing":
                key = data.draw(st.sampled_from(batch.untyped))
                for reader in batch.candidates[key].reader_ids:
                    self.type_nodule(reader, "batch-1", *key, said)
            case "review" if batch.waits_for_draw:
                self.draw("office", "batch-1", SEED, "")
            case "review" if batch.unreviewed:
                key = data.draw(st.sampled_from(batch.unreviewed))
                self.review(batch.order.reviewer_id, "batch-1", *key, agrees)
            case "review" if agrees:
                case_id = data.draw(st.sampled_from(batch.unfinished))
                self.finish(batch.order.reviewer_id, "batch-1", case_id)
            case "review":
                case_id = data.draw(st.sampled_from(batch.order.case_ids))
                name = data.draw(st.sampled_from(sorted(ADDED)))
                self.add(batch.order.reviewer_id, "batch-1", case_id, name)
            case "arbitration" if batch.open_disputes:
                self.arbitrate("judge1", "batch-1", *batch.open_disputes[0], said)

    @precondition(lambda self: self.store.read())
    @rule(
        batch_id=batch_ids,
        marks=st.lists(st.sampled_from(["center", "corner"]), unique=True, max_size=2),
    )
    def hand_in_everything_that_is_missing(self, batch_id, marks) -> None:
        batch = self.batch(batch_id)
        for number, (case_id, reader) in enumerate(batch.missing_readings if batch else []):
            kept = marks if number % 3 else marks[:1]
            self.read(reader, reading(reader, case_id, *(MARKS[name] for name in kept)), batch_id)

    @rule(actor=st.sampled_from([PROGRAM, "office", "r1"]), batch_id=batch_ids)
    def check(self, actor, batch_id) -> None:
        if self.attempt(actor, CheckBatch(batch_id=batch_id)):
            assert actor == PROGRAM
            assert not self.batch(batch_id).missing_readings

    @rule(actor=people, batch_id=batch_ids, case_id=case_ids, name=candidate_ids, said=types)
    def type_nodule(self, actor, batch_id, case_id, name, said) -> None:
        step = TypeNodule(batch_id=batch_id, case_id=case_id, candidate_id=name, type=said)
        if self.attempt(actor, step):
            assert self.handed_in[batch_id, case_id, actor].findings

    @precondition(lambda self: self.store.read())
    @rule(batch_id=batch_ids, said=types)
    def type_everything(self, batch_id, said) -> None:
        batch = self.batch(batch_id)
        for case_id, name in batch.untyped if batch else []:
            for reader in batch.candidates[case_id, name].reader_ids:
                self.type_nodule(reader, batch_id, case_id, name, said)

    @rule(
        actor=people, batch_id=batch_ids, case_id=case_ids, name=candidate_ids, agrees=st.booleans()
    )
    def review(self, actor, batch_id, case_id, name, agrees) -> None:
        step = ReviewNodule(batch_id=batch_id, case_id=case_id, candidate_id=name, agrees=agrees)
        if self.attempt(actor, step):
            assert actor not in TEAMS[self.batch(batch_id).order.team_id].member_ids

    @precondition(lambda self: self.store.read())
    @rule(batch_id=batch_ids, agrees=st.booleans())
    def review_everything(self, batch_id, agrees) -> None:
        batch = self.batch(batch_id)
        for case_id, name in batch.unreviewed if batch else []:
            self.review(batch.order.reviewer_id, batch_id, case_id, name, agrees)

    @rule(actor=people, batch_id=batch_ids, case_id=case_ids, name=st.sampled_from(sorted(ADDED)))
    def add(self, actor, batch_id, case_id, name) -> None:
        before = self.batch(batch_id)
        finding = ADDED[name]
        if self.attempt(actor, AddNodule(batch_id=batch_id, case_id=case_id, finding=finding)):
            assert before.state == "review"
            assert actor == before.order.reviewer_id
            assert actor not in TEAMS[before.order.team_id].member_ids
            assert case_id not in before.finished
            assert name == "missed" or (
                name == "center again" and not self.is_drawn(before, case_id)
            )
            (key,) = set(self.batch(batch_id).candidates) - set(before.candidates)
            self.added[batch_id, *key] = (actor, finding)

    def is_drawn(self, batch, case_id) -> bool:
        """Whether a reader drew the center of a case."""
        return any(
            MARKS["center"] in reading.findings
            for (case, _), reading in batch.readings.items()
            if case == case_id
        )

    @rule(actor=people, batch_id=batch_ids, case_id=st.sampled_from(["a", "b", "z"]))
    def finish(self, actor, batch_id, case_id) -> None:
        before = self.batch(batch_id)
        if self.attempt(actor, FinishCase(batch_id=batch_id, case_id=case_id)):
            assert actor == before.order.reviewer_id
            assert case_id in before.order.case_ids
            assert not [key for key in before.unreviewed if key[0] == case_id]

    @precondition(lambda self: self.store.read())
    @rule(batch_id=batch_ids)
    def finish_everything(self, batch_id) -> None:
        batch = self.batch(batch_id)
        for case_id in batch.unfinished if batch else []:
            self.finish(batch.order.reviewer_id, batch_id, case_id)

    @rule(actor=people, batch_id=batch_ids, case_id=case_ids, name=candidate_ids, said=types)
    def arbitrate(self, actor, batch_id, case_id, name, said) -> None:
        step = ArbitrateNodule(
            batch_id=batch_id, case_id=case_id, candidate_id=name, is_nodule=True, type=said
        )
        if self.attempt(actor, step):
            assert actor in ("judge1", "judge2")

    @precondition(lambda self: self.store.read())
    @rule(batch_id=batch_ids, said=types)
    def arbitrate_everything(self, batch_id, said) -> None:
        batch = self.batch(batch_id)
        for case_id, name in batch.open_disputes if batch else []:
            self.arbitrate("judge1", batch_id, case_id, name, said)

    @rule(
        actor=st.sampled_from(["judge1", "judge2", "lead2", "r1"]),
        batch_id=st.sampled_from(["batch-1", "batch-1", "batch-2"]),
    )
    def release(self, actor, batch_id) -> None:
        before = self.batch(batch_id)
        if self.attempt(actor, ReleaseBatch(batch_id=batch_id)):
            assert actor in ("judge1", "judge2")
            for key in self.plainly_disputed(before):
                assert key in before.rulings
            if self.rules_of_workflow.has_review:
                finished = {
                    event.case_id
                    for event in self.store.read()
                    if (event.step, event.batch_id) == ("finish", batch_id)
                }
                assert finished == set(before.order.case_ids)

    def plainly_disputed(self, batch):
        """Candidates that a reader left out or the reviewer added or objected to."""
        for key, candidate in batch.candidates.items():
            is_partial = len(candidate.reader_ids) < len(batch.reader_ids)
            is_objected = any(
                event.step == "review"
                and event.batch_id == batch.order.batch_id
                and (event.payload["case_id"], event.payload["candidate_id"]) == key
                and not event.payload["agrees"]
                for event in self.store.read()
            )
            if is_partial or is_objected or (batch.order.batch_id, *key) in self.added:
                yield key

    @invariant()
    def nobody_of_the_team_sees_anothers_marks_before_release(self) -> None:
        events = self.store.read()
        for batch in self.workflow.batches(events).values():
            for person in PEOPLE:
                seen = {reading.reader_id for reading in self.workflow.seen_readings(batch, person)}
                if batch.state == "released":
                    continue
                if person in TEAMS[batch.order.team_id].member_ids or person == "office":
                    assert seen <= {person}
                if batch.state in ("reading", "checking", "typing"):
                    assert seen <= {person}

    @invariant()
    def readers_are_shown_the_own_boxes_of_candidates_only(self) -> None:
        events = self.store.read()
        for batch in self.workflow.batches(events).values():
            if batch.state == "released":
                continue
            for person in TEAMS[batch.order.team_id].member_ids:
                own = {
                    (
                        case_id,
                        slice_.slice_index,
                        slice_.center_x_mm,
                        slice_.center_y_mm,
                        slice_.length_mm,
                    )
                    for (case_id, reader), read in batch.readings.items()
                    if reader == person
                    for finding in read.findings
                    for slice_ in finding.slices
                }
                for seen in self.workflow.seen_candidates(batch, person):
                    assert seen.inconsistent_slices == ()
                    for box in seen.boxes:
                        place = (box.slice_index, box.center_x_mm, box.center_y_mm, box.length_mm)
                        assert (seen.case_id, *place) in own

    @invariant()
    def no_reading_is_lost_or_altered(self) -> None:
        kept = {
            (batch_id, *key): reading
            for batch_id, batch in self.workflow.batches(self.store.read()).items()
            for key, reading in batch.readings.items()
        }
        assert kept == self.handed_in

    @invariant()
    def what_the_reviewer_added_is_kept_apart_from_the_readings(self) -> None:
        kept = {
            (batch_id, *key): (batch.order.reviewer_id, one.finding)
            for batch_id, batch in self.workflow.batches(self.store.read()).items()
            for key, one in batch.added.items()
        }
        assert kept == self.added

    @invariant()
    def batches_never_go_back(self) -> None:
        for batch_id, batch in self.workflow.batches(self.store.read()).items():
            place = get_args(State).index(batch.state)
            assert place >= self.highest.get(batch_id, 0)
            self.highest[batch_id] = place

    @invariant()
    def the_log_is_whole(self) -> None:
        assert self.store.log.check().problems == []


class AllReadersType(AnyoneTriesAnything):
    """The same where all who drew a nodule have to type it."""

    rules_of_workflow = WorkflowRules(typings=3)


class AnythingInReview(AnyoneTriesAnything):
    """The same from the review on, where the reviewer judges, adds and finishes."""

    @rule(case_id=case_ids, name=st.sampled_from(sorted(ADDED)))
    def the_reviewer_adds(self, case_id, name) -> None:
        self.add("lead2", "batch-1", case_id, name)

    @rule(case_id=case_ids)
    def the_reviewer_finishes(self, case_id) -> None:
        for key in self.batch("batch-1").unreviewed:
            self.review("lead2", "batch-1", *key, True)
        self.finish("lead2", "batch-1", case_id)
        self.add("lead2", "batch-1", case_id, "missed")  # too late

    @initialize(
        marks=st.lists(st.sampled_from(["center", "corner"]), unique=True, max_size=2),
        said=types,
    )
    def open_the_first_batch(self, marks, said) -> None:
        self.open_batch("office", "batch-1", "one", "lead2", ("a", "b"))
        self.hand_in_everything_that_is_missing("batch-1", marks)
        self.check(PROGRAM, "batch-1")
        self.type_everything("batch-1", said)
        assert self.batch("batch-1").state == "review"


TestAnyoneTriesAnything = AnyoneTriesAnything.TestCase
TestAnyoneTriesAnything.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestAllReadersType = AllReadersType.TestCase
TestAllReadersType.settings = settings(max_examples=20, stateful_step_count=40, deadline=None)

TestAnythingInReview = AnythingInReview.TestCase
TestAnythingInReview.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)


def test_the_steps_tried_here_can_reach_a_release() -> None:
    machine = AnyoneTriesAnything()
    machine.open_batch("office", "batch-1", "one", None, ("a", "b"), COMMITMENT)
    machine.hand_in_everything_that_is_missing("batch-1", ["center", "corner"])
    machine.check(PROGRAM, "batch-1")
    machine.type_everything("batch-1", "solid")
    machine.review_everything("batch-1", False)
    assert not machine.batch("batch-1").reviews
    machine.draw("office", "batch-1", SEED, "")
    machine.review_everything("batch-1", False)
    machine.add("lead2", "batch-1", "a", "missed")
    machine.release("judge1", "batch-1")
    assert machine.batch("batch-1").state == "review"
    machine.finish_everything("batch-1")
    machine.release("judge1", "batch-1")
    assert machine.batch("batch-1").state == "arbitration"
    machine.arbitrate_everything("batch-1", "solid")
    machine.release("judge1", "batch-1")
    assert machine.batch("batch-1").state == "released"
    assert ("a", "candidate-3") in machine.batch("batch-1").nodules
    machine.no_reading_is_lost_or_altered()
