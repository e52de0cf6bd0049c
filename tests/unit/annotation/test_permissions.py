import re

import pytest

from builders.annotation import (
    LONE,
    MISSED,
    SHARED,
    WorkflowDriver,
    drawn,
    in_review,
    reading,
    small_cases,
    two_teams,
)
from nodulebench.annotation.actions import (
    ITU,
    NIFDC,
    CheckBatch,
    OpenBatch,
    ReleaseBatch,
    ReviewNodule,
    SubmitReading,
)
from nodulebench.annotation.workflow import Workflow
from nodulebench.core.errors import InputError


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
            "batch 'b1': case 'b' is not one of its 1 cases. Submit the reading to the batch",
        ),
        (
            lambda d: d.reads("r1", LONE),
            "batch 'b1': 'r1' has already submitted case 'a'. A reading cannot be changed.",
        ),
        (
            lambda d: d.reads("r2", drawn("x", (3, 300, 50, 8))),
            "reader 'r2' case 'a' finding 'x' slice 3: the outline is outside the image.",
        ),
        (
            lambda d: d.act("r2", SubmitReading(batch_id="b1", reading=reading("r3", "a", SHARED))),
            "batch 'b1': 'r2' submits a reading of 'r3'.",
        ),
        (
            lambda d: d.checks(),
            "batch 'b1': is in the state 'reading'; 'check' is a step of 'checking'.",
        ),
        (lambda d: d.opens(), "batch 'b1': was opened before. Choose another name."),
        (
            lambda d: d.act("r1", ReleaseBatch(batch_id="b9")),
            "batch 'b9': is not open. Open: b1.",
        ),
    ],
)
def test_what_is_wrong_is_reported_and_changes_nothing(
    driver: WorkflowDriver, step, what: str
) -> None:
    driver.opens()
    driver.reads("r1", SHARED)
    before = driver.store.read()
    with pytest.raises(InputError) as caught:
        step(driver)
    assert str(caught.value).startswith(what)
    assert driver.store.read() == before


@pytest.mark.parametrize(
    ("reviewer", "what"),
    [
        ("lead1", "'lead1' is in the team that reads it. A batch is reviewed by the leader of"),
        ("r1", "'r1' is in the team that reads it."),
        ("judge1", "'judge1' leads no team."),
        (None, "has no reviewer. Name the leader of another team."),
    ],
)
def test_only_the_leader_of_another_team_reviews(
    driver: WorkflowDriver, reviewer, what: str
) -> None:
    with pytest.raises(InputError) as caught:
        driver.opens(reviewer=reviewer)
    assert str(caught.value).startswith(f"batch 'b1': {what}")
    assert driver.store.read() == []


def test_who_has_not_drawn_a_nodule_cannot_type_it_nor_type_it_twice(
    driver: WorkflowDriver,
) -> None:
    driver.opens()
    driver.reads("r1", LONE, SHARED)
    driver.reads("r2")
    driver.reads("r3", SHARED)
    driver.checks()
    with pytest.raises(InputError, match="'r2' has not drawn it and cannot type it"):
        driver.types("r2", "candidate-1")
    driver.types("r1", "candidate-1")
    with pytest.raises(InputError, match="'r1' has typed it before"):
        driver.types("r1", "candidate-1")
    with pytest.raises(InputError, match="'candidate-7': is not among the candidates"):
        driver.types("r1", "candidate-7")


@pytest.mark.parametrize(
    ("actor", "changes", "what"),
    [
        ("r1", {}, "'r1' is not an organiser and cannot open it."),
        ("office", {"case_ids": ("z",)}, "case 'z' is not in the table of cases."),
        ("office", {"case_ids": ("a", "a")}, "case 'a' is listed more than once."),
        ("office", {"team_id": "three"}, "team 'three': is not known. Known: one, two."),
    ],
)
def test_a_batch_that_cannot_be_is_not_opened(
    driver: WorkflowDriver, actor, changes, what: str
) -> None:
    fields = {"batch_id": "b1", "team_id": "one", "case_ids": ("a",), "reviewer_id": "lead2"}
    with pytest.raises(InputError, match=re.escape(what)):
        driver.act(actor, OpenBatch(**fields | changes))
    assert driver.store.read() == []


