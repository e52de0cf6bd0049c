"""A portal with real processes that are used, killed and restarted."""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from builders.portal import GOOD, make_person, make_tiny_benchmark, open_site
from builders.postgres import Server, free_port
from nodulebench.evaluation.result_folder import EVALUATION
from nodulebench.io.manifests import file_digest
from nodulebench.web.portal.accounts.credentials import digest_of, new_secret
from nodulebench.web.portal.database.event_log import check_log
from nodulebench.web.portal.database.models import Entry, Job, Result, Token

LEASE_S, PATIENCE_S = 3.0, 600.0


class RunningPortal:
    """A site with its processes, which are killed and started again."""

    def __init__(
        self, folder: Path, server: Server | None = None, *, workers: int = 1, processes: int = 1
    ) -> None:
        """Make a site.

        Args:
            folder: a separate one.
            server: PostgreSQL; None: SQLite.
            workers: how many score.
            processes: how many answer.
        """
        self.server, self.port, self.workers = server, free_port(), workers
        self.processes = processes
        self.storage = folder / "portal"
        self.database = "" if server is None else server.new_database()
        self.site = open_site(self.storage, self.database)
        by = make_person(self.site, "ada", "organiser", "participant")
        self.benchmark = make_tiny_benchmark(self.site, by)
        self.token = new_secret()
        with self.site.database.writing() as session:
            digest = digest_of(self.token)
            session.add(Token(digest=digest, account_id=by.account, name="kills"))
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def names(self) -> list[str]:
        """The processes of the site."""
        return ["web", *(f"worker {number}" for number in range(self.workers))]

    def start(self, name: str) -> None:
        """Begin, or go on after a kill."""
        words = ["portal", "--storage", str(self.storage), "--port", str(self.port)]
        web = [sys.executable, "-m", "nodulebench", *words, "--workers", "0"]
        web += ["--processes", str(self.processes)]
        worker = [sys.executable, "-m", "builders.running_portal", str(self.storage)]
        known = {**os.environ, "NODULEBENCH_DATABASE": self.site.settings.database_url}
        paths = [str(Path(__file__).parents[1]), *sys.path]
        known["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        log = (self.storage / f"{name.split()[0]}.log").open("ab")
        with log:
            self.running[name] = subprocess.Popen(
                web if name == "web" else worker, env=known, stdout=log, stderr=log
            )

    def end(self) -> None:
        """Kill all processes."""
        for name in list(self.running):
            self._kill(name)
        self.site.database.close()

    def _kill(self, name: str) -> None:
        with self.running.pop(name) as process:
            process.send_signal(signal.SIGKILL)

    def kill(self, target: str, chance: random.Random) -> None:
        """Kill one of the targets, and start it again a little later.

        SQLite lives in the processes that use it: its database is killed with all of them.
        """
        if target == "database" and self.server is not None:
            self.server.kill()
            time.sleep(chance.random() * 0.3)
            self.server.start()
            return
        killed = [name for name in self.names if target == "database" or name.startswith(target)]
        chosen = killed if target == "database" else [chance.choice(killed)]
        for name in chosen:
            self._kill(name)
        for name in chosen:
            self.start(name)

    def is_up(self) -> bool:
        """Whether the site answers."""
        return self._request("GET", "/health")[0] == 200

    def send(self, number: int) -> tuple[int, dict[str, Any]]:
        """Submit marks; return the status, 0 without an answer."""
        path = f"/api/v1/benchmarks/{self.benchmark}/entries?name=entry{number}&file=marks.csv"
        return self._request("POST", path, GOOD.encode())

    def _request(
        self, method: str, path: str, body: bytes | None = None
    ) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            headers = {"Authorization": f"Bearer {self.token}"}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            return 0, {}
        finally:
            connection.close()
        return answer.status, json.loads(content) if content.startswith(b"{") else {}

    @contextmanager
    def up(self, *names: str) -> Iterator[None]:
        """Start the named processes, or all, and wait until the site answers."""
        for name in names or self.names:
            self.start(name)
        try:
            self.until(self.is_up)
            yield
        finally:
            for name in list(self.running):
                self._kill(name)

    def is_scoring(self) -> bool:
        return "running" in self.states()

    def is_over(self, sender: threading.Thread) -> bool:
        return not sender.is_alive() and self.is_scored()

    def is_scored(self) -> bool:
        return not self.states() & {"waiting", "running"}

    def states(self) -> set[str]:
        with self.site.database.reading() as session:
            return set(session.scalars(select(Job.state)))

    def cpu_ticks(self) -> int:
        """CPU time of the server and its children, in system ticks."""
        head = self.running["web"].pid
        children = Path(f"/proc/{head}/task/{head}/children").read_text().split()
        fields = [
            Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            for child in (head, *children)
        ]
        return sum(int(field[11]) + int(field[12]) for field in fields)

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.01)

    def logs(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in self.storage.glob("*.log"))

    def wrong(self, receipts: dict[str, dict[str, Any]]) -> Iterator[str]:
        with self.site.database.reading() as session:
            entries = {entry.id: entry for entry in session.scalars(select(Entry))}
            jobs = {job.entry_id: job for job in session.scalars(select(Job))}
            results = list(session.scalars(select(Result)))
            log = check_log(session, self.site.key)
        for entry, receipt in receipts.items():
            if entry not in entries:
                yield f"{entry} has a receipt and is lost"
            elif entries[entry].digest != receipt["digest"]:
                yield f"{entry} is not what its receipt says"
        for entry, entry_row in entries.items():
            file = self.site.upload(entry) / entry_row.file
            if not file.is_file() or file_digest(file) != entry_row.digest:
                yield f"{entry}: what was sent is lost"
            if entry not in jobs or jobs[entry].state != "done":
                yield f"{entry} is not scored: {jobs[entry].problems if entry in jobs else ''}"
        counted = Counter(result.entry_id for result in results)
        scored = Counter(
            dict(event.facts)["entry"] for event in log.events if event.action == "scored"
        )
        for kind, counts in (("results", counted), ("events", scored)):
            yield from (
                f"{entry} has {counts[entry]} {kind}" for entry in entries if counts[entry] != 1
            )
        for result in results:
            file = self.site.results / result.folder / EVALUATION
            if not file.is_file() or file_digest(file) != result.digest:
                yield f"{result.entry_id}: its result is lost"
        yield from (f"log: {problem}" for problem in log.problems)


def main(storage: str) -> None:
    """A worker with short leases, so that a trial takes seconds and not minutes."""
    from nodulebench.cli import nodulebench
    from nodulebench.web.portal.submissions import jobs, worker

    jobs.LEASE = timedelta(seconds=LEASE_S)
    worker.BEAT_S, worker.LOOK_S, worker.IDLE_S = LEASE_S / 6, LEASE_S / 12, 0.1
    nodulebench(["portal", "worker", "--storage", storage])


if __name__ == "__main__":
    main(sys.argv[1])
