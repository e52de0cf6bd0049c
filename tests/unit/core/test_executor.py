"""What every engine is asked through: order, batches, and why a task is lost."""

import random

from builders.worker_tasks import double
from nodulebench.core.executor import IN_PROCESS, FailedTask, in_order, map_in_batches
from nodulebench.i18n.translator import in_english


def test_here_tasks_are_done_one_after_another_when_they_are_asked_for() -> None:
    done: list[int] = []
    names = IN_PROCESS.map(done.append, [3, 1, 2])
    assert done == []
    assert next(names) == (0, None)
    assert done == [3]
    assert [number for number, _ in names] == [1, 2]
    assert (IN_PROCESS.workers, IN_PROCESS.is_here) == (1, True)


def test_results_come_in_the_order_of_their_numbers_whatever_order_they_came_in() -> None:
    for seed in range(20):
        numbers = list(range(30))
        random.Random(seed).shuffle(numbers)
        assert list(in_order((number, -number) for number in numbers)) == [
            (index, -index) for index in range(30)
        ]


def test_a_result_in_order_does_not_wait_for_later_ones() -> None:
    coming = iter([(1, "b"), (0, "a"), (2, "c")])
    ordered = in_order(coming)
    assert [next(ordered), next(ordered)] == [(0, "a"), (1, "b")]
    assert next(coming) == (2, "c")


def test_batches_give_each_task_its_own_number() -> None:
    for size in (1, 2, 3, 7, 9):
        values = dict(map_in_batches(IN_PROCESS, double, list(range(7)), size=size))
        assert values == {number: 2 * number for number in range(7)}


def test_why_a_task_is_lost_is_reported_in_words() -> None:
    assert in_english(FailedTask("died", -9).why) == (
        "the process that read it ended with exit code -9"
    )
    assert in_english(FailedTask("timed_out").why) == "the process that read it did not end in time"
    assert in_english(FailedTask("gone").why) == "every process or machine that read it was lost"
