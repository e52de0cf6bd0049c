"""Bench: one command that writes, broken off and looked at.

Broken off in earnest, each run is a separate process. That takes a second, most of it to get
going; so all is tried first in one process that is warm: what the disk holds at every operation is
recorded in one run and put back for each kill, commands are called one after the other, and what
was seen to go well before is not tried again. What goes wrong there is tried again in earnest.
"""

import errno
import gc
import hashlib
import mmap
import os
import pickle
import random
import re
import resource
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from builders.broken_calls import exit_code, state
from builders.broken_jobs import Job
from builders.killed_sealing import WATCHED, in_child
from builders.power_cut import DiskState, Moment, Recorder

SIZES = (0, 40, 400, 4000, 40_000)
"""Bytes that a file may have on a disk that is nearly full."""
REASONS = ("No space left on device", "File too large")
"""What a message must say when the disk is full."""
KINDS = {
    "killed": ("killed",),
    "full": ("full", "files of bytes"),
    "power_cut": ("least", "names", "any"),
}
"""Ways to break off a command -> what is tried at every operation."""
LONGEST_S = 300
"""A command that takes longer waits for something that never comes."""
MOST_CUTS = 90
"""Moments at which the power is cut."""
RANDOM = re.compile(r"\.[0-9a-f]{16}(?=[-.])")
Try = tuple[str, int]
"""What is tried, and at which operation."""


@dataclass
class Outcome:
    """What came of all the broken runs of one job."""

    runs: int = 0
    lost: list[str] = field(default_factory=list)
    """What was there before is gone, and what is there is not whole."""
    stuck: list[str] = field(default_factory=list)
    """The command cannot be run again to the end."""
    doubled: list[str] = field(default_factory=list)
    """What is there in the end is not what one run makes."""
    unclear: list[str] = field(default_factory=list)
    """An error without the words that a user needs."""
    step: int = 1
    """How many operations lie between two tries."""

    @property
    def wrong(self) -> int:
        """How many errors were seen."""
        return sum(map(len, (self.lost, self.stuck, self.doubled, self.unclear)))

    def add(self, other: "Outcome") -> None:
        """Take in what came of further runs."""
        self.runs += other.runs
        for name in ("lost", "stuck", "doubled", "unclear"):
            getattr(self, name).extend(getattr(other, name))


class Watch:
    """Tells of every operation that changes files below a folder, once it was started."""

    def __init__(self) -> None:
        self.tell: Callable[[str], None] | None = None
        self.folder = ""
        self._is_started = False

    def start(self, folder: Path, tell: Callable[[str], None]) -> None:
        """Tell of operations in a folder from now on; a process cannot get rid of its watch."""
        self.folder, self.tell = str(folder), tell
        if not self._is_started:
            self._is_started = True
            sys.addaudithook(self._seen)

    def _seen(self, event: str, arguments: tuple[Any, ...]) -> None:
        tell = self.tell
        if tell is None or event not in WATCHED or not _writes(event, arguments):
            return
        if self.folder in os.path.abspath(str(arguments[0])):  # noqa: PTH100
            tell(event)


WATCH = Watch()


