"""Runs on a Dask cluster whose runner, worker or scheduler is killed -> what they leave."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from builders.killed_runs import CASES, PATIENCE_S, KilledRuns, journal_cases

VICTIMS = ("runner", "worker", "scheduler")
WORKERS = 2


class KilledClusters(KilledRuns):
    """A scheduler and two workers as separate processes, started again when they are dead."""

    def __init__(self, folder: Path, more: tuple[str, ...] = ("--isolation", "none")) -> None:
        self.parts: dict[str, subprocess.Popen[bytes]] = {}
        self.port = _free_port()
        self.place = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.revive()
        super().__init__(folder, f"dask://127.0.0.1:{self.port}", more)

    def revive(self) -> None:
        """Start all missing parts; workers of a scheduler that is gone are ended first."""
        scheduler = self.parts.get("scheduler")
        if scheduler is None or scheduler.poll() is not None:
            self.close()
            self.parts["scheduler"] = _start(
                *("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")
            )
            _wait_for_port(self.port)
        for number in range(WORKERS):
            name = f"worker-{number}"
            if name not in self.parts or self.parts[name].poll() is not None:
                self.parts[name] = _start(
                    *("worker", f"tcp://127.0.0.1:{self.port}", "--no-nanny", "--no-dashboard"),
                    *("--nthreads", "1", "--host", "127.0.0.1", "--memory-limit", "0"),
                    *("--local-directory", str(self.place / name)),
                )

    def close(self) -> None:
        """End all parts."""
        for process in self.parts.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            process.wait()
        self.parts.clear()

    def kill_one_and_go_on(self, seed: int) -> tuple[dict[str, pl.DataFrame], str]:
        """Kill a part of a run at a seeded moment, go on, and give its tables and who was hit."""
        chance, out = random.Random(seed), self.folder / f"cluster-{seed}"
        victim = VICTIMS[seed % len(VICTIMS)]
        lines, delay = chance.randint(0, CASES - 4), chance.random() * 0.05
        with self.start(out) as process:
            deadline = time.monotonic() + PATIENCE_S
            while process.poll() is None and journal_cases(out) < lines:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            time.sleep(delay)
            was_running = process.poll() is None
            name = f"worker-{chance.randrange(WORKERS)}" if victim == "worker" else victim
            hit = process if victim == "runner" else self.parts[name]
            os.kill(hit.pid, signal.SIGKILL)
            _, output = process.communicate(timeout=PATIENCE_S)
            code = process.returncode
        hit.wait()
        assert code in {"runner": (-9, 0), "worker": (0,), "scheduler": (0, 1)}[victim], output
        if victim == "scheduler" and code == 1:
            assert b"the same command goes on" in output, output
        self.revive()
        return self.tables(self.run_until_done(out)), victim if was_running else "none"


@contextlib.contextmanager
def killed_clusters(folder: Path) -> Iterator[KilledClusters]:
    """A cluster for trials, which is gone afterwards."""
    made = KilledClusters(folder)
    try:
        yield made
    finally:
        made.close()


def _start(kind: str, *words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError("the scheduler does not come")
