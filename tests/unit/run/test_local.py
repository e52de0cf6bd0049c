import sys
import time

import pytest

from builders.worker_tasks import behave, double, memory_limit, threads
from nodulebench.language import english
from nodulebench.run.local import MOST_MEMORY_BYTES, Lost, work, work_in_batches


def test_every_task_has_its_result_whatever_the_number_of_workers():
    for processes in (1, 3):
        found = dict(work(double, list(range(20)), processes=processes))
        assert found == {number: 2 * number for number in range(20)}


def test_nothing_to_do_starts_nothing():
    assert list(work(double, [])) == []


def test_a_task_that_ends_its_worker_is_lost_and_the_rest_is_done():
    found = dict(work(behave, ["a", "die", "b", "break", "c"], processes=2))
    assert [found[number] for number in (0, 2, 4)] == ["A", "B", "C"]
    assert found[1] == Lost("died", -9)
    assert found[3] == Lost("died", 3)


def test_a_task_that_takes_too_long_is_lost():
    start = time.monotonic()
    found = dict(work(behave, ["hang", "a"], processes=1, seconds=10.0))
    assert found == {0: Lost("timed_out"), 1: "A"}
    assert time.monotonic() - start < 50


def test_of_a_lost_batch_only_the_cause_stays_lost():
    found = dict(work_in_batches(behave, ["a", "die", "b", "c", "d"], size=2, processes=2))
    assert found == {0: "A", 1: Lost("died", -9), 2: "B", 3: "C", 4: "D"}


def test_a_task_that_hangs_its_batch_has_its_own_time_when_it_is_given_again():
    tasks = ["hang", "a"]
    found = dict(work_in_batches(behave, tasks, size=2, seconds=8.0, seconds_alone=6.0))
    assert found == {0: Lost("timed_out"), 1: "A"}


def test_a_task_that_wants_too_much_memory_does_not_get_it():
    found = dict(work(behave, ["eat", "a"], processes=1))
    assert found == {0: Lost("died", 1), 1: "A"}


def test_a_worker_computes_on_one_core():
    assert dict(work(threads, ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"])) == {0: "1", 1: "1"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no such limit")
def test_a_worker_holds_the_limit_on_memory_whatever_the_machine_has():
    import resource

    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = MOST_MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(hard, MOST_MEMORY_BYTES)
    assert dict(work(memory_limit, [None])) == {0: most}
    assert 4 << 30 <= MOST_MEMORY_BYTES <= 16 << 30


def test_why_a_task_is_lost_is_told_in_words():
    assert english(Lost("died", -9).why) == "its reader died (exit -9)"
    assert english(Lost("timed_out").why) == "its reader did not come to an end in time"
