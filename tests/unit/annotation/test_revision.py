"""A second reading with the marks of all before one, as in LIDC: blind before, open after."""

from dataclasses import replace

import pytest

from builders.annotation import LONE, SHARED, WorkflowDriver, drawn, reading, small_cases, two_teams
from nodulebench.annotation.actions import (
    LIDC,
    NIFDC,
    CheckBatch,
    ReleaseBatch,
    ReviseReading,
    WorkflowRules,
)
from nodulebench.annotation.people import PROGRAM
from nodulebench.annotation.workflow import Workflow, letter_of
from nodulebench.core.errors import InputError

MORE = drawn("h", (12, 70, 30, 6))
READERS = ("r1", "r2", "r3")


def made(revision: str = "case") -> WorkflowDriver:
    rules = LIDC.model_copy(update={"readers": 3, "revision": revision})
    driver = WorkflowDriver(Workflow(two_teams(), small_cases("a", "b"), rules))
    driver.opens(reviewer=None, cases=("a", "b"))
    return driver


@pytest.fixture
def driver() -> WorkflowDriver:
    return made()


def all_read(driver: WorkflowDriver, case: str) -> None:
    for reader, findings in zip(READERS, ((SHARED, LONE), (SHARED,), ()), strict=True):
        driver.reads(reader, *findings, case=case)


def revises(driver: WorkflowDriver, reader: str, *findings, case: str = "a") -> None:
    step = ReviseReading(batch_id="b1", reading=reading(reader, case, *findings))
    driver.act(reader, step)


def others(driver: WorkflowDriver, actor: str) -> list[tuple[str, int]]:
    """Case and number of findings of everything that a person sees of others."""
    seen = driver.workflow.seen_of_others(driver.batch, actor)
    assert not {reading.reader_id for reading in seen} & {*READERS}
    return sorted((reading.case_id, len(reading.findings)) for reading in seen)


def test_a_case_is_open_when_all_have_read_it_and_no_other(driver: WorkflowDriver) -> None:
    driver.reads("r1", SHARED, LONE)
    driver.reads("r2", SHARED)
    assert others(driver, "r1") == []
    with pytest.raises(InputError, match="is not read by all yet"):
        revises(driver, "r1", SHARED)
    driver.reads("r3")
    assert others(driver, "r1") == [("a", 0), ("a", 1)]
    assert others(driver, "r3") == [("a", 1), ("a", 2)]
    assert driver.sees("r1") == ["r1"]
    assert driver.batch.state == "reading"
    revises(driver, "r1", SHARED)
    with pytest.raises(InputError, match="case 'b': is not read by all yet"):
        revises(driver, "r1", case="b")


def test_with_batches_nothing_is_open_before_all_cases_are_read() -> None:
    driver = made("batch")
    all_read(driver, "a")
    assert others(driver, "r1") == []
    with pytest.raises(InputError, match="is not read by all yet"):
        revises(driver, "r1", SHARED)
    all_read(driver, "b")
    assert len(others(driver, "r1")) == 4
    revises(driver, "r1", SHARED)


def test_revisions_of_others_are_never_shown_and_both_phases_are_stored(
    driver: WorkflowDriver,
) -> None:
    all_read(driver, "a")
    revises(driver, "r1", SHARED)
    revises(driver, "r2", SHARED, MORE)
    assert others(driver, "r3") == [("a", 1), ("a", 2)]  # as they were read
    revises(driver, "r3", SHARED)
    batch = driver.batch
    assert [len(batch.readings["a", reader].findings) for reader in READERS] == [2, 1, 0]
    assert [len(batch.last_readings["a", reader].findings) for reader in READERS] == [1, 2, 1]
    with pytest.raises(InputError, match="'r1' has already revised it"):
        revises(driver, "r1", SHARED)


def test_only_readers_of_the_batch_see_and_revise(driver: WorkflowDriver) -> None:
    all_read(driver, "a")
    for stranger in ("r4", "lead2", "judge1", "office"):
        assert others(driver, stranger) == []
    with pytest.raises(InputError, match="'r4' is not one of its readers"):
        revises(driver, "r4")
    step = ReviseReading(batch_id="b1", reading=reading("r1", "a"))
    with pytest.raises(InputError, match="'r2' submits a reading of 'r1'"):
        driver.act("r2", step)


def test_what_was_revised_is_compared_and_released_without_a_consensus(
    driver: WorkflowDriver,
) -> None:
    for case in ("a", "b"):
        all_read(driver, case)
        assert driver.batch.state == ("reading" if case == "a" else "revision")
    for case in ("a", "b"):
        revises(driver, "r1", SHARED, case=case)
        revises(driver, "r2", SHARED, MORE, case=case)
        with pytest.raises(InputError, match="is in the state"):
            driver.act(PROGRAM, CheckBatch(batch_id="b1"))
        revises(driver, "r3", SHARED, case=case)
    driver.checks()
    batch = driver.batch
    seen = {
        key: len(candidate.reader_ids)
        for key, candidate in batch.candidates.items()
        if key[0] == "a"
    }
    assert seen == {("a", "candidate-1"): 3, ("a", "candidate-2"): 1}  # r1's lone one is gone
    assert batch.open_disputes == []
    assert batch.state == "arbitration"
    with pytest.raises(InputError, match="'r1' is not an organiser"):
        driver.act("r1", ReleaseBatch(batch_id="b1"))
    driver.act("office", ReleaseBatch(batch_id="b1"))
    assert len(driver.batch.nodules) == 4
    assert list(driver.workflow.replayed(driver.store.read())) == []


def test_workflows_without_it_have_no_second_reading() -> None:
    driver = WorkflowDriver(Workflow(two_teams(), small_cases("a"), NIFDC))
    driver.opens()
    for reader in READERS:
        driver.reads(reader, SHARED)
    assert others(driver, "r1") == []
    with pytest.raises(InputError, match="is a step of 'reading' or 'revision'"):
        revises(driver, "r1", SHARED)


def test_who_may_object_is_not_left_without_a_ruling() -> None:
    with pytest.raises(ValueError, match="needs arbitration"):
        WorkflowRules(has_review=True, has_arbitration=False)


def test_letters_cannot_be_derived_from_names() -> None:
    """Otherwise a person who knows the batch and its readers would know who drew what."""
    orders, batch = set(), made().batch
    for number in range(30):
        drawn_by = replace(batch, seeds=(f"{number:064x}",))
        letters = [letter_of(drawn_by, reader) for reader in READERS]
        assert sorted(letters) == ["A", "B", "C"]
        orders.add(tuple(letters))
    assert len(orders) == 6
