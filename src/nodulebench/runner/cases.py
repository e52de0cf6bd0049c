"""An algorithm and cases -> what came of each, by threads that watch sandboxed programs.

A program that dies takes nothing with it; only what was our fault is tried again.
"""

import hashlib
import hmac
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from nodulebench.core.errors import InputError, NoduleBenchError, first_line
from nodulebench.core.notices import Notice
from nodulebench.imaging.volume import Volume
from nodulebench.runner.contract.algorithm import Algorithm
from nodulebench.runner.isolation.sandbox import Isolation
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
