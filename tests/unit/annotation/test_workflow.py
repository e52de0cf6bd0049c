from datetime import date

import pytest

from builders.annotation import (
    LONE,
    MISSED,
    SHARED,
    WorkflowDriver,
    drawn,
    in_review,
    small_cases,
    two_teams,
)
from builders.words import sentences
from nodulebench.annotation.actions import ITU, NIFDC, CorrectOutline
from nodulebench.annotation.people import Person, Roster, Team, Training
from nodulebench.annotation.workflow import Workflow
from nodulebench.core.errors import InputError


def test_a_batch_passes_from_reading_to_release(driver: WorkflowDriver) -> None:
    driver.opens()
    driver.reads("r1", SHARED, LONE)
    driver.reads("r2", SHARED)
    assert driver.batch.state == "reading"
    assert (driver.sees("r1"), driver.sees("lead2"), driver.sees("judge1")) == (["r1"], [], [])
    driver.reads("r3", SHARED)
    assert driver.batch.state == "checking"
    driver.checks()
    assert driver.batch.state == "typing"
    assert driver.batch.checks["a"].inconsistent_slices == (9,)
    assert driver.is_shown("r1") == [("candidate-1", 1, ()), ("candidate-2", 1, ())]
    assert driver.is_shown("r2") == [("candidate-1", 1, ())]
    assert driver.is_shown("lead2") == []
    driver.types("r2", "candidate-1")
    driver.types("r1", "candidate-2", "calcified")
    assert driver.batch.state == "review"
    assert driver.is_shown("lead2") == [("candidate-1", 1, ()), ("candidate-2", 1, (9,))]
    assert driver.sees("lead2") == ["r1", "r2", "r3"]
    assert (driver.sees("r1"), driver.sees("lead1"), driver.sees("judge1")) == (["r1"], [], [])
    driver.reviews("lead2", "candidate-1", True)
    driver.reviews("lead2", "candidate-2", True)
    assert driver.batch.state == "review"
    driver.finishes("lead2")
    assert driver.batch.state == "arbitration"
    assert driver.sees("judge1") == ["r1", "r2", "r3"]
    with pytest.raises(InputError, match=r"has 1 open dispute: a candidate-2. Settle them"):
        driver.releases("judge1")
    driver.rules("judge2", "candidate-2", False)
    driver.releases("judge1")
    assert driver.batch.state == "released"
    assert driver.sees("r1") == ["r1", "r2", "r3"]
    assert driver.batch.nodules == [("a", "candidate-1")]
    assert driver.batch.nodule_type(("a", "candidate-1")) == "solid"
    log = [(event.person, event.step, event.change) for event in driver.store.read()]
    assert log[0] == ("office", "open", "1 cases for one")
    assert log[1] == ("r1", "read", "2 findings")
    assert log[4] == ("program", "check", "2 candidates, 1 inconsistent slices")
    assert log[-2:] == [
        ("judge2", "arbitrate", "candidate-2 is not a nodule"),
        ("judge1", "release", "released"),
    ]


def test_an_objection_or_types_that_differ_are_disputes(driver: WorkflowDriver) -> None:
    driver = WorkflowDriver(
        Workflow(two_teams(), small_cases("a"), NIFDC.model_copy(update={"typings": 2}))
    )
    driver.opens()
    for reader in ("r1", "r2", "r3"):
        driver.reads(reader, SHARED)
    driver.checks()
    driver.types("r1", "candidate-1", "solid")
    assert driver.batch.state == "typing"
    driver.types("r3", "candidate-1", "calcified")
    driver.reviews("lead2", "candidate-1", False)
    driver.finishes("lead2")
    key = ("a", "candidate-1")
    assert sentences(driver.batch.dispute(key)) == ("its types differ", "the reviewer objects")
    assert driver.batch.nodule_type(key) is None
    assert driver.batch.nodules == []
    with pytest.raises(InputError, match="is decided to be a nodule without a type"):
        driver.rules("judge1", "candidate-1", True)
    driver.rules("judge1", "candidate-1", True, "part_solid")
    assert driver.batch.nodule_type(key) == "part_solid"


TRAINED = Training(on=date(2026, 1, 5), subject="to delineate and measure", by="Panel")


def experts(years: float = 10, trainings: tuple[Training, ...] = (TRAINED,)) -> Roster:
    """Three experts, one of them arbitrator, an office and a commission of one."""
    people = tuple(
        Person(
            person_id=name,
            roles=("panel", *(("arbitrator",) if name == "e1" else ())),
            years_reading=years,
            trainings=trainings,
        )
        for name in ("e1", "e2", "e3")
    )
    office = Person(person_id="office", roles=("organiser",))
    commission = Person(person_id="zoe", roles=("commission",))
    return Roster(
        people=(*people, office, commission),
        teams=(Team(team_id="one", reader_ids=("e1", "e2", "e3")),),
    )