class Bench:
    """One job, what it starts from and what one good run of it makes."""

    def __init__(self, folder: Path, job: Job, *, is_warm: bool) -> None:
        self.folder, self.job, self.is_warm = folder, job, is_warm
        self.fresh, self.folder, self.output = (
            folder / "fresh",
            folder / "folder",
            folder / "output.txt",
        )
        self.good: list[str] = []
        self.moments: list[Moment] = []
        self.operations: list[Moment] = []
        self._checks = 0
        self._known: set[bytes] = set()
        self._checked: set[bytes] = set()

    def prepare(self) -> list[str]:
        """Make what the command needs, and run it once; which files there are then."""
        self.job.folder(self.fresh)
        for command in self.job.before:
            self._must(command, self.fresh)
        self.reset()
        self._must(self.job.command, self.folder, self.job.code)
        good = self.state()
        if self.job.check:
            self._must(self.job.check, self.folder)
        return good

    def _must(self, command: str, folder: Path, good: int = 0) -> None:
        code, output = self.ran(command, folder)
        if code != good:
            raise AssertionError(f"{command}: {output}")

    def state(self) -> list[str]:
        """The state of the folder, without what does not count."""
        return state(self.folder, self.job.uncounted)

    def reset(self) -> None:
        """Restore the folder as it is before the command."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.fresh, self.folder)

    def ran(self, command: str, folder: Path) -> tuple[int, str]:
        """How a command ended, and what it printed."""
        codes: list[int] = []

        def work() -> None:
            os.chdir(folder)
            signal.alarm(LONGEST_S)
            codes.append(exit_code(command))

        self._run(_new_file(self.output), work, codes)
        return codes[0], self.output.read_text(errors="replace")

    def _run(self, out: int, work: Callable[[], None], codes: list[int]) -> None:
        """Run something that adds its exit code, here or in a child process; it prints to a file.

        The child has its own process group, which a kill ends.
        """

        def run_in_group() -> None:
            os.setpgid(0, 0)
            _printing_to(out, work)
            os._exit(codes[0])

        if self.is_warm:
            _printing_to(out, work)
            signal.alarm(0)
        else:
            codes.append(in_child(run_in_group))
            os.close(out)

    def tries(self, how: str, step: int) -> tuple[Outcome, list[Try]]:
        """Break off the command in one way at operations; what went wrong in earnest, or may have.

        Args:
            how: one of ``KINDS``.
            step: how many operations lie between two tries; 0: as the job says, but for power cuts
                so many that there are ``MOST_CUTS``.
        """
        step = step or self.job.step
        if how == "power_cut":
            self.moments = self.recorded()
            step = max(step, -(-len(self.moments) // MOST_CUTS))
        elif self.is_warm and how == "killed":
            self.operations = self._seen_operations()
        outcome, suspects = Outcome(step=step), []
        for kind in KINDS[how]:
            for number in count(0, 1 if kind == "files of bytes" else outcome.step):
                tried = Outcome()
                if not self.attempt(tried, (kind, number)):
                    break
                if self.is_warm and tried.wrong:
                    suspects.append((kind, number))
                else:
                    outcome.add(tried)
        return outcome, suspects

    def attempt(self, outcome: Outcome, operation: Try) -> bool:
        """Break off the command once and check what is left; False: there is no such operation."""
        kind, number = operation
        if kind in KINDS["power_cut"] or (kind == "killed" and self.is_warm):
            seen = self.operations if kind == "killed" else self.moments
            if number >= len(seen):
                return False
            survivor = DiskState(
                seen[number], "all" if kind == "killed" else kind, random.Random(f"{operation}")
            )
            shutil.rmtree(self.folder, ignore_errors=True)
            survivor.put(self.folder)
            self.check_recovery(outcome, f"{number}: {survivor.where}")
            return True
        self.reset()
        if kind == "files of bytes":
            if number >= len(SIZES):
                return False
            code, output = self._limited(SIZES[number])
            if code:
                self._check_output(outcome, f"files of {SIZES[number]} bytes", code, output)
            return True
        code, output, is_reached = self._broken_at(kind, number)
        if not is_reached:
            return False
        if kind == "killed":
            self.check_recovery(outcome, f"killed at {number}")
        else:
            self._check_output(outcome, f"{kind} {number}", code, output)
        return True

    def check_recovery(self, outcome: Outcome, where: str) -> None:
        """Check what an interrupted run left, run the command again, and check again."""
        outcome.runs += 1
        whole = _digest(self.folder)
        if self.is_warm and whole in self._known:
            return
        is_there = any((self.folder / name).exists() for name in self.job.out.split())
        had = any((self.fresh / name).exists() for name in self.job.out.split())
        if had and not is_there:
            outcome.lost.append(f"{where}: what was there is gone")
        # of interrupted changes some are completed by who opens the set, some by the same command
        self._checks += 1
        if is_there and self.job.check and not (self.job.is_change and self._checks % 2):
            code, output = self._check()
            if code:
                outcome.lost.append(f"{where}: {output[-300:]}")
        if self.job.is_step and self.state() == self.good:
            return
        wrong = outcome.wrong
        self._run_again(outcome, where)
        if outcome.wrong == wrong:
            self._known.add(whole)

    def _check(self) -> tuple[int, str]:
        """How the check ends, and what it says."""
        whole = _digest(self.folder)
        if self.is_warm and whole in self._checked:
            return 0, ""
        code, output = self.ran(self.job.check, self.folder)
        if not code and _digest(self.folder) == whole:
            self._checked.add(whole)
        return code, output

    def _run_again(self, outcome: Outcome, where: str) -> None:
        code, output = self.ran(self.job.command, self.folder)
        if "Traceback" in output:
            outcome.unclear.append(f"{where}: {output[-300:]}")
        if self.job.check:
            wrong, why = self._check()
            if wrong:
                outcome.stuck.append(f"{where}: in the end {why[-300:]}")
        if self.state() != self.good:
            state, good = Counter(self.state()), Counter(self.good)
            why = f"{[*(state - good)]} for {[*(good - state)]}"
            kind = outcome.doubled if code == self.job.code else outcome.stuck
            kind.append(f"{where}: {why} {output[-300:]}")
        outs = self.job.out.split()
        for path in self.fresh.rglob("*"):
            name = path.relative_to(self.fresh)
            if path.is_file() and name.parts[0] not in outs:
                now = self.folder / name
                if not now.is_file() or now.read_bytes() != path.read_bytes():
                    outcome.lost.append(f"{where}: {name} was changed")

    def _check_output(self, outcome: Outcome, where: str, code: int, output: str) -> None:
        is_reported = "error:" in output and any(reason in output for reason in REASONS)
        if code != self.job.code and ("Traceback" in output or not is_reported):
            outcome.unclear.append(f"{where}: exit {code}: {output[-400:]}")
        self.check_recovery(outcome, where)

    def _broken_at(self, kind: str, operation: int) -> tuple[int, str, bool]:
        """Run the command, and let something happen at an operation on files of the folder.

        Returns:
            How the command ended, what it printed, and whether the operation was reached.
        """
        seen = mmap.mmap(-1, 8)  # shared with the processes that the command starts

        def tell(event: str) -> None:
            number = int.from_bytes(seen[:8])
            seen[:8] = (number + 1).to_bytes(8)
            is_freeing = event in ("os.remove", "os.rmdir")
            if kind == "killed" and number == operation:
                os.killpg(0, signal.SIGKILL)
            if kind == "full" and number >= operation and not is_freeing:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        code, output = self._watched(tell)
        return code, output, int.from_bytes(seen[:8]) > operation

    def _watched(self, tell: Callable[[str], None]) -> tuple[int, str]:
        """Run the command; ``tell`` is called before every operation."""
        codes: list[int] = []

        def work() -> None:
            os.chdir(self.folder)
            signal.alarm(LONGEST_S)
            WATCH.start(self.folder, tell)
            try:
                codes.append(exit_code(self.job.command))
            finally:
                WATCH.tell = None

        self._run(_new_file(self.output), work, codes)
        return codes[0], self.output.read_text(errors="replace")

    def _limited(self, size: int) -> tuple[int, str]:
        """Run the command where no file may grow beyond a size, nor that of what it prints."""
        reader, writer = os.pipe()
        for end in (reader, writer):
            os.set_blocking(end, False)
        codes: list[int] = []

        def work() -> None:
            os.chdir(self.folder)
            signal.alarm(LONGEST_S)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
            try:
                codes.append(exit_code(self.job.command))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        self._run(os.dup(writer), work, codes)
        os.close(writer)
        output = b""
        with suppress(BlockingIOError), os.fdopen(reader, "rb") as file:
            output = file.read() or b""
        return codes[0], output.decode(errors="replace")

    def _seen_operations(self) -> list[Moment]:
        """What the folder holds before every operation of the command."""
        self.reset()
        recorder = Recorder(self.folder)
        seen: list[Moment] = []

        def tell(event: str) -> None:
            WATCH.tell = None  # a snapshot is not an operation of the command
            seen.append(recorder.snapshot(event, seen[-1] if seen else None))
            WATCH.tell = tell

        code, output = self._watched(tell)
        if code != self.job.code:
            raise AssertionError(f"{self.job.command} fails while it is recorded: {output}")
        recorder.close()
        return seen

    def recorded(self) -> list[Moment]:
        """What a disk holds and is sure to keep, from one operation of the command to the next."""
        self.reset()
        recorder = Recorder(self.folder)
        record = self.folder / "record"
        codes: list[int] = []

        def work() -> None:
            os.chdir(self.folder)
            with recorder.watching():
                codes.append(exit_code(self.job.command))
            if not self.is_warm:
                record.write_bytes(pickle.dumps(recorder.moments))

        self._run(_new_file(self.output), work, codes)
        if codes[0] != self.job.code:
            raise AssertionError(f"{self.job.command} fails while it is recorded")
        if self.is_warm:
            return recorder.moments
        moments: list[Moment] = pickle.loads(record.read_bytes())  # noqa: S301 - written above
        return moments


def _new_file(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


def _printing_to(out: int, work: Callable[[], None]) -> None:
    """Do something while all that is printed goes to an open file, which is closed then."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.close(out)
    try:
        work()
    finally:
        with suppress(OSError):  # a pipe may be full
            sys.stdout.flush()
        with suppress(OSError):
            sys.stderr.flush()
        for number, old in enumerate(saved, start=1):
            os.dup2(old, number)
            os.close(old)


def _digest(folder: Path) -> bytes:
    """What a folder holds, in short; names that are drawn at random are all alike."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        content = path.read_bytes() if path.is_file() else b""
        name = RANDOM.sub(".#", path.relative_to(folder).as_posix())
        digest.update(f"{name}\n{len(content)}\n".encode() + content)
    return digest.digest()


def _writes(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an operation changes anything; files that are only read cannot be broken."""
    if event != "open":
        return True
    mode, flags = arguments[1], arguments[2]
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def settle_memory() -> None:
    """Keep what is in memory out of the way of processes that fork."""
    gc.collect()
    gc.freeze()
