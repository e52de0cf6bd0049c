"""Run an algorithm on cases, in threads that watch sandboxed programs.

A program that dies affects no other case; only failures of our infrastructure are retried.
"""

import hashlib
import hmac
import multiprocessing.util
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from nodulebench.core.errors import InputError, NoduleBenchError, first_line
from nodulebench.core.executor import Executor, FailedTask, TaskLimits
from nodulebench.core.executors.dask_worker import graphics_cards
from nodulebench.core.notices import Notice
from nodulebench.i18n.translator import in_english
from nodulebench.imaging.volume import Volume
from nodulebench.io.images.case_images import read_case
from nodulebench.runner.algorithms import Algorithm, unpacked
from nodulebench.runner.isolation.sandbox import Isolation
from nodulebench.runner.isolation.scratch import scratch_folder
from nodulebench.runner.isolation.self_test import choose_isolation
from nodulebench.runner.slot import CaseRun, Slot, open_slot

MOST_ATTEMPTS = 2
MOST_FAILED_STARTS = 3
"""Number of consecutive cases without a start of the program after which the run is stopped."""

Images = Callable[[str], AbstractContextManager[Volume]]


@dataclass(frozen=True, slots=True)
class OpaqueCase:
    """A case with its pseudonym for the algorithm."""

    case_id: str
    name: str


def opaque_cases(case_ids: Sequence[str], secret: bytes) -> list[OpaqueCase]:
    """Return the cases under pseudonyms and in an order that disclose nothing."""

    def code(case_id: str, use: str) -> str:
        return hmac.new(secret, f"{use} {case_id}".encode(), hashlib.sha256).hexdigest()

    shuffled = sorted(case_ids, key=lambda case_id: code(case_id, "order"))
    return [OpaqueCase(case_id, f"case-{code(case_id, 'name')[:16]}") for case_id in shuffled]


@dataclass(frozen=True)
class Work:
    """State shared by the threads of a run."""

    algorithm: Algorithm
    isolation: Isolation
    images: Images
    folder: Path
    """For the folders of the sandboxes; users inside a sandbox can traverse it."""
    repeats: int
    waiting: "queue.SimpleQueue[OpaqueCase]" = field(default_factory=queue.SimpleQueue)
    done: "queue.SimpleQueue[tuple[OpaqueCase, CaseRun] | BaseException | None]" = field(
        default_factory=queue.SimpleQueue
    )
    stopped: threading.Event = field(default_factory=threading.Event)


def run_cases(
    algorithm: Algorithm,
    isolation: Isolation,
    cases: Sequence[OpaqueCase],
    images: Images,
    folder: Path,
    *,
    slots: int = 1,
    repeats: int = 1,
    gpus: Sequence[tuple[int, ...]] = (),
) -> Iterator[tuple[OpaqueCase, CaseRun]]:
    """Run an algorithm on cases; yield the outcome of each when it ends."""
    work = Work(algorithm, isolation, images, folder, repeats)
    for case in cases:
        work.waiting.put(case)
    threads = [
        threading.Thread(target=_serve, args=(work, number, tuple(gpus[number : number + 1])))
        for number in range(min(slots, len(cases)))
    ]
    for thread in threads:
        thread.start()
    try:
        yield from while_it_starts(algorithm, _arriving(work, len(threads)))
    finally:
        work.stopped.set()
        for thread in threads:
            thread.join()


def _arriving(work: Work, serving: int) -> Iterator[tuple[OpaqueCase, CaseRun]]:
    while serving:
        arrived = work.done.get()
        if arrived is None:
            serving -= 1
        elif isinstance(arrived, BaseException):
            raise arrived
        else:
            yield arrived


def while_it_starts(
    algorithm: Algorithm, runs: Iterator[tuple[OpaqueCase, CaseRun]]
) -> Iterator[tuple[OpaqueCase, CaseRun]]:
    """Yield outcomes until ``MOST_FAILED_STARTS`` consecutive starts of the program failed."""
    failed_starts = 0
    for case, run in runs:
        yield case, run
        failed_starts = failed_starts + 1 if run.is_unready else 0
        if failed_starts == MOST_FAILED_STARTS:
            what = f"did not start {failed_starts} times in a row; the run was stopped."
            raise InputError.at(algorithm.name, what, "Try it with: nodulebench algorithm check")


class _StoppedError(Exception):
    """The run was stopped."""


def _serve(work: Work, number: int, gpus: tuple[tuple[int, ...], ...]) -> None:
    cards = gpus[0] if gpus else ()
    try:
        with open_slot(
            work.algorithm, work.isolation, work.folder / f"slot-{number}", cards
        ) as slot:
            slot.check_stop = partial(end_if, work.stopped)
            while not work.stopped.is_set():
                try:
                    case = work.waiting.get_nowait()
                except queue.Empty:
                    break
                work.done.put((case, read_case_run(work, slot, case)))
    except _StoppedError:
        pass
    except BaseException as error:  # after any error the run must not wait for this thread
        work.done.put(error)
    finally:
        work.done.put(None)


def end_if(stopped: threading.Event) -> None:
    """End a running program when the run was stopped; called while it runs."""
    if stopped.is_set():
        raise _StoppedError


def read_case_run(work: Work, slot: Slot, case: OpaqueCase) -> CaseRun:
    """Return the outcome of a case; failures of our infrastructure are retried."""
    for attempt in range(1, MOST_ATTEMPTS + 1):
        try:
            with work.images(case.case_id) as volume:
                runs = [slot.read(volume, case.name)]
                while runs[0].state == "ok" and len(runs) < work.repeats:
                    runs.append(slot.read(volume, case.name))
            run = _compared(runs)
        except (OSError, NoduleBenchError) as error:
            with suppress(OSError):
                slot.close()
            why = Notice("run_infrastructure", {"problem": first_line(error)})
            run = CaseRun("infrastructure", why)
        run = replace(run, measured=run.measured | {"attempts": attempt})
        if run.state != "infrastructure" or work.stopped.is_set():
            break
    return run


