"""How many requests does a portal bear, and does it keep 200 submissions that come at once?

``python -m benchmarks.portal_load [SECONDS]``, on SQLite and PostgreSQL: two processes answer, two
workers score, all on loopback of this machine together with the generator (wrk, of Debian's
package): the public leaderboard, by 50 connections, at rest and while entries are submitted. A
request's CPU time is that of all processes that answer.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from builders.portal import work_off
from builders.postgres import postgres_server
from builders.running_portal import RunningPortal

CONNECTIONS, ENTRIES, AT_ONCE, EVERY_S = 50, 40, 200, 0.5
TICKS_A_SECOND = 100
LEADERBOARD = ("database", "leaderboard", "requests/s", "p50 ms", "p99 ms", "CPU ms a request")
AT_ONCE_NOTE = (
    "database",
    "sent at once",
    "receipts",
    "all answered after s",
    "all scored after s",
)


@dataclass(frozen=True)
class Load:
    """What the generator says."""

    requests: int
    per_second: float
    p50_ms: float
    p99_ms: float
    bad: int
    cpu_ms: float


def main(seconds: float = 10.0) -> None:
    """Load a portal on each database, and print the tables."""
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed (Debian: apt install wrk)")
    rows, sent = [], []
    for name in ("SQLite", "PostgreSQL"):
        started = postgres_server(is_durable=True) if name == "PostgreSQL" else nullcontext()
        with tempfile.TemporaryDirectory() as folder, started as server:
            portal = RunningPortal(Path(folder), server, workers=2, processes=2)
            _fill(portal)
            with portal.up("web"):
                sendings = {"at rest": nullcontext(), "entries come in": _sent(portal)}
                for what, sending in sendings.items():
                    with sending:
                        load = _load(portal, seconds)
                    _must(load.bad == 0, load)
                    metrics = (load.per_second, load.p50_ms, load.p99_ms, load.cpu_ms)
                    rows.append((name, what, *(f"{metric:.1f}" for metric in metrics)))
                sent.append((name, *_at_once(portal)))
            portal.end()
    for header, lines in ((LEADERBOARD, rows), (AT_ONCE_NOTE, sent)):
        print("| " + " | ".join(header) + " |\n" + "|---" * len(header) + "|")
        for line in lines:
            print("| " + " | ".join(map(str, line)) + " |")
        print()


def _fill(portal: RunningPortal) -> None:
    """A leaderboard of some length."""
    with portal.up("web"):
        for number in range(ENTRIES):
            _must(portal.send(number)[0] == 201, "an entry was not taken")
    work_off(portal.site)


@contextmanager
def _sent(portal: RunningPortal):
    """A user submits while others read the leaderboard, so that it has to be made again."""
    stop = threading.Event()

    def send() -> None:
        while not stop.wait(EVERY_S):
            portal.send(0)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        stop.set()
        sender.join()


def _load(portal: RunningPortal, seconds: float) -> Load:
    page = f"http://127.0.0.1:{portal.port}/benchmarks/{portal.benchmark}"
    wrk = ["wrk", "-t1", f"-c{CONNECTIONS}", "--latency"]
    subprocess.run([*wrk, "-d1", page], check=True, capture_output=True)
    before = portal.cpu_ticks()
    finished = subprocess.run(
        [*wrk, f"-d{seconds:.0f}", page], check=True, capture_output=True, text=True
    ).stdout
    spent = portal.cpu_ticks() - before
    requests = int(_after(finished, r"(\d+) requests in"))
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", finished)
    return Load(
        requests,
        float(_after(finished, r"Requests/sec:\s+([\d.]+)")),
        _milliseconds(_after(finished, r"\n\s+50%\s+(\S+)")),
        _milliseconds(_after(finished, r"\n\s+99%\s+(\S+)")),
        int(bad[1]) if bad else 0,
        1000 * spent / TICKS_A_SECOND / requests,
    )


def _must(holds: bool, message: object) -> None:
    if not holds:
        sys.exit(f"the portal did not hold: {message}")


def _after(text: str, pattern: str) -> str:
    return re.search(pattern, text)[1]


def _milliseconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def _at_once(portal: RunningPortal) -> tuple[int, int, str, str]:
    """Send many in at once, then let two workers score all; nothing may be lost or doubled."""
    at = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(portal.send, range(AT_ONCE)))
    answered = time.monotonic() - at
    statuses = Counter(status for status, _ in answers)
    receipts = {
        answer["id"]: answer["receipt"]["receipt"] for status, answer in answers if status == 201
    }
    _must(statuses == {201: AT_ONCE}, statuses)
    for name in portal.names:
        if name not in portal.running:
            portal.start(name)
    portal.until(portal.is_judged)
    scored = time.monotonic() - at
    wrong = list(portal.wrong(receipts))
    _must(wrong == [], wrong)
    return AT_ONCE, len(receipts), f"{answered:.1f}", f"{scored:.1f}"


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
