"""What a worker of a cluster does with a task: here in a thread of the test."""

import os
import pickle
import time
from typing import Any

import pytest

from builders.worker_tasks import behave, double, threads
from nodulebench.core.executor import DEFAULT_LIMITS, FailedTask, TaskLimits
from nodulebench.core.executors import dask_worker as carrier
from nodulebench.core.executors.dask_worker import (
    TRIMMING,
    carried,
    clear_bench,
    clear_idle,
    graphics_cards,
    packed_digest,
)
from nodulebench.core.executors.local import CARDS, packed_bytes


@pytest.fixture(autouse=True)
def _nothing_left() -> Any:
    yield
    clear_bench()
    assert carrier._BENCHES == {}
    assert set() == carrier._USED


def carry(
    function: Any, task: Any, terms: TaskLimits = DEFAULT_LIMITS, *, is_wanted: bool = True
) -> Any:
    packed = packed_bytes(function), packed_bytes(task)
    return pickle.loads(carried(*packed, terms, lambda: is_wanted))  # noqa: S301 - our own


def test_one_process_does_all_tasks_of_a_function_and_another_those_of_the_next() -> None:
    assert [carry(double, number) for number in (1, 2)] == [2, 4]
    (first,) = carrier._BENCHES.values()
    assert carry(double, 3) == 6
    assert list(carrier._BENCHES.values()) == [first]
    assert carry(behave, "a") == "A"
    assert list(carrier._BENCHES.values()) != [first]
    assert not first.worker.process.is_alive()


def test_a_task_that_ends_its_process_is_lost_only() -> None:
    assert carry(behave, "break") == FailedTask("died", 3)
    assert carry(behave, "b") == "B"


def test_a_task_that_takes_too_long_is_ended() -> None:
    assert carry(behave, "hang", TaskLimits(1.0)) == FailedTask("timed_out")


def test_a_task_that_no_one_waits_for_is_ended_long_before_its_time() -> None:
    begin = time.monotonic()
    assert carry(behave, "hang", is_wanted=False) == FailedTask("timed_out")
    assert time.monotonic() - begin < 600


def test_a_process_keeps_memory_as_usual_whatever_the_nanny_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(TRIMMING, "65536")
    assert carry(double, 1) == 2
    assert TRIMMING not in os.environ  # with which the server of the processes is begun


def test_a_process_sees_its_own_graphics_cards_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CARDS, "3,5,6")
    monkeypatch.setattr(carrier, "_USED", {3})
    assert carry(threads, CARDS, TaskLimits(gpus=2)) == "5,6"
    assert {3, 5, 6} == carrier._USED
    clear_bench()
    assert {3} == carrier._USED
    with pytest.raises(RuntimeError, match="3 graphics cards are asked for, 2 are free"):
        carry(threads, CARDS, TaskLimits(gpus=3))
    carrier._USED.clear()


def test_an_idle_process_goes_when_its_work_is_done_and_a_busy_one_stays() -> None:
    assert carry(double, 1) == 2
    (bench,) = carrier._BENCHES.values()
    clear_idle(packed_digest(packed_bytes(behave)))
    bench.is_busy = True
    clear_idle(packed_digest(packed_bytes(double)))
    assert list(carrier._BENCHES.values()) == [bench]
    bench.is_busy = False
    clear_idle(packed_digest(packed_bytes(double)))
    assert carrier._BENCHES == {}
    assert bench.worker.process.exitcode == 0  # by itself


def test_graphics_cards_are_those_that_are_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CARDS, "")
    assert graphics_cards() == ()
    monkeypatch.setenv(CARDS, "1, 4")
    assert graphics_cards() == (1, 4)
