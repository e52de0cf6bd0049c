"""Commands that write, broken off in every way: killed, on a full disk, by a power cut.

A separate program, because it forks: in a process that has used polars, forks wait for threads
that they do not have. Modules are imported before, so that the forks need not.

``python -m builders.broken_runs one FOLDER JOB HOW STEP`` prints one line of JSON: how often the
job was broken off, and what was lost, stuck, doubled or not reported clearly. HOW is one of

    killed      by the system, with all its processes, at one operation on files after the other
    full        by a disk that is full from one operation on, and at several sizes of file
    power_cut   the disk keeps what was synchronised, and any part of the rest

Only every STEPth operation is tried, each by a separate process.

``python -m builders.broken_runs all RESULTS [JOB ...]`` tries every operation of all jobs in all
ways, as ``builders.broken_bench`` says, and keeps what came of each in a file of the folder
RESULTS; what is there is not done again.
"""

import json
import multiprocessing
import os
import sys
import time
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from builders.broken_bench import KINDS, Bench, Outcome, settle_memory
from builders.broken_jobs import CARELESS, JOBS
from builders.killed_sealing import in_child

KNOWN = {**JOBS, "careless": CARELESS}


def prepared(folder: Path, job: str) -> Bench:
    """The bench of a job, made by another process; what that imported is imported here."""
    answer = folder / "answer.json"

    def work() -> None:
        good = Bench(folder, KNOWN[job], is_warm=True).prepare()
        answer.write_text(json.dumps([good, [*sys.modules]]))

    if in_child(work):
        raise AssertionError(f"{job}: what it needs could not be made")
    bench = Bench(folder, KNOWN[job], is_warm=False)
    bench.good, modules = json.loads(answer.read_text())
    for name in modules:
        if name not in sys.modules and not name.startswith("__"):
            with suppress(Exception):
                import_module(name)
    settle_memory()
    return bench


def run_all(results: Path, *jobs: str) -> None:
    """Break off jobs, or all, in every way; the outcome of each is written to a folder."""
    results.mkdir(parents=True, exist_ok=True)
    chosen = jobs or tuple(JOBS)
    warm = [job for job in chosen if not KNOWN[job].has_workers]
    while in_child(partial(_run_warm, results, warm)):
        # the job that was being tried is tried in earnest
        warm = [job for job in warm if job != (results / "now.txt").read_text()]
    for job in chosen:
        for way in KINDS:
            place = results / f"{job}.{way}.json"
            if not place.exists():
                place.write_text(json.dumps(_in_earnest(results, job, way).__dict__))


def _run_warm(results: Path, jobs: list[str]) -> None:
    """Try jobs in this process; what goes well is a result, else it is left what to try again."""
    for job in jobs:
        left = [way for way in KINDS if not _files(results, job, way)]
        (results / "now.txt").write_text(job)
        os.chdir(results)  # the folder of the job before is gone
        with TemporaryDirectory() as folder:
            bench = Bench(Path(folder), KNOWN[job], is_warm=True)
            bench.good = bench.prepare() if left else []
            for way in left:
                started = time.monotonic()
                outcome, suspects = bench.tries(way, 0)
                name = f"{job}.{way}.{'suspects' if suspects else 'json'}"
                report = [outcome.__dict__, suspects] if suspects else outcome.__dict__
                (results / name).write_text(json.dumps(report))
                seconds = f"{time.monotonic() - started:6.1f} s"
                _tell(f"{seconds}  {job}, {way}: {outcome.runs}, {suspects}")


def _files(results: Path, job: str, way: str) -> list[Path]:
    names = (f"{job}.{way}.json", f"{job}.{way}.suspects")
    return [results / name for name in names if (results / name).exists()]


def _in_earnest(results: Path, job: str, way: str) -> Outcome:
    """Break off a job in earnest: where something went wrong when it was warm, or everywhere."""
    with TemporaryDirectory() as folder:
        bench = prepared(Path(folder), job)
        suspects = _files(results, job, way)
        if not suspects:
            return bench.tries(way, 0)[0]
        document: tuple[dict[str, Any], list[tuple[str, int]]] = json.loads(suspects[0].read_text())
        outcome = Outcome(**document[0])
        if way == "power_cut":
            bench.moments = bench.recorded()
        for kind, number in document[1]:
            bench.attempt(outcome, (kind, number))
        _tell(f"{job}, {way}, in earnest: {outcome}")
        return outcome


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(what: str, folder: str, *more: str) -> None:
    """Run as a program."""
    # workers that fork need not import anything, and are watched too
    multiprocessing.get_all_start_methods = lambda: ["fork"]
    if what == "all":
        run_all(Path(folder), *more)
    else:
        job, how, step = more
        outcome, _ = prepared(Path(folder), job).tries(how, int(step))
        sys.stdout.write(json.dumps(outcome.__dict__))


if __name__ == "__main__":
    main(*sys.argv[1:])
