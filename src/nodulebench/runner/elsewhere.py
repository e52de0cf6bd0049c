"""An algorithm and cases -> what came of each, by an engine whose workers watch the programs.

A worker tests the walls itself before its first case, unpacks an image itself, and reads the image
of a case itself: what is sent is names and paths. It keeps its slot, and a program that stays, from
case to case.
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

from nodulebench.core.errors import NoduleBenchError
from nodulebench.core.executor import Engine, Lost, Terms
from nodulebench.core.executors.dask_worker import graphics_cards
from nodulebench.core.notices import Notice
from nodulebench.i18n.translator import english
from nodulebench.imaging.volume import Volume
from nodulebench.io.images.case_images import read_case
from nodulebench.runner.cases import MOST_ATTEMPTS, OpaqueCase, Work, read_case_run, while_it_starts
from nodulebench.runner.contract.algorithm import Algorithm
from nodulebench.runner.desk import Desk, open_desk
from nodulebench.runner.slot import CaseRun, Slot

PREPARING_S = 600.0
"""To unpack an image, to test the walls and to read the image."""

_OPEN = ExitStack()
_DESKS: dict[tuple[str, str], Desk] = {}
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
    resources = algorithm.run.resources
    each = (resources.timeout_s + resources.startup_timeout_s) * repeats * MOST_ATTEMPTS
    terms = Terms(PREPARING_S + each, memory_bytes=None, gpus=resources.gpus)
    tasks = _Tasks(algorithm, isolation, cases, take, repeats)

    def found() -> Iterator[tuple[OpaqueCase, CaseRun]]:
        for number, run in engine.map(run_task, tasks, terms):
            give_back(cases[number].case_id)
            if isinstance(run, NoduleBenchError):
                raise run
            if isinstance(run, Lost):
                why = Notice("run_infrastructure", {"problem": english(run.why)})
                run = CaseRun("infrastructure", why, {"attempts": MOST_ATTEMPTS})
            yield cases[number], run

    yield from while_it_starts(algorithm, found())


def run_task(task: CaseTask) -> CaseRun | NoduleBenchError:
    """What came of a case, in a process of an engine; or why none can be run there."""
    key = (task.algorithm.digest, task.isolation)
    try:
        if key not in _DESKS:
            # a process that is ended while it is idle takes its desk away; of one that is killed
            # the next run does
            multiprocessing.util.Finalize(None, clear_desks, exitpriority=1)
            cards = graphics_cards() if task.algorithm.run.resources.gpus else ()
            desk = open_desk(task.algorithm, task.isolation, cards)
            _DESKS[key] = _OPEN.enter_context(desk)
        return _DESKS[key].do(partial(_read, task))
    except NoduleBenchError as error:
        return error


def clear_desks() -> None:
    """Take away what this process has prepared."""
    _DESKS.clear()
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
