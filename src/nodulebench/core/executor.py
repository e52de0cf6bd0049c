"""Executor: many tasks -> their results as they finish, or why one has none.

Stages and workflows are given an engine and never ask where it works. A task is known by its
number: results come in any order, and callers reduce them by number, so that every executor
with any number of workers gives the same to the last bit.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class FailedTask:
    """A task without result, and why."""

    cause: Literal["died", "timed_out", "gone"]
    """Its process died, took too long, or was lost with its machine as often as is tried."""
    exit_code: int | None = None
    """Of the process that died; below 0: the signal that ended it."""

    @property
    def why(self) -> Notice:
        if self.cause == "died":
            return Notice("reader_died", {"exit_code": self.exit_code})
        return Notice("reader_timed_out" if self.cause == "timed_out" else "reader_gone")


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """Under which every task of some work is done."""

    seconds: float = 600.0
    """How long a task may take."""
    memory_bytes: int | None = 6 << 30
    """Address space of a process: a damaged file that asks for more is refused. None: any."""
    gpus: int = 0
    """The graphics cards reserved for it; its process sees no others."""
    preload: tuple[str, ...] = ()
    """Modules that processes may share."""


DEFAULT_LIMITS = TaskLimits()


class Executor(Protocol):
    """What does tasks, several at a time."""

    @property
    def workers(self) -> int:
        """How many tasks are done at a time."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether all is done on this machine, with its files."""
        ...

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        terms: TaskLimits = DEFAULT_LIMITS,
    ) -> Iterator[tuple[int, Result | FailedTask]]:
        """Call a function with tasks; give the number of each with its result, as they come.

        Closing the iterator ends the tasks that still run.

        Args:
            function: one of a module, or a ``partial`` of it: others import it.
            tasks: what it is called with; each is looked up when its turn comes.
            terms: what holds for each of them.
        """
        ...


@dataclass(frozen=True, slots=True)
class InProcessExecutor:
    """One task after another in this very process, so that an error or a kill ends it, too."""

    workers: int = field(default=1, init=False)
    is_here: bool = field(default=True, init=False)

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        terms: TaskLimits = DEFAULT_LIMITS,  # noqa: ARG002 - no limits in this process
    ) -> Iterator[tuple[int, Result | FailedTask]]:
        yield from enumerate(map(function, tasks))


IN_PROCESS = InProcessExecutor()


@dataclass(frozen=True, slots=True)
class ExecutorChoice:
    """Which executor was asked for."""

    name: str = "local"
    """``local``; ``dask``, or ``dask://HOST:PORT``; ``slurm``."""
    workers: int | None = None
    """How many tasks at a time; None: as the command has it."""
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def is_ours(self) -> bool:
        """Whether the workers are processes of the command itself."""
        return self.name in ("local", "dask")


@contextmanager
def open_executor(
    choice: ExecutorChoice, workers: int, *, is_guarded: bool = False, gpus: int = 0
) -> Iterator[Executor]:
    """The engine that was asked for.

    Args:
        choice: which one.
        workers: how many tasks run at a time if not stated.
        is_guarded: whether a task might kill the process that does it, which must not be this one.
        gpus: graphics cards that a task needs.
    """
    count = choice.workers or workers
    if choice.name == "local":
        if count == 1 and not is_guarded:
            yield IN_PROCESS
            return
        from nodulebench.core.executors.local import LocalExecutor

        yield LocalExecutor(count)
        return
    if choice.name == "slurm":
        from nodulebench.core.executors.slurm import open_slurm

        with open_slurm(count, gpus) as executor:
            yield executor
        return
    if choice.name != "dask" and not choice.name.startswith("dask://"):
        remedy = "There are local, dask, dask://HOST:PORT and slurm."
        raise InputError.at(f"--executor {choice.name}", "is not an executor.", remedy)
    from nodulebench.core.executors.dask import open_cluster

    if choice.name != "dask" and choice.workers is not None:
        what = "is of a cluster that has its own workers."
        raise InputError.at("--workers", what, "Leave it out.")
    with open_cluster(choice, count, gpus) as executor:
        yield executor


def in_order(found: Iterable[tuple[int, Result]]) -> Iterator[tuple[int, Result]]:
    """Numbered results in the order of their numbers, each as soon as it may."""
    early: dict[int, Result] = {}
    following = 0
    for number, result in found:
        early[number] = result
        while following in early:
            yield following, early.pop(following)
            following += 1


def map_in_batches(
    executor: Executor,
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    size: int,
    seconds_again: float = 600.0,
    terms: TaskLimits = DEFAULT_LIMITS,
) -> Iterator[tuple[int, Result | FailedTask]]:
    """Like an executor's ``map``, but with several tasks in one call.

    Tasks of a batch that failed run again one by one, so that only the cause fails.
    """
    batches = [tasks[first : first + size] for first in range(0, len(tasks), size)]
    lost: list[int] = []
    for number, answers in executor.map(partial(_each, function), batches, terms):
        if isinstance(answers, FailedTask):
            lost += range(number * size, number * size + len(batches[number]))
        else:
            yield from enumerate(answers, number * size)
    limits = replace(terms, seconds=seconds_again)
    for place, result in executor.map(function, [tasks[failed] for failed in lost], limits):
        yield lost[place], result


def _each(function: Callable[[Task], Result], batch: Sequence[Task]) -> list[Result]:
    return [function(task) for task in batch]


Progress = Callable[[str, int, int], object]
"""``progress(what, done, of)``; ``of`` is 0 if the total is not known."""


def no_progress(_what: str, _done: int, _of: int) -> None:
    """Ignore progress."""
