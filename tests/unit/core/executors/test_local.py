import os
import sys
import time

import pytest

from builders.worker_tasks import behave, double, memory_limit, threads
from nodulebench.core.executor import DEFAULT_LIMITS, FailedTask, TaskLimits, map_in_batches
from nodulebench.core.executors.local import LocalExecutor


def test_every_task_has_its_result_whatever_the_number_of_workers():
    for processes in (1, 3):
        values = dict(LocalExecutor(processes).map(double, list(range(20))))
        assert values == {number: 2 * number for number in range(20)}


def test_nothing_to_do_starts_nothing():
    assert list(LocalExecutor().map(double, [])) == []


def test_a_task_that_ends_its_worker_is_lost_and_the_rest_is_done():
    values = dict(LocalExecutor(2).map(behave, ["a", "die", "b", "break", "c"]))
    assert [values[number] for number in (0, 2, 4)] == ["A", "B", "C"]
    assert values[1] == FailedTask("died", -9)
    assert values[3] == FailedTask("died", 3)


@pytest.mark.slow
def test_a_task_that_takes_too_long_is_lost():
    start = time.monotonic()
    values = dict(LocalExecutor(1).map(behave, ["hang", "a"], TaskLimits(5.0)))
    assert values == {0: FailedTask("timed_out"), 1: "A"}
    assert time.monotonic() - start < 600


def test_of_a_lost_batch_only_the_cause_stays_lost():
    values = dict(map_in_batches(LocalExecutor(2), behave, ["a", "die", "b", "c", "d"], size=2))
    assert values == {0: "A", 1: FailedTask("died", -9), 2: "B", 3: "C", 4: "D"}


@pytest.mark.slow
def test_a_task_that_hangs_its_batch_has_its_own_time_when_it_is_given_again():
    tasks = ["hang", "a"]
    values = dict(
        map_in_batches(
            LocalExecutor(2), behave, tasks, size=2, seconds_again=4.0, terms=TaskLimits(5.0)
        )
    )
    assert values == {0: FailedTask("timed_out"), 1: "A"}


def test_a_task_that_wants_too_much_memory_does_not_get_it():
    values = dict(LocalExecutor(1).map(behave, ["eat", "a"]))
    assert values == {0: FailedTask("died", 1), 1: "A"}


def test_a_worker_computes_on_one_core_unless_the_environment_says_otherwise():
    names = ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"]
    expected = {number: os.environ.get(name, "1") for number, name in enumerate(names)}
    assert dict(LocalExecutor().map(threads, names)) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no such limit")
def test_a_worker_holds_the_limit_on_memory_whatever_the_machine_has():
    import resource

    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = (
        DEFAULT_LIMITS.memory_bytes
        if hard == resource.RLIM_INFINITY
        else min(hard, DEFAULT_LIMITS.memory_bytes)
    )
    assert dict(LocalExecutor().map(memory_limit, [None])) == {0: most}
    assert 4 << 30 <= DEFAULT_LIMITS.memory_bytes <= 16 << 30
