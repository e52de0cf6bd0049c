"""A place where an algorithm reads one case after another: image -> how it went, its marks."""

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.tables import MARK_SLICES, MARKS
from nodulebench.imaging.volume import Volume
from nodulebench.io.untrusted_files import OutputRejectedError, collect
from nodulebench.runner.contract.algorithm import Algorithm
from nodulebench.runner.contract.image_archive import mount_target
from nodulebench.runner.contract.input import PROFILES, write_case
from nodulebench.runner.contract.output import WARNING_CODES, read_output
from nodulebench.runner.isolation.sandbox import MIB, Isolation, Job, Mount, Usage, limits_of
from nodulebench.runner.isolation.scratch import Scratch, make_scratch, remove_scratch
from nodulebench.runner.isolation.watch import (
    DONE,
    READY,
    Answer,
    Calls,
    Ended,
    ProgramOutput,
    calls_of,
    watch,
)

ASKS_S = 0.5
"""How often they are asked: an answer takes tens of milliseconds."""
_ANSWERS_S = 10.0


@dataclass
class CardMemory:
    """What was seen of the memory of some cards."""

    peak_mb: float | None = None
    """Of all of them together; None: nobody could tell."""


@contextmanager
def watched_cards(cards: tuple[int, ...]) -> Iterator[CardMemory]:
    """Look at the memory of cards until the context is left; they are nobody else's meanwhile."""
    seen = CardMemory()
    if not cards:
        yield seen
        return
    ended = threading.Event()

    def look() -> None:
        while True:
            used = used_mb(cards)
            if used is not None:
                seen.peak_mb = used if seen.peak_mb is None else max(seen.peak_mb, used)
            if ended.wait(ASKS_S):
                return

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def used_mb(cards: tuple[int, ...]) -> float | None:
    """The memory that is in use on cards, in MiB, as NVIDIA's program tells; None: it does not."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    asked = ["--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(  # noqa: S603
            [program, *asked, f"--id={','.join(map(str, cards))}"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_ANSWERS_S,
        )
        numbers = [float(line) for line in told.stdout.split()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return sum(numbers) if len(numbers) == len(cards) else None


LARGEST_SIGNAL = 64
_NO_MARKS, _NO_SLICES = MARKS.empty(), MARK_SLICES.empty()


@dataclass(frozen=True, eq=False)
class CaseRun:
    """What came of one case."""

    state: str
    """One of ``RUN_STATES``."""
    why: Notice | None = None
    """Why it is not ok."""
    measured: JsonObject = field(default_factory=dict)
    """Columns of RUNS."""
    marks: pl.DataFrame = field(default_factory=_NO_MARKS.clone)
    slices: pl.DataFrame = field(default_factory=_NO_SLICES.clone)
    notices: tuple[Notice, ...] = ()
    said: str = ""
    """The first of what the program said."""

    @property
    def is_unready(self) -> bool:
        """Whether a program that was to stay did not even become ready to read."""
        return self.measured.get("startup_seconds") is not None and not self.measured.get("seconds")


@dataclass
class Slot:
    """A sandbox's place, and the program in it where that stays from case to case."""

    algorithm: Algorithm
    isolation: Isolation
    scratch: Scratch
    gpus: tuple[int, ...] = ()
    look: Callable[[], object] = lambda: None
    """Called while a program runs; what it raises ends the program."""
    _stay: ExitStack = field(default_factory=ExitStack)
    _calls: Calls | None = None

    def read(self, volume: Volume, name: str) -> CaseRun:
        """Let the algorithm read an image, under a name that says nothing.

        Raises:
            OSError: if the image or the sandbox cannot be made: nothing that the algorithm did.
        """
        self.scratch.renew()
        write_case(volume, name, self.scratch.input, self.algorithm.run)
        with watched_cards(self.gpus) as memory:
            run = self._invoke() if self.algorithm.run.mode == "invoke" else self._execute()
        if self.gpus:
            run = replace(run, measured=run.measured | {"peak_gpu_mb": memory.peak_mb})
        return self._with_marks(run, volume, name) if run.state == "ok" else run

    def close(self) -> None:
        """End a program that stayed."""
        self._calls = None
        self._stay.close()

    def job(self) -> Job:
        """What is started."""
        run, profile = self.algorithm.run, PROFILES[self.algorithm.run.profile]
        image = self.algorithm.root
        mounts: tuple[Mount, ...] = (
            *self.algorithm.mounts,
            Mount(self.scratch.input, profile.input),
            Mount(self.scratch.output, profile.output, is_writable=True),
        )
        if image is not None:
            mounts = tuple(
                replace(each, target=mount_target(image, each.target)) for each in mounts
            )
        return Job(
            command=(*self.algorithm.command, *profile.arguments),
            mounts=self.scratch.reachable(mounts),
            limits=limits_of(run.resources, self.gpus),
            folder=self.algorithm.folder,
            environment=dict(self.algorithm.environment) | profile.environment,
            root=self._root(),
            space=self.scratch.space,
        )

    def _root(self) -> Path | None:
        if self.algorithm.root is None:
            return None
        return self.scratch.reachable([Mount(self.algorithm.root, "/")])[0].source

    def _execute(self) -> CaseRun:
        said, seconds = ProgramOutput(), self.algorithm.run.resources.timeout_s
        with self.isolation.start(self.job()) as running:
            ended = watch(running, seconds, said, self._is_over)
        self._refuse_fault(ended.exit_code, said.text)
        state, why = classify_end(ended)
        return CaseRun(state, why, measured(ended), said=said.text)

    def _is_over(self) -> bool:
        self.look()
        return self.scratch.is_over()

    def _refuse_fault(self, exit_code: int | None, said: str) -> None:
        fault = self.isolation.fault(exit_code, said)
        if fault:
            raise OSError(fault)

    def _invoke(self) -> CaseRun:
        resources, startup, before = self.algorithm.run.resources, None, Usage()
        if self._calls is None:
            running = self._stay.enter_context(self.isolation.start(self.job()))
            by_http = self.algorithm.run.profile == "grand-challenge"
            self._calls = self._stay.enter_context(calls_of(running, by_http=by_http))
            first = self._calls.answer(resources.startup_timeout_s, self._is_over)
            startup = first.seconds
            if first.line != READY:
                return self._ended(first, Usage(), startup, Notice("run_not_ready"))
        calls = self._calls
        before = calls.running.usage()
        answer = calls.call(resources.timeout_s, self._is_over)
        return self._ended(answer, before, startup, Notice("run_call_failed"))

    def _ended(
        self, answer: Answer, before: Usage, startup: float | None, problem: Notice
    ) -> CaseRun:
        """What came of a call; a program that did not answer well is not asked again."""
        if self._calls is None:
            raise AssertionError("it was just asked")
        calls, code = self._calls, None
        is_well = answer.line in (DONE, READY) and answer.line is not None
        if answer.line is None and not (answer.is_late or answer.is_over_output):
            calls.running.kill()
            code = calls.running.process.returncode
            if problem.code == "run_not_ready":
                self._refuse_fault(code, calls.said.text)
        after = calls.running.usage()
        usage = replace(
            after,
            cpu_seconds=_less(after.cpu_seconds, before.cpu_seconds),
            refused_forks=after.refused_forks - before.refused_forks,
            memory_kills=after.memory_kills - before.memory_kills,
        )
        ended = Ended(
            exit_code=0 if is_well else code if code is None or code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            seconds=answer.seconds,
            usage=usage,
            peak_anonymous_bytes=answer.peak_anonymous_bytes,
            is_late=answer.is_late,
            is_over_output=answer.is_over_output,
        )
        state, why = classify_end(ended)
        if state == "ok" and not is_well:
            state, why = "failed", problem
        facts = measured(ended) | {"startup_seconds": startup}
        if problem.code == "run_not_ready":
            facts["seconds"] = None
        elif is_well:
            facts["exit_code"] = None  # it goes on
        said = calls.said.text
        if state != "ok":
            self.close()
        return CaseRun(state, why, facts, said=said)

    def _with_marks(self, run: CaseRun, volume: Volume, name: str) -> CaseRun:
        taken = self.scratch.taken
        taken.mkdir(mode=0o700)
        try:
            most = self.scratch.output_bytes
            if not collect(self.scratch.output, taken, most):
                return replace(run, state="output_missing", why=Notice("output_missing"))
            is_dicom = self.algorithm.run.input == "dicom"
            images = self.scratch.input / "ct" if is_dicom else None
            found = read_output(taken, volume, name, images, self.algorithm.run)
        except OutputRejectedError as error:
            return replace(run, state="output_invalid", why=error.why)
        finally:
            self.scratch.discard(taken)
        if found.is_doubtful:
            run = replace(run, state=WARNING_CODES, why=Notice("run_lungs_implausible"))
        return replace(run, marks=found.marks, slices=found.slices, notices=found.notices)


