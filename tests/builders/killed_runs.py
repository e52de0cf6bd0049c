"""Runs that are killed at seeded moments and gone on with -> what they leave, to be compared."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl

from builders.algorithms import MARKS, algorithm_folder, images_set

CASES = 8
PROGRAM = 'grep -q "$(printf "\\\\003")" "$1/ct.raw" && exit 5\n' + MARKS + "sleep 0.03"
"""Fails on one case, and takes a while on all."""
PATIENCE_S = 600.0
MEASURED = ("seconds", "cpu_seconds", "peak_memory_mb", "peak_anonymous_mb")


class KilledRuns:
    """One algorithm and one set, run again and again into separate folders."""

    def __init__(self, folder: Path, executor: str = "local", more: tuple[str, ...] = ()) -> None:
        self.folder, self.executor, self.more = folder, executor, more
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.algorithm = algorithm_folder(folder / "mine", PROGRAM)
        self.cases = images_set(folder / "set", CASES)
        self.whole = self.tables(self.run_until_done(folder / "whole"))

    def start(self, out: Path) -> "subprocess.Popen[bytes]":
        """Begin a run, or go on with it."""
        words = ["run", str(self.algorithm), str(self.cases), "--out", str(out)]
        words += ["--executor", self.executor, *self.more]
        words += [] if self.executor.startswith("dask://") else ["--workers", "2"]
        return subprocess.Popen(
            [sys.executable, "-m", "nodulebench", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(self.scratch)},  # what is left there is theirs only
        )

    def run_until_done(self, out: Path) -> Path:
        """Run to the end."""
        with self.start(out) as process:
            _, output = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, output.decode()
        return out

    def kill_and_go_on(self, seed: int) -> tuple[dict[str, pl.DataFrame], int]:
        """Kill a run once or twice, go on with it, and give its tables and how often it was hit."""
        chance, out, hits = random.Random(seed), self.folder / f"killed-{seed}", 0
        for _ in range(chance.randint(1, 2)):
            lines, delay = chance.randint(0, CASES), chance.random() * 0.06
            with self.start(out) as process:
                deadline = time.monotonic() + PATIENCE_S
                while process.poll() is None and journal_cases(out) < lines:
                    assert time.monotonic() < deadline
                    time.sleep(0.002)
                time.sleep(delay)
                if process.poll() is None:
                    hits += 1
                os.kill(process.pid, signal.SIGKILL)
                process.communicate(timeout=PATIENCE_S)
        return self.tables(self.run_until_done(out)), hits

    def tables(self, out: Path) -> dict[str, pl.DataFrame]:
        """Marks and runs, times aside."""
        runs = pl.read_csv(out / "runs.csv")
        marks = pl.read_csv(out / "marks.csv")
        return {"marks": marks, "runs": runs.drop(MEASURED)}


def journal_cases(out: Path) -> int:
    """Number of cases in a journal, without its first line."""
    try:
        return (out / "journal.jsonl").read_bytes().count(b"\n") - 1
    except OSError:
        return -1
