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
from builders.killed_sealing import WATCHED, in_child
from builders.power_cut import Recorder
from nodulebench.cli import main as nodulebench_main
from nodulebench.storage.staging import UNFINISHED

COLUMNS = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
SCORED = "seriesuid,coordX,coordY,coordZ,probability\n"
CRITERIA = """
name = "acceptance"
[[criteria]]
figure = "recall"
rule = "luna16"
comparison = ">="
limit = 0.5
"""
DESIGN = 'name = "mine"\n[[rules]]\nname = "many"\nminimum_rows = 1\n'
EVALUATE = "evaluate {} --reference luna16 --bootstraps 10 --out result"
SIZES = (0, 40, 400, 4000, 40_000)
"""Bytes that a file may have on a disk that is nearly full."""


@dataclass(frozen=True)
class Job:
    """A command that writes, what has to be there before, and how its result is looked at."""

    command: str
    out: str
    before: tuple[str, ...] = ()
    check: str = ""
    """A command that ends well on a whole result, be it the old or the new one."""


JOBS = {
    "evaluate": Job(EVALUATE.format("mine.csv"), "result", (), "verify result"),
    "evaluate --force": Job(
        EVALUATE.format("other.csv --force"),
        "result",
        (EVALUATE.format("mine.csv"),),
        "verify result",
    ),
    "compare": Job(
        "compare result --baseline mine --bootstraps 10 --permutations 10",
        "result",
        (EVALUATE.format("mine.csv other.csv"),),
        "verify result",
    ),
    "report": Job(
        "report result --for developer --algorithm mine",
        "result",
        (EVALUATE.format("mine.csv"),),
        "verify result",
    ),
    "sign": Job(
        "sign result --key key.pem --by Laboratory",
        "result",
        (EVALUATE.format("mine.csv"), "sign --new-key key.pem"),
        "verify result",
    ),
    "sign anew": Job(
        "sign result --key key.pem --by Laboratory",
        "result",
        (
            EVALUATE.format("mine.csv"),
            "sign --new-key key.pem",
            "sign --new-key older.pem",
            "sign result --key older.pem --by Before",
        ),
        "verify result",
    ),
    "sign --new-key": Job("sign --new-key key.pem", "key.pem key.pub.pem"),
    "test-plan freeze": Job(
        "test-plan freeze --criteria criteria.toml --reference luna16 --out plan.json "
        "--bootstraps 10",
        "plan.json",
        (),
        "evaluate mine.csv --reference luna16 --plan plan.json",
    ),
    "bundle": Job("bundle luna16 --out bag", "bag", (), "verify bag"),
    "convert to a table": Job(
        "convert mine.csv mine.nifdc.csv --to luna16_csv --what marks", "mine.nifdc.csv"
    ),
    "convert to a folder": Job(
        "convert mine.csv folder --to submission_folder --what marks",
        "folder",
        (),
        "evaluate folder --reference luna16 --bootstraps 10",
    ),
    "combine": Job("combine mine.csv other.csv --reference luna16 --out both.csv", "both.csv"),
    "draw": Job(
        "draw pool.csv --design design.toml --count 2 --seed 1 --out drawn.csv", "drawn.csv"
    ),
    "coverage": Job("coverage luna16 --design design.toml --out composition", "composition"),
    "conformance export": Job("conformance export golden", "golden"),
}


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


def make_desk(folder: Path) -> None:
    """A small LUNA16 reference, two submissions and criteria."""
    luna16 = folder / "luna16"
    luna16.mkdir(parents=True)
    (luna16 / "annotations.csv").write_text(COLUMNS + "scan1,0,0,0,8\nscan2,0,0,0,5\n")
    (luna16 / "annotations_excluded.csv").write_text(COLUMNS)
    (luna16 / "seriesuids.csv").write_text("scan1\nscan2\nscan3\n")
    (folder / "mine.csv").write_text(SCORED + "scan1,0,0,0,0.9\nscan3,80,0,0,0.4\n")
    (folder / "other.csv").write_text(SCORED + "scan2,0,0,0,0.8\nscan3,80,0,0,0.3\n")
    (folder / "criteria.toml").write_text(CRITERIA)
    (folder / "design.toml").write_text(DESIGN)
    (folder / "pool.csv").write_text("case_id,patient_id\na,1\nb,2\nc,3\n")


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
    try:
        nodulebench_main(shlex.split(command))
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        if end.code:
            os._exit(int(end.code))


def state(folder: Path) -> dict[str, int]:
    """The files of a folder that count, by name, with their sizes; of killed runs none do."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(UNFINISHED.fullmatch(part) for part in name.parts):
            found[name.as_posix()] = path.stat().st_size
    return found


class Bench:
    """One job, what it starts from and what one good run of it makes."""

    def __init__(self, folder: Path, job: Job) -> None:
        self.folder, self.job = folder, job
        self.fresh, self.desk = folder / "fresh", folder / "desk"
        make_desk(self.fresh)
        for command in job.before:
            self._must(command, self.fresh)
        self.reset()
        self._must(job.command, self.desk)
        self.good = set(state(self.desk))
        self.inputs = {
            name: (self.fresh / name).read_bytes()
            for name in state(self.fresh)
            if name.split("/")[0] not in job.out.split()
        }

    def _must(self, command: str, folder: Path) -> None:
        code, told = ran(command, folder)
        if code:
            raise AssertionError(f"{command}: {told}")

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
        if is_there and self.job.check:
            code, told = ran(self.job.check, self.desk)
            if code:
                outcome.lost.append(f"{where}: {told[-300:]}")
        is_whole = set(state(self.desk)) == self.good
        code, told = ran(self.job.command, self.desk)
        if "Traceback" in told:
            outcome.untold.append(f"{where}: {told[-300:]}")
        if code and not is_whole:
            outcome.stuck.append(f"{where}: {told[-300:]}")
        elif set(state(self.desk)) != self.good:
            outcome.doubled.append(f"{where}: {sorted(set(state(self.desk)) ^ self.good)}")
        if self.job.check and not code:
            code, told = ran(self.job.check, self.desk)
            if code:
                outcome.stuck.append(f"{where}: in the end {told[-300:]}")
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
            code = 0
            try:
                nodulebench_main(shlex.split(self.job.command))
            except SystemExit as end:
                code = int(end.code or 0)
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