@contextmanager
def open_slot(
    algorithm: Algorithm, isolation: Isolation, folder: Path, gpus: tuple[int, ...] = ()
) -> Iterator[Slot]:
    """A slot of this thread, in a folder that is not there yet and is gone afterwards."""
    scratch = make_scratch(folder, algorithm.run.resources.output_mb * MIB, isolation)
    slot = Slot(algorithm, isolation, scratch, gpus)
    try:
        yield slot
    finally:
        slot.close()
        remove_scratch(scratch)


def classify_end(ended: Ended) -> tuple[str, Notice | None]:
    """The state of a run by how its program ended; limits come first, whatever it said itself."""
    if ended.usage.memory_kills:
        return "out_of_memory", Notice("run_out_of_memory")
    if ended.usage.refused_forks:
        return "too_many_processes", Notice("run_too_many_processes")
    if ended.is_late:
        return "timed_out", Notice("run_timed_out", {"seconds": ended.seconds})
    if ended.is_over_output:
        return "output_invalid", Notice("output_large")
    if ended.exit_code == 0:
        return "ok", None
    code, signal = _ending(ended)
    if signal is not None:
        return "failed", Notice("run_signalled", {"signal": signal})
    return "failed", None if code is None else Notice("run_exited", {"exit_code": code})


def measured(ended: Ended) -> JsonObject:
    """How a program ended and what it used, as columns of RUNS."""
    code, signal = _ending(ended)
    usage = ended.usage
    return {
        "seconds": ended.seconds,
        "cpu_seconds": usage.cpu_seconds,
        "peak_memory_mb": _mb(usage.peak_bytes),
        "peak_anonymous_mb": _mb(ended.peak_anonymous_bytes),
        "exit_code": code,
        "signal": signal,
    }


def _ending(ended: Ended) -> tuple[int | None, int | None]:
    """Exit code or signal; a sandbox tells a signal as 128 and its number, as shells do."""
    code = ended.exit_code
    if code is not None and 128 < code <= 128 + LARGEST_SIGNAL:
        return None, code - 128
    return code, ended.signal


def _mb(count: int | None) -> float | None:
    return None if count is None else count / MIB


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other
