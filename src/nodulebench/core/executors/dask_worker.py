"""What a worker of a Dask cluster does: it carries packed tasks to a process of the local engine.

So a task has the same limits wherever it is done, and one that kills its process does not kill the
worker: the cluster tries again only what was lost with a worker or its machine. A task that no
client waits for any more, since its client went away, is ended.
"""

import hashlib
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from time import monotonic
from typing import TypeVar

from nodulebench.core.executor import FailedTask, TaskLimits
from nodulebench.core.executors.local import CARDS, Worker, packed_bytes

Task = TypeVar("Task")
Result = TypeVar("Result")

POLL_S = 0.5
"""How often it checks whether the client still waits."""
TRIMMING = "MALLOC_TRIM_THRESHOLD_"
"""Dask's nannies set it, so that every large array is new memory of the system: metrics of
many replicates took twice as long."""


@dataclass(slots=True)
class _Bench:
    """A process that is reused from task to task, and what it was made for."""

    packed: bytes
    terms: TaskLimits
    cards: tuple[int, ...]
    worker: Worker
    is_busy: bool = False


_BENCHES: dict[int, _Bench] = {}
"""By the thread of the Dask worker that carries to it."""
_USED: set[int] = set()
"""Graphics cards that belong to a bench."""
_LOCK = threading.Lock()


def carry(packed: bytes, task: bytes | Path, terms: TaskLimits) -> bytes:
    """Do a task, packed, by a function, packed; its result, or why it is lost, is packed too.

    A large task of the same machine is passed in a file.
    """
    given = task if isinstance(task, bytes) else task.read_bytes()
    return carried(packed, given, terms, _wanted())


def carried(packed: bytes, task: bytes, terms: TaskLimits, is_wanted: Callable[[], bool]) -> bytes:
    """As ``carry``; what is no longer wanted is ended."""
    bench = _bench(packed, terms)
    bench.is_busy = True
    try:
        return _carried(bench.worker, task, terms, is_wanted)
    finally:
        bench.is_busy = False


def _carried(
    worker: Worker, task: bytes, terms: TaskLimits, is_wanted: Callable[[], bool]
) -> bytes:
    worker.give(0, task, terms.seconds)
    while not wait([worker.connection], timeout=min(POLL_S, max(0.0, _left(worker)))):
        if _left(worker) <= 0 or not is_wanted():
            clear_bench()
            return packed_bytes(FailedTask("timed_out"))
    answer = worker.taken()
    if isinstance(answer, FailedTask):
        clear_bench()
        return packed_bytes(answer)
    return answer


def in_folder(folder: str, function: Callable[[Task], Result], task: Task) -> Result:
    """Call a function in the folder of the client, so that relative paths mean the same."""
    with suppress(OSError):  # not there: whole paths may be
        os.chdir(folder)
    return function(task)


def version() -> str:
    """Of this package, where a worker is."""
    return str(sys.modules[__name__.partition(".")[0]].__version__)


def clear_bench() -> None:
    """End the process that this thread carries to, if there is one."""
    bench = _BENCHES.pop(threading.get_ident(), None)
    if bench is not None:
        bench.worker.end()
        with _LOCK:
            _USED.difference_update(bench.cards)


def clear_idle(digest: str) -> None:
    """Let the idle processes of a function, packed, of this worker tidy up and go."""
    for thread, bench in list(_BENCHES.items()):
        if not bench.is_busy and packed_digest(bench.packed) == digest:
            _BENCHES.pop(thread, None)
            bench.worker.leave()
            with _LOCK:
                _USED.difference_update(bench.cards)


def packed_digest(packed: bytes) -> str:
    return hashlib.sha256(packed).hexdigest()


def graphics_cards() -> tuple[int, ...]:
    cards = os.environ.get(CARDS)
    if cards is not None:
        return tuple(int(number) for number in cards.split(",") if number.strip().isdigit())
    names = (path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia[0-9]*"))
    return tuple(sorted(int(name) for name in names if name.isdigit()))


def _left(worker: Worker) -> float:
    return worker.deadline - monotonic()


def _bench(packed: bytes, terms: TaskLimits) -> _Bench:
    bench = _BENCHES.get(threading.get_ident())
    if bench is not None and (bench.packed, bench.terms) == (packed, terms):
        return bench
    clear_bench()
    # a worker below a nanny may not have children otherwise; they always end with it
    multiprocessing.process.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    with _LOCK:
        free = [card for card in graphics_cards() if card not in _USED]
        if len(free) < terms.gpus:
            raise RuntimeError(f"{terms.gpus} graphics cards are asked for, {len(free)} are free")
        cards = tuple(free[: terms.gpus])
        _USED.update(cards)
    os.environ.pop(TRIMMING, None)
    made = _Bench(packed, terms, cards, Worker(packed, terms, cards))
    _BENCHES[threading.get_ident()] = made
    return made


def _wanted() -> Callable[[], bool]:
    """Whether the task that this thread of a Dask worker is at is still waited for."""
    from distributed import get_worker
    from distributed.utils import thread_state  # type: ignore[attr-defined]

    worker, key = get_worker(), thread_state.key

    def is_wanted() -> bool:
        known = worker.state.tasks.get(key)
        return known is not None and known.state != "cancelled"

    return is_wanted
