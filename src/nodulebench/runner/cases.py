"""An algorithm and cases -> what came of each, by threads that watch sandboxed programs.

A program that dies takes nothing with it; only what was our fault is tried again.
"""

import hashlib
import hmac
import multiprocessing.util
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
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
from nodulebench.runner.contract.algorithm import Algorithm, unpacked
from nodulebench.runner.isolation.choose import choose_isolation
from nodulebench.runner.isolation.sandbox import Isolation
from nodulebench.runner.isolation.scratch import scratch_folder
from nodulebench.runner.slot import CaseRun, Slot, open_slot

MOST_ATTEMPTS = 2
MOST_FAILED_STARTS = 3
"""So many cases in a row on which a program does not even start, and the run is stopped."""

Images = Callable[[str], AbstractContextManager[Volume]]
"""The image of a case, there for as long as it is needed."""


@dataclass(frozen=True, slots=True)
class OpaqueCase:
    """A case, and what it is called where it is run."""

    case_id: str
    name: str


def opaque_cases(case_ids: Sequence[str], secret: bytes) -> list[OpaqueCase]:
    """The cases under names that say nothing, in an order that says nothing."""

    def code(case_id: str, use: str) -> str:
        return hmac.new(secret, f"{use} {case_id}".encode(), hashlib.sha256).hexdigest()

    shuffled = sorted(case_ids, key=lambda case_id: code(case_id, "order"))
    return [OpaqueCase(one, f"case-{code(one, 'name')[:16]}") for one in shuffled]


@dataclass(frozen=True)
class Work:
    """What the threads of a run share."""

    algorithm: Algorithm
    isolation: Isolation
    images: Images
    folder: Path
    """For the places of the sandboxes; whoever runs in them can come through it."""
    repeats: int
    waiting: "queue.SimpleQueue[OpaqueCase]"
    done: "queue.SimpleQueue[tuple[OpaqueCase, CaseRun] | BaseException | None]"
    stopped: threading.Event


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
    """Let an algorithm read cases; what came of each, as they end.

    Args:
        algorithm: what is run.
        isolation: the walls around it, tested before.
        cases: in the order in which they are given to it.
        images: the image of each.
        folder: where sandboxes may have their files.
        slots: cases at the same time.
        repeats: how often each case is read; the first time counts.
        gpus: for each slot the graphics cards that are its own.

    Raises:
        InputError: if the program does not start, time after time.
    """
    work = Work(
        algorithm,
        isolation,
        images,
        folder,
        repeats,
        queue.SimpleQueue(),
        queue.SimpleQueue(),
        threading.Event(),
    )
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
        found = work.done.get()
        if found is None:
            serving -= 1
        elif isinstance(found, BaseException):
            raise found
        else:
            yield found


def while_it_starts(
    algorithm: Algorithm, found: Iterator[tuple[OpaqueCase, CaseRun]]
) -> Iterator[tuple[OpaqueCase, CaseRun]]:
    """What came of cases, until it is plain that the program does not even start.

    Raises:
        InputError: after so many cases in a row.
    """
    failed_starts = 0
    for case, run in found:
        yield case, run
        failed_starts = failed_starts + 1 if run.is_unready else 0
        if failed_starts == MOST_FAILED_STARTS:
            raise InputError.at(
                algorithm.name,
                f"did not start {failed_starts} times in a row; the run was stopped.",
                "Try it with: nodulebench algorithm check",
            )


class _StoppedError(Exception):
    """Somebody stopped the run."""


def _serve(work: Work, number: int, gpus: tuple[tuple[int, ...], ...]) -> None:
    """Read cases until there are no more, in a slot of this thread."""
    cards = gpus[0] if gpus else ()
    try:
        with open_slot(
            work.algorithm, work.isolation, work.folder / f"slot-{number}", cards
        ) as slot:
            slot.look = partial(end_if, work.stopped)
            while not work.stopped.is_set():
                try:
                    case = work.waiting.get_nowait()
                except queue.Empty:
                    break
                work.done.put((case, read_case_run(work, slot, case)))
    except _StoppedError:
        pass
    except BaseException as error:  # whatever it is, the run must not wait for us
        work.done.put(error)
    finally:
        work.done.put(None)


def end_if(stopped: threading.Event) -> None:
    """Looked at while a program runs, which ends too when somebody stops the run.

    Raises:
        _StoppedError: if so.
    """
    if stopped.is_set():
        raise _StoppedError


def read_case_run(work: Work, slot: Slot, case: OpaqueCase) -> CaseRun:
    """What came of a case; what was our fault is tried again."""
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
    """The first of several runs on a case, with whether the others gave the same."""
    first, *others = runs
    if not others:
        return first
    seconds = [run.measured["seconds"] for run in runs if run.state == "ok"]
    is_same = all(
        run.state == "ok" and run.marks.equals(first.marks) and run.slices.equals(first.slices)
        for run in others
    )
    told = {
        "repeats": len(runs),
        "is_reproduced": is_same,
        "seconds_spread": max(seconds) - min(seconds),
    }
    return replace(first, measured=first.measured | told)


