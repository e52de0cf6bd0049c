"""Thirty portals whose server, workers or database are killed while people send in: what is lost?

``python -m benchmarks.portal_kills [FIRST END]``: seeds in turn on SQLite and PostgreSQL, each with
three kills at random moments; prints what was left.
"""

import sys
import tempfile
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from builders.killed_portal import Left, trial
from builders.postgres import postgres_server
from builders.running_portal import RunningPortal

TRIALS, SUBMISSIONS = 30, 8
HEADER = (
    *("database", "trials", "kills of web", "of a worker", "of the database", "receipts"),
    *("not answered, sent again", "jobs hit and claimed again", "lost, doubled or unscored"),
)


@dataclass
class Row:
    """What was found on one kind of database."""

    trials: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, left: Left) -> None:
        """Count one more trial."""
        self.trials += 1
        self.kills += left.kills
        for name in ("receipts", "unanswered", "repeated"):
            self.counts[name] += getattr(left, name)
        self.wrong += left.wrong


def main(first: int = 0, end: int = TRIALS) -> None:
    """Kill, and print the table."""
    rows = {"SQLite": Row(), "PostgreSQL": Row()}
    for seed in range(first, end):
        name, row = list(rows.items())[seed % len(rows)]
        row.add(tried(seed, is_postgres=name == "PostgreSQL"))
        print(f"{name} {seed}: {row}", file=sys.stderr)
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    for name, row in rows.items():
        kills = [row.kills[part] for part in ("web", "worker", "database")]
        counts = [row.counts[kind] for kind in ("receipts", "unanswered", "repeated")]
        cells = [name, row.trials, *kills, *counts, len(row.wrong)]
        print("| " + " | ".join(map(str, cells)) + " |")


def tried(seed: int, *, is_postgres: bool) -> Left:
    """One site, sent to and killed."""
    started = postgres_server(is_durable=True) if is_postgres else nullcontext()
    with tempfile.TemporaryDirectory() as folder, started as server:
        portal = RunningPortal(Path(folder), server, workers=2)
        try:
            return trial(portal, seed, SUBMISSIONS)
        finally:
            portal.end()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