def test_in_the_itu_workflow_one_of_three_experts_decides_and_a_commission_approves() -> None:
    driver = WorkflowDriver(Workflow(experts(), small_cases("a"), ITU))
    driver.opens(reviewer=None)
    driver.reads("e1")
    driver.reads("e2", SHARED)
    driver.reads("e3", SHARED)
    driver.checks()
    driver.types("e2", "candidate-1")
    assert driver.batch.state == "arbitration"
    assert driver.sees("e1") == ["e1"]
    assert driver.is_shown("e1") == [("candidate-1", 1, (3,))]
    with pytest.raises(InputError, match="'e2' is not an arbitrator"):
        driver.rules("e2", "candidate-1", True, "solid")
    with pytest.raises(InputError, match="has 1 open dispute"):
        driver.approves("zoe")
    driver.rules("e1", "candidate-1", True, "solid")
    with pytest.raises(InputError, match="is not approved by the commission"):
        driver.releases("e1")
    driver.approves("zoe", False, comment="no 5 mm slices")
    with pytest.raises(InputError, match="is not approved by the commission"):
        driver.releases("e1")
    driver.approves("zoe")
    driver.releases("e1")
    assert driver.batch.nodules == [("a", "candidate-1")]
    changes = [event.change for event in driver.store.read() if event.step == "approve"]
    assert changes == ["not approved: no 5 mm slices", "approved"]
    assert list(driver.workflow.replayed(driver.store.read())) == []


def test_who_approves_is_of_the_commission_and_inspects_everything() -> None:
    people = experts()
    double = people.people[1].model_copy(update={"roles": ("panel", "commission")})
    people = people.model_copy(update={"people": (people.people[0], double, *people.people[2:])})
    driver = WorkflowDriver(Workflow(people, small_cases("a"), ITU))
    driver.opens(reviewer=None)
    for name in ("e1", "e2", "e3"):
        driver.reads(name)
    driver.checks()
    for name in ("e1", "e2", "office"):
        with pytest.raises(
            InputError, match="is not a member of the commission without a part in the"
        ):
            driver.approves(name)
    with pytest.raises(InputError, match="was not inspected for labels, ethics"):
        driver.approves("zoe", inspected=("sufficiency", "heterogeneity"))
    with pytest.raises(InputError, match="rejects it without a reason"):
        driver.approves("zoe", False)
    driver.approves("zoe")
    with pytest.raises(InputError, match="was approved before"):
        driver.approves("zoe", False, comment="after all")


@pytest.mark.parametrize(
    ("years", "trainings", "message"),
    [
        (9.5, (TRAINED,), "has 9.5 years of reading. The workflow asks for at least 10"),
        (10, (), "has no training on record. Add when, about what and by whom"),
    ],
)
def test_experts_of_the_itu_have_ten_years_and_a_training(years, trainings, message) -> None:
    with pytest.raises(InputError, match=message) as refused:
        Workflow(experts(years, trainings), small_cases("a"), ITU)
    assert len(refused.value.problems) == 3  # not of the office, nor of the commission


def test_cases_without_findings_are_reviewed_too(driver: WorkflowDriver) -> None:
    in_review(driver, cases=("a", "b"))
    assert (driver.batch.state, driver.batch.unfinished) == ("review", ["a", "b"])
    with pytest.raises(InputError, match="'release' is a step of 'arbitration'"):
        driver.releases("judge1")
    driver.finishes("lead2")
    assert (driver.batch.state, driver.batch.unfinished) == ("review", ["b"])
    driver.finishes("lead2", "b")
    assert driver.batch.state == "arbitration"
    driver.releases("judge1")
    assert driver.batch.nodules == []
    assert [event.change for event in driver.store.read() if event.step == "finish"] == [
        "review finished"
    ] * 2


def test_the_reviewer_adds_what_every_reader_missed_and_an_arbitrator_decides(
    driver: WorkflowDriver,
) -> None:
    in_review(driver, SHARED)
    driver.reviews("lead2", "candidate-1", True)
    driver.adds("lead2", MISSED)
    key = ("a", "candidate-2")
    assert driver.batch.unreviewed == []
    assert sentences(driver.batch.dispute(key)) == ("added by 'lead2'; no reader drew it",)
    driver.finishes("lead2")
    assert driver.batch.state == "arbitration"
    assert driver.batch.open_disputes == [key]
    assert driver.is_shown("r1") == [("candidate-1", 1, ())]
    assert driver.is_shown("judge1") == [("candidate-1", 1, ()), ("candidate-2", 2, (5, 6))]
    with pytest.raises(InputError, match=r"has 1 open dispute: a candidate-2"):
        driver.releases("judge1")
    driver.rules("judge1", "candidate-2", True, "part_solid")
    driver.releases("judge1")
    assert driver.batch.nodules == [("a", "candidate-1"), key]
    assert driver.batch.nodule_type(key) == "part_solid"
    assert driver.batch.candidates[key].reader_ids == ("lead2",)
    (event,) = (event for event in driver.store.read() if event.step == "add")
    assert (event.person, event.case_id) == ("lead2", "a")
    assert event.change == "candidate-2 added, solid, on 2 slices"
    assert event.payload["finding"]["slices"][1]["slice_index"] == 6


