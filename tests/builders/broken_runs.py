"""Commands that write, broken off in every way: killed, on a full disk, by a power cut.

A program of its own, because it forks: in a process that has used polars, forks wait for threads
that they do not have.

``python -m builders.broken_runs FOLDER JOB HOW [STEP]`` prints one line of JSON: how often the job
was broken off, and what was lost, stuck, doubled or not told clearly. HOW is one of

    killed      by the system, at one operation on files after the other
    full        by a disk without room, likewise, and then at several sizes of file
    power_cut   the disk keeps what it was told to keep, and any part of the rest

With STEP only every so many operations are tried.
"""

import errno
import json
import os
import random
import resource
import shlex
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# imported here, so that the forks need not
import nodulebench.workflows.compare.files
import nodulebench.workflows.custody.bundle
import nodulebench.workflows.custody.keys
import nodulebench.workflows.evaluate.files
import nodulebench.workflows.evaluate.write_report
import nodulebench.workflows.plan.freeze
import nodulebench.workflows.verify.verify  # noqa: F401
from builders.broken_jobs import CUSTODY, IMAGES, OPEN, PLAIN, Job, open_set, receive, state
from builders.killed_sealing import WATCHED, in_child
from builders.power_cut import Recorder
from nodulebench.cli import main as nodulebench_main

SIZES = (0, 40, 400, 4000, 40_000)
"""Bytes that a file may have on a disk that is nearly full."""
JOBS = {**PLAIN, **CUSTODY, **IMAGES}


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
    untold: list[str] = field(default_factory=list)
    """An error without the words that a user needs."""


def ran(command: str, folder: Path) -> tuple[int, str]:
    """How a command ended in a process of its own, and what it printed."""
    told = folder.parent / "told.txt"

    def work() -> None:
        os.chdir(folder)
        out = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        call(command)

    return in_child(work), told.read_text(errors="replace")


def call(command: str) -> None:
    """Run a command here; a failure leaves the process."""
    code = exit_code(command)
    sys.stdout.flush()
    sys.stderr.flush()
    if code:
        os._exit(code)


def exit_code(command: str) -> int:
    """How a command ends; ``receive`` is what a listener does, OPEN what all do with a set."""
    if command == "receive":
        return receive(Path("archive"), Path("received"))
    if command == OPEN:
        return open_set(Path("sealed"))
    try:
        nodulebench_main(shlex.split(command))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