def _compared(runs: Sequence[CaseRun]) -> CaseRun:
    """Return the first of several runs on a case, with whether the others gave the same marks."""
    first, *others = runs
    if not others:
        return first
    seconds = [run.measured["seconds"] for run in runs if run.state == "ok"]
    is_same = all(
        run.state == "ok" and run.marks.equals(first.marks) and run.slices.equals(first.slices)
        for run in others
    )
    repeated = {
        "repeats": len(runs),
        "is_reproduced": is_same,
        "seconds_spread": max(seconds) - min(seconds),
    }
    return replace(first, measured=first.measured | repeated)


Result = TypeVar("Result")


@dataclass(frozen=True)
class SlotWorker:
    """A slot, and the thread that owns its mounts."""

    slot: Slot
    thread: ThreadPoolExecutor

    def do(self, work: Callable[[Slot], Result]) -> Result:
        return self.thread.submit(work, self.slot).result()


@contextmanager
def open_slot_worker(
    algorithm: Algorithm, isolation: str, gpus: tuple[int, ...] = ()
) -> Iterator[SlotWorker]:
    """Open a slot in its own thread, where an algorithm reads one case after another."""
    stopped = threading.Event()
    with ThreadPoolExecutor(1) as thread, scratch_folder() as folder:
        sandboxes, _ = choose_isolation(isolation, folder)
        opened = open_slot(unpacked(algorithm, folder), sandboxes, folder / "slot", gpus)
        slot = thread.submit(opened.__enter__).result()
        slot.check_stop = partial(end_if, stopped)
        try:
            yield SlotWorker(slot, thread)
        finally:
            stopped.set()  # ends a program that still runs, for example after an interrupt
            thread.submit(opened.__exit__, None, None, None).result()


PREPARING_S = 600.0
"""Time to unpack an image, to test the isolation and to read the image of a case."""

_OPEN = ExitStack()
_SLOT_WORKERS: dict[tuple[str, str], SlotWorker] = {}
"""Slots of this process, by algorithm and isolation."""


@dataclass(frozen=True)
class CaseTask:
    """A case for a worker process."""

    algorithm: Algorithm
    isolation: str
    case: OpaqueCase
    image: Path | OSError | NoduleBenchError
    """Path of the image, or why it is not available."""
    repeats: int


@dataclass(frozen=True)
class _Tasks(Sequence[CaseTask]):
    """Tasks whose images are fetched only when they start."""

    algorithm: Algorithm
    isolation: str
    cases: Sequence[OpaqueCase]
    take: Callable[[str], Path]
    repeats: int

    def __len__(self) -> int:
        return len(self.cases)

    def __getitem__(self, number: Any) -> Any:
        case = self.cases[number]
        image: Path | OSError | NoduleBenchError
        try:
            image = self.take(case.case_id)
        except (OSError, NoduleBenchError) as error:
            image = error
        return CaseTask(self.algorithm, self.isolation, case, image, self.repeats)


def run_cases_by(
    executor: Executor,
    algorithm: Algorithm,
    isolation: str,
    cases: Sequence[OpaqueCase],
    take: Callable[[str], Path],
    give_back: Callable[[str], object],
    *,
    repeats: int = 1,
) -> Iterator[tuple[OpaqueCase, CaseRun]]:
    """Run an algorithm on cases in workers; yield the outcome of each when it ends."""
    resources = algorithm.run.resources
    each = (resources.timeout_s + resources.startup_timeout_s) * repeats * MOST_ATTEMPTS
    terms = TaskLimits(PREPARING_S + each, memory_bytes=None, gpus=resources.gpus)
    tasks = _Tasks(algorithm, isolation, cases, take, repeats)

    def ended_runs() -> Iterator[tuple[OpaqueCase, CaseRun]]:
        for number, run in executor.map(run_task, tasks, terms):
            give_back(cases[number].case_id)
            if isinstance(run, NoduleBenchError):
                raise run
            if isinstance(run, FailedTask):
                why = Notice("run_infrastructure", {"problem": in_english(run.why)})
                run = CaseRun("infrastructure", why, {"attempts": MOST_ATTEMPTS})
            yield cases[number], run

    yield from while_it_starts(algorithm, ended_runs())


def run_task(task: CaseTask) -> CaseRun | NoduleBenchError:
    """Return the outcome of a case in a worker process, or why no case can run there."""
    key = (task.algorithm.digest, task.isolation)
    try:
        if key not in _SLOT_WORKERS:
            # a process that ends while idle removes its slots; after a killed process the next run
            # does
            multiprocessing.util.Finalize(None, clear_slot_workers, exitpriority=1)
            cards = graphics_cards() if task.algorithm.run.resources.gpus else ()
            worker = open_slot_worker(task.algorithm, task.isolation, cards)
            _SLOT_WORKERS[key] = _OPEN.enter_context(worker)
        return _SLOT_WORKERS[key].do(partial(_read, task))
    except NoduleBenchError as error:
        return error


def clear_slot_workers() -> None:
    _SLOT_WORKERS.clear()
    _OPEN.close()


def _read(task: CaseTask, slot: Slot) -> CaseRun:
    @contextmanager
    def image(_: str) -> Iterator[Volume]:
        if not isinstance(task.image, Path):
            raise task.image
        yield read_case(task.image)

    work = Work(slot.algorithm, slot.isolation, image, slot.scratch.folder, task.repeats)
    return read_case_run(work, slot, task.case)