def test_what_an_arbitrator_does_not_accept_is_not_added(driver: WorkflowDriver) -> None:
    in_review(driver)
    driver.adds("lead2", MISSED)
    driver.finishes("lead2")
    driver.rules("judge1", "candidate-1", False)
    driver.releases("judge1")
    assert driver.batch.nodules == []


CORRECTED = (drawn("x", (3, 51, 50, 6), (4, 51, 50, 6))).slices


def corrects(
    driver: WorkflowDriver, actor: str, name="candidate-1", slices=CORRECTED, comment="too wide"
) -> None:
    driver.act(
        actor,
        CorrectOutline(
            batch_id="b1", case_id="a", candidate_id=name, slices=slices, comment=comment
        ),
    )


def test_the_reviewer_corrects_an_outline_and_every_version_is_stored(
    driver: WorkflowDriver,
) -> None:
    in_review(driver, SHARED)
    key = ("a", "candidate-1")
    assert driver.batch.corrected(key) is None
    corrects(driver, "lead2", slices=SHARED.slices, comment="")
    corrects(driver, "lead2")
    with pytest.raises(InputError, match="already has this outline"):
        corrects(driver, "lead2")
    assert [correction.by for correction in driver.batch.corrections[key]] == ["lead2", "lead2"]
    last = driver.batch.corrected(key)
    assert last is not None
    assert last.step.slices == CORRECTED
    assert driver.batch.readings["a", "r1"].findings == (SHARED,)
    assert driver.batch.dispute(key) == ()
    driver.reviews("lead2", "candidate-1", True)
    driver.finishes("lead2")
    changes = [event.change for event in driver.store.read() if event.step == "correct"]
    assert changes == [
        "candidate-1 corrected on 1 slices",
        "candidate-1 corrected on 2 slices: too wide",
    ]


def test_an_arbitrator_corrects_what_is_in_dispute_and_nothing_else(driver: WorkflowDriver) -> None:
    in_review(driver, SHARED, LONE)
    for name, agrees in (("candidate-1", False), ("candidate-2", True)):
        driver.reviews("lead2", name, agrees)
    driver.finishes("lead2")
    corrects(driver, "judge1")
    with pytest.raises(InputError, match="'candidate-2': is not in dispute, or is settled"):
        corrects(driver, "judge1", "candidate-2", LONE.slices)
    with pytest.raises(InputError, match="'lead2' is not an arbitrator"):
        corrects(driver, "lead2")
    driver.rules("judge1", "candidate-1", True, "solid")
    with pytest.raises(InputError, match="'candidate-1': is not in dispute, or is settled"):
        corrects(driver, "judge1")


@pytest.mark.parametrize(
    ("actor", "name", "slices", "what"),
    [
        ("lead1", "candidate-1", CORRECTED, "'lead1' is not the reviewer 'lead2'"),
        ("r1", "candidate-1", CORRECTED, "'r1' is not the reviewer 'lead2'"),
        ("lead2", "candidate-9", CORRECTED, "'candidate-9': is not among the candidates"),
        (
            "lead2",
            "candidate-1",
            LONE.slices,
            "'candidate-1': has a correction at another position",
        ),
        ("lead2", "candidate-1", drawn("x", (40, 50, 50, 8)).slices, "slice 40: is outside the im"),
        ("lead2", "candidate-1", CORRECTED * 2, "slice 3: occurs more than once"),
    ],
)
def test_a_correction_that_cannot_be_changes_nothing(
    driver: WorkflowDriver, actor: str, name: str, slices, what: str
) -> None:
    in_review(driver, SHARED)
    before = driver.store.read()
    with pytest.raises(InputError) as refused:
        corrects(driver, actor, name, slices)
    assert what in str(refused.value)
    assert driver.store.read() == before


def test_a_finished_case_and_a_batch_that_is_read_are_not_corrected(driver: WorkflowDriver) -> None:
    in_review(driver, SHARED, cases=("a", "b"))
    driver.reviews("lead2", "candidate-1", True)
    driver.finishes("lead2")
    with pytest.raises(InputError, match="the review of its case is finished"):
        corrects(driver, "lead2")


def test_a_correction_is_a_step_of_review_or_arbitration(driver: WorkflowDriver) -> None:
    driver.opens()
    with pytest.raises(InputError, match="'correct' is a step of 'review' or 'arbitration'"):
        corrects(driver, "lead2")