def test_a_team_has_as_many_readers_as_the_workflow_wants() -> None:
    rules = NIFDC.model_copy(update={"readers": 4})
    driver = WorkflowDriver(Workflow(two_teams(), small_cases("a"), rules))
    with pytest.raises(InputError, match="one has 3 readers, not 4"):
        driver.opens()
    free = ITU.model_copy(update={"least_years": 0, "requires_training": False})
    itu = WorkflowDriver(Workflow(two_teams(), small_cases("a"), free))
    with pytest.raises(InputError, match="the workflow 'fg-ai4h' has no review"):
        itu.opens()
    order = OpenBatch(batch_id="b1", team_id="one", case_ids=("a",), commitment="0" * 64)
    with pytest.raises(InputError, match="the workflow 'fg-ai4h' has no review"):
        itu.act("office", order)


def test_review_and_arbitration_happen_once_by_those_who_may(driver: WorkflowDriver) -> None:
    driver.opens()
    driver.reads("r1", SHARED, LONE)
    driver.reads("r2", SHARED)
    driver.reads("r3", SHARED)
    with pytest.raises(InputError, match="'office' is not the program itself"):
        driver.act("office", CheckBatch(batch_id="b1"))
    driver.checks()
    driver.types("r2", "candidate-1")
    driver.types("r1", "candidate-2")
    with pytest.raises(InputError, match="'lead1' is not the reviewer 'lead2'"):
        driver.reviews("lead1", "candidate-1", True)
    driver.reviews("lead2", "candidate-1", True)
    with pytest.raises(InputError, match="was reviewed before"):
        driver.reviews("lead2", "candidate-1", False)
    driver.reviews("lead2", "candidate-2", True)
    driver.finishes("lead2")
    with pytest.raises(InputError, match="'lead2' is not an arbitrator who has not read"):
        driver.rules("lead2", "candidate-2", False)
    with pytest.raises(InputError, match="'r1' is not an arbitrator"):
        driver.releases("r1")
    with pytest.raises(InputError, match="'candidate-1': is not in dispute"):
        driver.rules("judge1", "candidate-1", False)
    driver.rules("judge1", "candidate-2", True, "solid")
    with pytest.raises(InputError, match="'candidate-2': was settled before"):
        driver.rules("judge2", "candidate-2", False)


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
            "batch 'b1' case 'a': a nodule is added without a type. Give its type.",
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
            lambda d: d.adds("lead2", drawn("drawn", (9, 90, 90, 4), type="solid")),
            "reader 'lead2' case 'a' finding 'drawn': occurs more than once.",
        ),
        (
            lambda d: d.adds("lead2", drawn("x", (3, 300, 50, 8), type="solid")),
            "reader 'lead2' case 'a' finding 'x' slice 3: the outline is outside the image.",
        ),
        (
            lambda d: d.finishes("lead2"),
            "batch 'b1' case 'a': is not reviewed yet: candidate-1. Review them first.",
        ),
        (
            lambda d: d.reviews("lead2", "candidate-2", True),
            "batch 'b1' case 'a' 'candidate-2': was added in the review; the arbitration decides",
        ),
    ],
)
def test_what_a_review_cannot_be_changes_nothing(driver: WorkflowDriver, step, what: str) -> None:
    in_review(driver, SHARED, cases=("a", "b"))
    driver.act(
        "lead2", ReviewNodule(batch_id="b1", case_id="b", candidate_id="candidate-1", agrees=True)
    )
    driver.finishes("lead2", "b")
    driver.adds("lead2", drawn("drawn", (2, 20, 20, 4), type="solid"))
    before = driver.store.read()
    with pytest.raises(InputError) as caught:
        step(driver)
    assert str(caught.value).startswith(what)
    assert driver.store.read() == before
