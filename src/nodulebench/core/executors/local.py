"""The local engine: tasks -> results from processes of this machine.

Processes are forked from a clean server, hold a limit on memory, and end with their parent; a task
that kills or stops its process counts as failed, and the others go on.
"""

import multiprocessing
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, TypeVar

from nodulebench.core.executor import DEFAULT_LIMITS, FailedTask, TaskLimits

Task = TypeVar("Task")
Result = TypeVar("Result")

FIRST = "nodulebench.core.executors.preload_single_thread"
"""What processes share before anything else."""
CARDS = "CUDA_VISIBLE_DEVICES"
LEAVE_S = 10.0
"""How long an idle process may take to tidy up."""


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """Processes of this machine."""

    workers: int = 2
    cards: tuple[int, ...] = ()
    """Graphics cards, which are shared out among the processes."""

    @property
    def is_here(self) -> bool:
        return True

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        terms: TaskLimits = DEFAULT_LIMITS,
    ) -> Iterator[tuple[int, Result | FailedTask]]:
        packed = packed_bytes(function)
        waiting = deque(range(len(tasks)))
        places = deque(range(min(self.workers, len(tasks))))
        busy: dict[object, Worker] = {}
        idle: list[Worker] = []
        try:
            while waiting or busy:
                while waiting and (idle or places):
                    worker = idle.pop() if idle else self._start(packed, terms, places.popleft())
                    number = waiting.popleft()
                    worker.give(number, packed_bytes(tasks[number]), terms.seconds)
                    busy[worker.connection] = worker
                nearest = min(worker.deadline for worker in busy.values()) - time.monotonic()
                there = [worker.connection for worker in busy.values()]
                for connection in wait(there, timeout=max(0.0, nearest)):
                    worker = busy.pop(connection)
                    answer = worker.taken()
                    if isinstance(answer, FailedTask):
                        places.append(worker.place)
                    else:
                        idle.append(worker)
                    yield (
                        worker.number,
                        answer if isinstance(answer, FailedTask) else pickle.loads(answer),  # noqa: S301
                    )
                now = time.monotonic()
                for worker in [worker for worker in busy.values() if worker.deadline <= now]:
                    del busy[worker.connection]
                    worker.end()
                    places.append(worker.place)
                    yield worker.number, FailedTask("timed_out")
        finally:
            for worker in idle:
                worker.leave()
            for worker in busy.values():
                worker.end()

    def _start(self, packed: bytes, terms: TaskLimits, place: int) -> "Worker":
        first = place * terms.gpus
        return Worker(packed, terms, self.cards[first : first + terms.gpus], place)


DEFAULT_EXECUTOR = LocalExecutor()


class Worker:
    """One process that has a function, and the task it is at."""

    def __init__(
        self, packed: bytes, terms: TaskLimits, cards: Sequence[int] = (), place: int = 0
    ) -> None:
        methods = multiprocessing.get_all_start_methods()
        way = "forkserver" if "forkserver" in methods else None
        context: Any = multiprocessing.get_context(way)
        if way is not None:
            context.set_forkserver_preload([FIRST, *terms.preload])
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(packed, theirs, terms.memory_bytes, tuple(cards)), daemon=True
        )
        self.process.start()
        theirs.close()
        self.place, self.number, self.deadline = place, 0, 0.0

    def give(self, number: int, task: bytes, seconds: float) -> None:
        self.number, self.deadline = number, time.monotonic() + seconds
        with suppress(OSError):  # dead already: noticed when the answer is read
            self.connection.send_bytes(task)

    def taken(self) -> bytes | FailedTask:
        """The answer, packed, which is there; a process that died is ended."""
        try:
            return bytes(self.connection.recv_bytes())
        except (EOFError, OSError):
            self.process.join()
            exit_code = self.process.exitcode
            self.end()
            return FailedTask("died", exit_code)

    def leave(self) -> None:
        """Let it end by itself, as it has nothing to do; soon, or it is stopped."""
        with suppress(OSError):  # dead already
            self.connection.send_bytes(b"")
        self.connection.close()
        self.process.join(LEAVE_S)
        self.end()

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


def packed_bytes(what: object) -> bytes:
    return bytes(ForkingPickler.dumps(what))


def _serve(
    packed: bytes, connection: Connection, memory_bytes: int | None, cards: tuple[int, ...]
) -> None:
    """Serve tasks until the parent is gone; output of libraries is discarded."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if memory_bytes is not None:
        _limit_memory(memory_bytes)
    if cards:
        os.environ[CARDS] = ",".join(map(str, cards))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):  # raw file names may occur in it
        os.dup2(nowhere, stream)
    function = pickle.loads(packed)  # noqa: S301 - from our parent
    with suppress(EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        while task := connection.recv_bytes():
            connection.send(function(pickle.loads(task)))  # noqa: S301 - from our parent


def _end_with_parent() -> None:
    """Wait until the parent is gone, then exit at once."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _limit_memory(most: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    within = most if hard == resource.RLIM_INFINITY else min(hard, most)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (within, hard))


LARGE = 1 << 20
"""Bytes from which sending costs more than reading."""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """Bytes that lie in memory until they are closed."""

    descriptor: int

    @property
    def path(self) -> Path:
        """Where processes of the same user read it."""
        return Path(f"/proc/{os.getpid()}/fd/{self.descriptor}")

    def close(self) -> None:
        os.close(self.descriptor)


def memory_file(content: bytes) -> MemoryFile | None:
    """Bytes as a file in memory; None if they are few, or this system has no such files."""
    if len(content) < LARGE or not hasattr(os, "memfd_create"):
        return None
    made = MemoryFile(os.memfd_create("nodulebench-task", os.MFD_CLOEXEC))
    with open(made.descriptor, "wb", closefd=False) as file:
        file.write(content)
    return made
