"""Whether marks are lost or doubled: servers killed, connections cut, two tabs, many readers.

``python -m benchmarks.reading_faults [--edits 200] [--kills 20] [--readers 20] [--cut 60]``

A tab here does what the page's ``drafts.js`` does: it numbers its edits, keeps each until it is
answered, and sends it again without knowing whether it arrived before. At the end a
new server reads the stored draft, in which every mark must be present once.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from http.cookiejar import CookieJar
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from nodulebench.imaging.volume import make_volume
from nodulebench.io.images.metaimage import write_volume
from nodulebench.web.viewer.drafts import Draft, open_drafts

CASE, READER = "scan", "anna"
AGAIN_S = 0.05


@dataclass(frozen=True)
class Trial:
    """What became of the marks of one trial."""

    what: str
    made: int
    lost: int
    doubled: int
    faults: str
    ms: list[float]

    @property
    def row(self) -> str:
        """One row of the table."""
        slow = f"{np.median(self.ms):.0f} ms (95 %: {np.percentile(self.ms, 95):.0f})"
        cells = [self.what, self.faults, str(self.made), str(self.lost), str(self.doubled), slow]
        return "| " + " | ".join(cells) + " |"


class Server:
    """``nodulebench read`` as a separate process, which can be killed and started again."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        command = [sys.executable, "-m", "nodulebench", "read", str(folder), "--by", READER]
        self._process = subprocess.Popen(
            [*command, "--no-browser", "--port", str(port)], stdout=subprocess.PIPE, text=True
        )
        if self._process.stdout is None:
            raise AssertionError("its output is read")
        self.address = self._process.stdout.readline().removeprefix("open ").strip()
        self.port = urlsplit(self.address).port or 0

    def kill(self) -> None:
        """End it as a lost power supply does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@dataclass
class Tab:
    """Sends edits until they are answered, however often that takes."""

    name: str
    address: str = ""
    sent: int = 0
    ms: list[float] = field(default_factory=list)
    _number: int = 0

    def opened(self, address: str) -> None:
        """Come in by an address with its secret."""
        self.address = address
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._web = urllib.request.build_opener(cookies)
        with self._web.open(address, timeout=30):
            pass

    def put(self, finding_id: str, x: float, based_on: int = 0, *, twice: bool = False) -> int:
        """Put a point; its version, or 0 where another tab came first."""
        self._number += 1
        edit = {
            "client": self.name,
            "number": self._number,
            "finding_id": finding_id,
            "based_on": based_on,
            "finding": {"kind": "small_nodule", "position_mm": [x, 1.0, 1.0]},
        }
        began = time.perf_counter()
        version = self._until_answered(edit)
        if twice:
            version = self._until_answered(edit)
        self.ms.append(1000 * (time.perf_counter() - began))
        return version

    def _until_answered(self, edit: dict[str, Any]) -> int:
        while True:
            parts = urlsplit(self.address)
            request = urllib.request.Request(
                f"http://{parts.netloc}/scans/0/edits",
                json.dumps(edit).encode(),
                {"Content-Type": "application/json", "X-Requested-With": "nodulebench"},
            )
            self.sent += 1
            try:
                with self._web.open(request, timeout=30) as answer:
                    return int(json.load(answer)["version"])
            except urllib.error.HTTPError as error:
                if error.code == 409:
                    return 0
                if error.code not in (403, 500, 503):
                    raise
            except (OSError, HTTPException):
                pass
            time.sleep(AGAIN_S)
            with suppress(OSError, HTTPException):
                self.opened(self.address)


@contextmanager
def reading_folder() -> Iterator[Path]:
    """A folder with one small scan."""
    with tempfile.TemporaryDirectory() as folder:
        scans = Path(folder) / "scans"
        scans.mkdir()
        hu = np.full((4, 8, 8), -800, dtype=np.int16)
        write_volume(make_volume(hu, spacing_mm=(1, 1, 1)), scans / f"{CASE}.mhd")
        yield scans


def stored_draft(scans: Path) -> Draft:
    """What a server that is started now would know."""
    with open_drafts(scans.with_name(f"{scans.name}-reading"), READER) as drafts:
        return drafts.of(CASE)


def trial_of(
    what: str, faults: str, wanted: dict[str, float], scans: Path, ms: list[float]
) -> Trial:
    """Count marks that are lost or changed, and those that no client made."""
    there = {name: finding.position_mm[0] for name, finding in stored_draft(scans).present.items()}
    lost = sum(there.get(name) != x for name, x in wanted.items())
    return Trial(what, len(wanted), lost, len(set(there) - set(wanted)), faults, ms)


def interrupted(what: str, edits: int, pauses_s: Sequence[float], seed: int = 1) -> Trial:
    """One reader who draws on while the server is killed at any moment and comes back later.

    They draw as many marks as required, and continue until the last kill is over.
    """
    random = np.random.default_rng(seed)
    with reading_folder() as scans:
        server, tab, wanted = Server(scans), Tab("tab"), {}
        tab.opened(server.address)
        are_over = threading.Event()

        def draw() -> None:
            for number in count():
                if number >= edits and are_over.is_set():
                    return
                name = f"mark-{number}"
                version = tab.put(name, float(number))
                tab.put(name, number + 0.5, version)
                wanted[name] = number + 0.5

        drawing = threading.Thread(target=draw)
        drawing.start()
        for pause_s in pauses_s:
            time.sleep(float(random.uniform(0.02, 0.2)))
            server.kill()
            time.sleep(pause_s)
            server = Server(scans, server.port)
            tab.address = server.address
        are_over.set()
        drawing.join()
        server.kill()
        faults = f"kills: {len(pauses_s)}, away {sum(pauses_s):g} s"
        return trial_of(what, faults, wanted, scans, tab.ms)


def two_tabs(edits: int) -> Trial:
    """Two tabs that change the same marks at once: the later one gets a conflict and repeats."""
    with reading_folder() as scans:
        server, tabs, wanted = Server(scans), [Tab("one"), Tab("two")], {}
        for tab in tabs:
            tab.opened(server.address)
        refused = 0
        for number in range(edits):
            name = f"mark-{number}"
            with ThreadPoolExecutor(2) as both:
                asked = [
                    both.submit(tab.put, name, number + at / 4, twice=True)
                    for at, tab in enumerate(tabs)
                ]
            versions = [answer.result() for answer in asked]
            refused += versions.count(0)
            (first,) = (at for at in (0, 1) if versions[at])
            wanted[name] = number + first / 4
        server.kill()
        faults = f"{refused} conflicts, all reported"
        return trial_of("two tabs on the same marks", faults, wanted, scans, tabs[0].ms)


def many_readers(readers: int, edits: int) -> list[Trial]:
    """Readers with a session each, all at once on this machine; every edit is sent twice."""
    with ThreadPoolExecutor(readers) as pool:
        return list(pool.map(lambda _: _one_of_many(edits), range(readers)))


def _one_of_many(edits: int) -> Trial:
    with reading_folder() as scans:
        server, tab, wanted = Server(scans), Tab("tab"), {}
        tab.opened(server.address)
        for number in range(edits):
            tab.put(f"mark-{number}", float(number), twice=True)
            wanted[f"mark-{number}"] = float(number)
        server.kill()
        return trial_of("", "", wanted, scans, tab.ms)


def all_of(trials: list[Trial], what: str) -> Trial:
    """Readers taken together."""
    ms = [each_ms for each in trials for each_ms in each.ms]
    made, lost, doubled = (
        sum(getattr(trial, name) for trial in trials) for name in ("made", "lost", "doubled")
    )
    return Trial(what, made, lost, doubled, "every edit sent twice", ms)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--cut", type=float, default=60)
    given = parser.parse_args()
    print("| trial | faults | marks made | lost | doubled | an edit |\n|---|---|---|---|---|---|")
    kills = [0.0] * given.kills
    print(interrupted("server killed between edits", given.edits, kills).row, flush=True)
    print(interrupted("connection cut", given.edits, [given.cut]).row, flush=True)
    print(two_tabs(given.edits).row, flush=True)
    many = many_readers(given.readers, given.edits // 4)
    print(all_of(many, f"{given.readers} readers at once on {os.cpu_count()} cores").row)


if __name__ == "__main__":
    main()
