"""Tasks -> results from worker processes; a task that kills or stops its worker is told as lost.

Workers are forked from a clean server process, hold a limit on memory, and end with their parent.
"""

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Literal, TypeVar

from nodulebench.model.notice import Notice

Task = TypeVar("Task")
Result = TypeVar("Result")

MOST_MEMORY_BYTES = 6 << 30
"""Address space of a worker: a damaged file that asks for more is refused."""
FIRST = "nodulebench.run.one_thread"
"""What workers share before anything else."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A task without result, and why."""

    cause: Literal["died", "timed_out"]
    exit_code: int | None = None
    """Of the worker that died; below 0: the signal that ended it."""

    @property
    def why(self) -> Notice:
        """The cause, to be told."""
        if self.cause == "timed_out":
            return Notice("reader_timed_out")
        return Notice("reader_died", {"exit_code": self.exit_code})


class _Worker(Generic[Task, Result]):
    """One process and the task it is at."""

    def __init__(self, function: Callable[[Task], Result], context: Any) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(function, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.number: int | None = None
        self.deadline = 0.0

    def give(self, number: int, task: Task, seconds: float) -> None:
        self.number, self.deadline = number, time.monotonic() + seconds
        self.connection.send(task)

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


def work(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    processes: int = 2,
    seconds: float = 600.0,
    preload: Sequence[str] = (),
) -> Iterator[tuple[int, Result | Lost]]:
    """Run a function on tasks; yield the number of each task with its result, as they come.

    Args:
        function: a function of a module, so that workers can import it.
        tasks: what it is called with.
        processes: how many workers.
        seconds: how long a task may take.
        preload: modules that the workers share.
    """
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else None)
    if "forkserver" in methods:
        context.set_forkserver_preload([FIRST, *preload])
    waiting = deque(range(len(tasks)))
    workers: list[_Worker[Task, Result]] = []
    try:
        while waiting or any(one.number is not None for one in workers):
            for one in workers:
                if one.number is None and waiting:
                    number = waiting.popleft()
                    one.give(number, tasks[number], seconds)
            while waiting and len(workers) < processes:
                fresh: _Worker[Task, Result] = _Worker(function, context)
                workers.append(fresh)
                number = waiting.popleft()
                fresh.give(number, tasks[number], seconds)
            yield from _arrived(workers)
    finally:
        for one in workers:
            one.end()


def work_in_batches(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    size: int,
    seconds_alone: float = 600.0,
    **how: Any,
) -> Iterator[tuple[int, Result | Lost]]:
    """Run a function on tasks as ``work`` does, but give a worker so many of them at once.

    Tasks of a batch that is lost are given again, one at a time: only the cause is lost then.

    Args:
        function: a function of a module.
        tasks: what it is called with.
        size: how many tasks a batch has.
        seconds_alone: how long a task may take that is given again.
        how: what ``work`` takes besides; ``seconds`` are those of a batch.
    """
    batches = [tasks[first : first + size] for first in range(0, len(tasks), size)]
    lost: list[int] = []
    for number, answers in work(partial(_each, function), batches, **how):
        if isinstance(answers, Lost):
            lost += range(number * size, number * size + len(batches[number]))
        else:
            yield from enumerate(answers, number * size)
    again = work(function, [tasks[one] for one in lost], **how | {"seconds": seconds_alone})
    yield from ((lost[place], result) for place, result in again)


def _each(function: Callable[[Task], Result], batch: Sequence[Task]) -> list[Result]:
    return [function(task) for task in batch]


def _arrived(workers: list[_Worker[Task, Result]]) -> Iterator[tuple[int, Result | Lost]]:
    """The results that are there; workers that died or take too long are removed."""
    busy = {one.connection: one for one in workers if one.number is not None}
    nearest = min(one.deadline for one in busy.values()) - time.monotonic()
    ready = wait(list(busy), timeout=max(0.0, nearest))
    for connection in ready:
        one = busy[connection]
        number = one.number
        if number is None:
            raise AssertionError("an idle worker has nothing to say")
        try:
            result = one.connection.recv()
        except (EOFError, OSError):
            one.process.join()
            exit_code = one.process.exitcode
            workers.remove(one)
            one.end()
            yield number, Lost("died", exit_code)
            continue
        one.number = None
        yield number, result
    now = time.monotonic()
    for one in [one for one in workers if one.number is not None and one.deadline <= now]:
        workers.remove(one)
        one.end()
        number = one.number
        if number is not None:
            yield number, Lost("timed_out")


def _serve(function: Callable[[Any], Any], connection: Connection) -> None:
    """What a worker does until its parent is gone; what libraries print there reaches nobody."""
    _limit_memory()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):  # raw names of files may stand in it
        os.dup2(nowhere, stream)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        while True:
            connection.send(function(connection.recv()))


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MOST_MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(hard, MOST_MEMORY_BYTES)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