class Bench:
    """One job, what it starts from and what one good run of it makes."""

    def __init__(self, folder: Path, job: Job) -> None:
        self.folder, self.job = folder, job
        self.fresh, self.desk = folder / "fresh", folder / "desk"
        if in_child(lambda: job.desk(self.fresh)):
            raise AssertionError("what the command needs could not be made")
        for command in job.before:
            self._must(command, self.fresh)
        self.reset()
        self._must(job.command, self.desk)
        self.good = self.state()
        self.inputs = {
            path.relative_to(self.fresh): path.read_bytes()
            for path in self.fresh.rglob("*")
            if path.is_file() and path.relative_to(self.fresh).parts[0] not in job.out.split()
        }

    def _must(self, command: str, folder: Path) -> None:
        code, told = ran(command, folder)
        if code:
            raise AssertionError(f"{command}: {told}")

    def state(self) -> list[str]:
        """What of the desk counts."""
        return state(self.desk, self.job.uncounted)

    def reset(self) -> None:
        """Put the desk as it is before the command."""
        shutil.rmtree(self.desk, ignore_errors=True)
        shutil.copytree(self.fresh, self.desk)

    def judge(self, outcome: Outcome, where: str) -> None:
        """Look at what a broken run left, run the command again, and look again."""
        outcome.runs += 1
        is_there = any((self.desk / name).exists() for name in self.job.out.split())
        had = any((self.fresh / name).exists() for name in self.job.out.split())
        if had and not is_there:
            outcome.lost.append(f"{where}: what was there is gone")
        # of interrupted changes some are completed by who opens the set, some by the same command
        if is_there and self.job.check and not (self.job.is_change and outcome.runs % 2):
            code, told = ran(self.job.check, self.desk)
            if code:
                outcome.lost.append(f"{where}: {told[-300:]}")
        if self.job.is_step and self.state() == self.good:
            return
        code, told = ran(self.job.command, self.desk)
        if "Traceback" in told:
            outcome.untold.append(f"{where}: {told[-300:]}")
        if self.job.check:
            wrong, why = ran(self.job.check, self.desk)
            if wrong:
                outcome.stuck.append(f"{where}: in the end {why[-300:]}")
        if self.state() != self.good:
            found, good = Counter(self.state()), Counter(self.good)
            why = f"{[*(found - good)]} for {[*(good - found)]}"
            (outcome.stuck if code else outcome.doubled).append(f"{where}: {why} {told[-300:]}")
        for name, content in self.inputs.items():
            if (self.desk / name).read_bytes() != content:
                outcome.lost.append(f"{where}: {name} was changed")

    def killed(self, step: int) -> Outcome:
        """Kill the command at one operation after the other."""
        outcome = Outcome()
        for operation in _numbers(step):
            self.reset()

            def kill() -> None:
                os.kill(os.getpid(), signal.SIGKILL)

            if self._broken_at(operation, kill)[0] != -signal.SIGKILL:
                return outcome
            self.judge(outcome, f"operation {operation}")
        return outcome

    def full(self, step: int) -> Outcome:
        """Let the disk be full at one operation after the other, and at several sizes of file."""

        def refuse() -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        outcome = Outcome()
        for operation in _numbers(step):
            self.reset()
            code, told, is_reached = self._broken_at(operation, refuse)
            if not is_reached:
                break
            self._judge_told(outcome, f"operation {operation}", code, told)
        for size in SIZES:
            self.reset()
            code, told = self._limited(size)
            if code:
                self._judge_told(outcome, f"files of {size} bytes", code, told)
        return outcome

    def _judge_told(self, outcome: Outcome, where: str, code: int, told: str) -> None:
        if code and ("Traceback" in told or "error:" not in told):
            outcome.untold.append(f"{where}: exit {code}: {told[-400:]}")
        self.judge(outcome, where)

    def _broken_at(self, operation: int, broken: Callable[[], None]) -> tuple[int, str, bool]:
        """Run the command, and let something happen at an operation on files of the desk."""
        left = operation
        mark, told = self.folder / "reached", self.folder / "told.txt"
        mark.unlink(missing_ok=True)

        def watch(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            if left < 0 or event not in WATCHED or not _writes(event, arguments):
                return
            if str(self.desk) in os.path.abspath(str(arguments[0])):  # noqa: PTH100
                left -= 1
                if left < 0:
                    os.close(os.open(mark, os.O_CREAT | os.O_WRONLY))
                    broken()

        def work() -> None:
            os.chdir(self.desk)
            out = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            sys.addaudithook(watch)
            call(self.job.command)

        code = in_child(work)
        return code, told.read_text(errors="replace"), mark.exists()

    def _limited(self, size: int) -> tuple[int, str]:
        told = self.folder / "told.txt"

        def work() -> None:
            os.chdir(self.desk)
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
            code = exit_code(self.job.command)
            sys.stdout.flush()
            sys.stderr.flush()
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            os.close(writer)
            os.set_blocking(reader, False)
            told.write_bytes(os.read(reader, 60_000) if code else b"")
            if code:
                os._exit(code)

        told.write_bytes(b"")
        code = in_child(work)
        return code, told.read_text(errors="replace")

    def power_cut(self, step: int) -> Outcome:
        """Cut the power at operations of the command, and start again from what the disk kept."""
        outcome = Outcome()
        self.reset()
        record = self.folder / "record"
        shutil.rmtree(record, ignore_errors=True)

        def work() -> None:
            os.chdir(self.desk)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            recorder = Recorder(self.desk)
            recorder.start()
            call(self.job.command)
            recorder.write(record)

        if in_child(work):
            raise AssertionError(f"{self.job.command} fails while it is recorded")
        for number, kept in enumerate(Recorder.kept(record, random.Random(0))):
            if number % step == 0:
                shutil.rmtree(self.desk)
                kept.put(self.desk)
                self.judge(outcome, kept.where)
        return outcome


def _numbers(step: int) -> Iterator[int]:
    return iter(range(0, 10_000, step))


def _writes(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an operation changes anything; files that are only read cannot be broken."""
    if event != "open":
        return True
    mode, flags = arguments[1], arguments[2]
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def main(folder: str, job: str, how: str, step: str = "1") -> None:
    """Run as a program."""
    bench = Bench(Path(folder), JOBS[job])
    outcome: Outcome = getattr(bench, how)(int(step))
    sys.stdout.write(json.dumps(outcome.__dict__))


if __name__ == "__main__":
    main(*sys.argv[1:])