Result = TypeVar("Result")


@dataclass(frozen=True)
class SlotWorker:
    """A slot, and the thread whose mounts it lies in."""

    slot: Slot
    thread: ThreadPoolExecutor

    def do(self, work: Callable[[Slot], Result]) -> Result:
        """What some work gives that uses the slot."""
        return self.thread.submit(work, self.slot).result()


@contextmanager
def open_slot_worker(
    algorithm: Algorithm, isolation: str, gpus: tuple[int, ...] = ()
) -> Iterator[SlotWorker]:
    """A place where an algorithm reads one case after another, for as long as it is needed.

    Args:
        algorithm: what reads; an image as its archive.
        isolation: the name of the walls around it.
        gpus: the graphics cards that it may use.

    Raises:
        InputError: if a wall does not hold, or the archive is not the image that was declared.
    """
    stopped = threading.Event()
    with ThreadPoolExecutor(1) as thread, scratch_folder() as folder:
        walls, _ = choose_isolation(isolation, folder)
        opened = open_slot(unpacked(algorithm, folder), walls, folder / "slot", gpus)
        slot = thread.submit(opened.__enter__).result()
        slot.look = partial(end_if, stopped)
        try:
            yield SlotWorker(slot, thread)
        finally:
            stopped.set()  # what runs is ended, where somebody lost patience
            thread.submit(opened.__exit__, None, None, None).result()


PREPARING_S = 600.0
"""To unpack an image, to test the walls and to read the image."""

_OPEN = ExitStack()
_SLOT_WORKERS: dict[tuple[str, str], SlotWorker] = {}
"""Of this process, by the algorithm and the walls around it."""


@dataclass(frozen=True)
class CaseTask:
    """A case that a worker lets the algorithm read."""

    algorithm: Algorithm
    isolation: str
    case: OpaqueCase
    image: Path | OSError | NoduleBenchError
    """Where it is, or why it cannot be had."""
    repeats: int


@dataclass(frozen=True)
class _Tasks(Sequence[CaseTask]):
    """Tasks whose images are taken when their turn comes."""

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
    """Let an algorithm read cases; what came of each, as they end.

    Args:
        executor: whose workers have the same files under the same paths.
        algorithm: what is run; an image as its archive.
        isolation: the name of the walls around it, which every worker tests.
        cases: in the order in which they are given to it.
        take: where the image of a case is from now on.
        give_back: told that a case was read.
        repeats: how often each case is read; the first time counts.

    Raises:
        InputError: if the walls of a worker do not hold, or the program does not start, time after
            time.
    """
    resources = algorithm.run.resources
    each = (resources.timeout_s + resources.startup_timeout_s) * repeats * MOST_ATTEMPTS
    terms = TaskLimits(PREPARING_S + each, memory_bytes=None, gpus=resources.gpus)
    tasks = _Tasks(algorithm, isolation, cases, take, repeats)

    def found() -> Iterator[tuple[OpaqueCase, CaseRun]]:
        for number, run in executor.map(run_task, tasks, terms):
            give_back(cases[number].case_id)
            if isinstance(run, NoduleBenchError):
                raise run
            if isinstance(run, FailedTask):
                why = Notice("run_infrastructure", {"problem": in_english(run.why)})
                run = CaseRun("infrastructure", why, {"attempts": MOST_ATTEMPTS})
            yield cases[number], run

    yield from while_it_starts(algorithm, found())


def run_task(task: CaseTask) -> CaseRun | NoduleBenchError:
    """What came of a case, in a process of an engine; or why none can be run there."""
    key = (task.algorithm.digest, task.isolation)
    try:
        if key not in _SLOT_WORKERS:
            # a process that is ended while it is idle takes its desk away; of one that is killed
            # the next run does
            multiprocessing.util.Finalize(None, clear_slot_workers, exitpriority=1)
            cards = graphics_cards() if task.algorithm.run.resources.gpus else ()
            worker = open_slot_worker(task.algorithm, task.isolation, cards)
            _SLOT_WORKERS[key] = _OPEN.enter_context(worker)
        return _SLOT_WORKERS[key].do(partial(_read, task))
    except NoduleBenchError as error:
        return error


def clear_slot_workers() -> None:
    """Take away what this process has prepared."""
    _SLOT_WORKERS.clear()
    _OPEN.close()


def _read(task: CaseTask, slot: Slot) -> CaseRun:
    work = Work(
        slot.algorithm,
        slot.isolation,
        partial(_image, task.image),
        slot.scratch.folder,
        task.repeats,
        queue.SimpleQueue(),
        queue.SimpleQueue(),
        threading.Event(),
    )
    return read_case_run(work, slot, task.case)


@contextmanager
def _image(image: Path | OSError | NoduleBenchError, _: str) -> Iterator[Volume]:
    if not isinstance(image, Path):
        raise image
    yield read_case(image)
