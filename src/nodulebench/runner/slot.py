"""A slot in which an algorithm reads one case after another in its sandbox."""

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
from nodulebench.runner.algorithms import Algorithm
from nodulebench.runner.case_input import PROFILES, write_case
from nodulebench.runner.case_output import WARNING_CODES, read_output
from nodulebench.runner.image_archive import mount_target
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
"""Interval of queries: an answer takes tens of milliseconds."""
_ANSWERS_S = 10.0


@dataclass
class CardMemory:
    """Observed memory use of some graphics cards."""

    peak_mb: float | None = None
    """Peak of all cards together; None: not known."""


@contextmanager
def watched_cards(cards: tuple[int, ...]) -> Iterator[CardMemory]:
    """Watch the memory of cards, which only this slot uses, until the context is left."""
    seen = CardMemory()
    if not cards:
        yield seen
        return
    ended = threading.Event()

    def poll() -> None:
        while True:
            used = used_mb(cards)
            if used is not None:
                seen.peak_mb = used if seen.peak_mb is None else max(seen.peak_mb, used)
            if ended.wait(ASKS_S):
                return

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def used_mb(cards: tuple[int, ...]) -> float | None:
    """Return the memory in use on cards, in MiB, from nvidia-smi; None: not known."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    asked = ["--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(  # noqa: S603
            [program, *asked, f"--id={','.join(map(str, cards))}"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_ANSWERS_S,
        )
        numbers = [float(line) for line in answer.stdout.split()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return sum(numbers) if len(numbers) == len(cards) else None


LARGEST_SIGNAL = 64
_NO_MARKS, _NO_SLICES = MARKS.empty(), MARK_SLICES.empty()


@dataclass(frozen=True, eq=False)
class CaseRun:
    """Outcome of one case."""

    state: str
    """One of ``RUN_STATES``."""
    why: Notice | None = None
    """Why it is not ok."""
    measured: JsonObject = field(default_factory=dict)
    """Columns of RUNS."""
    marks: pl.DataFrame = field(default_factory=_NO_MARKS.clone)
    slices: pl.DataFrame = field(default_factory=_NO_SLICES.clone)
    notices: tuple[Notice, ...] = ()
    output: str = ""
    """The first output of the program."""

    @property
    def is_unready(self) -> bool:
        return self.measured.get("startup_seconds") is not None and not self.measured.get("seconds")


@dataclass
class Slot:
    """A sandbox's scratch folder, and its program if that stays from case to case."""

    algorithm: Algorithm
    isolation: Isolation
    scratch: Scratch
    gpus: tuple[int, ...] = ()
    check_stop: Callable[[], object] = lambda: None
    """Called while a program runs; what it raises ends the program."""
    _stay: ExitStack = field(default_factory=ExitStack)
    _calls: Calls | None = None

    def read(self, volume: Volume, name: str) -> CaseRun:
        self.scratch.renew()
        write_case(volume, name, self.scratch.input, self.algorithm.run)
        with watched_cards(self.gpus) as memory:
            run = self._invoke() if self.algorithm.run.mode == "invoke" else self._execute()
        if self.gpus:
            run = replace(run, measured=run.measured | {"peak_gpu_mb": memory.peak_mb})
        return self._with_marks(run, volume, name) if run.state == "ok" else run

    def close(self) -> None:
        self._calls = None
        self._stay.close()

    def job(self) -> Job:
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
            root=None if image is None else self.scratch.reachable([Mount(image, "/")])[0].source,
            space=self.scratch.space,
        )

    def _execute(self) -> CaseRun:
        output, seconds = ProgramOutput(), self.algorithm.run.resources.timeout_s
        with self.isolation.start(self.job()) as running:
            ended = watch(running, seconds, output, self._is_over)
        self._require_no_fault(ended.exit_code, output.text)
        state, why = run_state_of(ended)
        return CaseRun(state, why, measured(ended), output=output.text)

    def _is_over(self) -> bool:
        self.check_stop()
        return self.scratch.is_over()

    def _require_no_fault(self, exit_code: int | None, output: str) -> None:
        fault = self.isolation.fault(exit_code, output)
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
        """Return the outcome of a call; a program with a bad answer is not called again."""
        if self._calls is None:
            raise AssertionError("the program was called")
        calls, code = self._calls, None
        is_well = answer.line in (DONE, READY) and answer.line is not None
        if answer.line is None and not (answer.is_late or answer.is_over_output):
            calls.running.kill()
            code = calls.running.process.returncode
            if problem.code == "run_not_ready":
                self._require_no_fault(code, calls.output.text)
        after = calls.running.usage()
        usage = replace(
            after,
            cpu_seconds=None
            if after.cpu_seconds is None or before.cpu_seconds is None
            else after.cpu_seconds - before.cpu_seconds,
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
        state, why = run_state_of(ended)
        if state == "ok" and not is_well:
            state, why = "failed", problem
        facts = measured(ended) | {"startup_seconds": startup}
        if problem.code == "run_not_ready":
            facts["seconds"] = None
        elif is_well:
            facts["exit_code"] = None  # it continues
        output = calls.output.text
        if state != "ok":
            self.close()
        return CaseRun(state, why, facts, output=output)

    def _with_marks(self, run: CaseRun, volume: Volume, name: str) -> CaseRun:
        taken = self.scratch.taken
        taken.mkdir(mode=0o700)
        try:
            most = self.scratch.output_bytes
            if not collect(self.scratch.output, taken, most):
                return replace(run, state="output_missing", why=Notice("output_missing"))
            is_dicom = self.algorithm.run.input == "dicom"
            images = self.scratch.input / "ct" if is_dicom else None
            output = read_output(taken, volume, name, images, self.algorithm.run)
        except OutputRejectedError as error:
            return replace(run, state="output_invalid", why=error.why)
        finally:
            self.scratch.discard(taken)
        if output.is_doubtful:
            run = replace(run, state=WARNING_CODES, why=Notice("run_lungs_implausible"))
        return replace(run, marks=output.marks, slices=output.slices, notices=output.notices)


@contextmanager
def open_slot(
    algorithm: Algorithm, isolation: Isolation, folder: Path, gpus: tuple[int, ...] = ()
) -> Iterator[Slot]:
    """Open a slot of this thread, in a new folder that is removed afterwards."""
    scratch = make_scratch(folder, algorithm.run.resources.output_mb * MIB, isolation)
    slot = Slot(algorithm, isolation, scratch, gpus)
    try:
        yield slot
    finally:
        slot.close()
        remove_scratch(scratch)


def run_state_of(ended: Ended) -> tuple[str, Notice | None]:
    """Return the state of a run from how its program ended; exceeded limits take precedence."""
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
    """Return how a program ended and what it used, as columns of RUNS."""
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
    """Return exit code or signal; a sandbox reports a signal as 128 plus its number."""
    code = ended.exit_code
    if code is not None and 128 < code <= 128 + LARGEST_SIGNAL:
        return None, code - 128
    return code, ended.signal


def _mb(count: int | None) -> float | None:
    return None if count is None else count / MIB
