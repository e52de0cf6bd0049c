"""An algorithm and cases -> what came of each, by an engine whose workers watch the programs.

A worker tests the walls itself before its first case, unpacks an image itself, and reads the image
of a case itself: what is sent is names and paths.
"""

import multiprocessing.util
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from nodulebench.errors import NoduleBenchError
from nodulebench.formats.images.case_images import read_case
from nodulebench.imaging.volume import Volume
from nodulebench.language import english
from nodulebench.model.engine import Engine, Lost, Terms
from nodulebench.model.notice import Notice
from nodulebench.run.cases import MOST_ATTEMPTS, OpaqueCase, Work, read_case_run, while_it_starts
from nodulebench.run.contract.algorithm import Algorithm, unpacked
from nodulebench.run.engines.carrier import graphics_cards
from nodulebench.run.isolation.choose import choose_isolation
from nodulebench.run.isolation.sandbox import Isolation
from nodulebench.run.isolation.scratch import in_own_thread, scratch_folder
from nodulebench.run.slot import CaseRun, open_slot

CALLS_AT_ONCE = 8
"""Cases that a worker gets together where the program stays from case to case."""
PREPARING_S = 600.0
"""To unpack an image, to test the walls and to read the images."""


@dataclass(frozen=True)
class CaseTask:
    """Cases that one worker lets the algorithm read, one after another."""

    algorithm: Algorithm
    isolation: str
    cases: tuple[tuple[OpaqueCase, Path], ...]
    """With the image of each."""
    repeats: int


@dataclass(frozen=True)
class _Tasks(Sequence[CaseTask]):
    """Tasks whose images are taken when their turn comes."""

    algorithm: Algorithm
    isolation: str
    batches: Sequence[tuple[OpaqueCase, ...]]
    take: Callable[[str], Path]
    repeats: int

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, number: Any) -> Any:
        cases = tuple((one, self.take(one.case_id)) for one in self.batches[number])
        return CaseTask(self.algorithm, self.isolation, cases, self.repeats)


def run_cases_by(
    engine: Engine,
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
        engine: whose workers have the same files under the same paths.
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
    size = CALLS_AT_ONCE if algorithm.run.mode == "invoke" else 1
    batches = [tuple(cases[first : first + size]) for first in range(0, len(cases), size)]
    resources = algorithm.run.resources
    each = (resources.timeout_s + resources.startup_timeout_s) * repeats * MOST_ATTEMPTS
    terms = Terms(PREPARING_S + each * size, memory_bytes=None, gpus=resources.gpus)
    tasks = _Tasks(algorithm, isolation, batches, take, repeats)

    def found() -> Iterator[tuple[OpaqueCase, CaseRun]]:
        for number, runs in engine.map(run_task, tasks, terms):
            for case in batches[number]:
                give_back(case.case_id)
            if isinstance(runs, NoduleBenchError):
                raise runs
            if isinstance(runs, Lost):
                why = Notice("run_infrastructure", {"problem": english(runs.why)})
                lost = CaseRun("infrastructure", why, {"attempts": MOST_ATTEMPTS})
                runs = [lost] * len(batches[number])
            yield from zip(batches[number], runs, strict=True)

    yield from while_it_starts(algorithm, found())


def run_task(task: CaseTask) -> list[CaseRun] | NoduleBenchError:
    """What came of some cases, in a process of an engine; or why none can be run there."""
    try:
        return in_own_thread(partial(_run_here, task))
    except NoduleBenchError as error:
        return error


def _run_here(task: CaseTask) -> list[CaseRun]:
    desk = _desk(task)
    images = {case.case_id: path for case, path in task.cases}
    work = Work(
        desk.algorithm,
        desk.isolation,
        partial(_image, images),
        desk.folder,
        task.repeats,
        queue.SimpleQueue(),
        queue.SimpleQueue(),
        threading.Event(),
    )
    cards = graphics_cards() if desk.algorithm.run.resources.gpus else ()
    place = desk.folder / f"slot-{uuid4().hex}"
    with open_slot(desk.algorithm, desk.isolation, place, cards) as slot:
        return [read_case_run(work, slot, case) for case, _ in task.cases]


@dataclass(frozen=True)
class _Desk:
    """What a process has prepared for the cases of a run."""

    algorithm: Algorithm
    """With its image unpacked."""
    isolation: Isolation
    """Tested."""
    folder: Path


_DESKS: dict[tuple[str, str], _Desk] = {}


def _desk(task: CaseTask) -> _Desk:
    key = (task.algorithm.digest, task.isolation)
    if key not in _DESKS:
        stack = ExitStack()
        folder = stack.enter_context(scratch_folder())
        # a process that is ended while it is idle takes its folder away; of one that is killed the
        # next run does
        multiprocessing.util.Finalize(None, stack.close, exitpriority=1)
        isolation, _ = choose_isolation(task.isolation, folder)
        _DESKS[key] = _Desk(unpacked(task.algorithm, folder), isolation, folder)
    return _DESKS[key]


@contextmanager
def _image(images: dict[str, Path], case_id: str) -> Iterator[Volume]:
    yield read_case(images[case_id])
