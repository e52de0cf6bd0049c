"""nodulebench read as a program: its address, its walls, and a kill between two edits."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from builders.reading import BALL_MM, write_scans

FINDING = {"position_mm": BALL_MM.tolist(), "kind": "small_nodule"}


class RunningViewer:
    """The program while it runs, and what a page would ask of it."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.fullmatch(r"open http://127\.0\.0\.1:(\d+)/\?token=(\S+)\n", line)
        assert match, line
        self.port, self.secret = match.groups()

    def answer(self, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        cookie = f"nodulebench-{self.port}={self.secret}"
        own = {"Cookie": cookie, "X-Requested-With": "nodulebench", **headers}
        if body is not None:
            own["Content-Type"] = "application/json"
        with closing(HTTPConnection("127.0.0.1", int(self.port), timeout=120)) as line:
            line.request("GET" if body is None else "POST", path, json.dumps(body), own)
            answer = line.getresponse()
            return answer.status, answer.read()

    def ask(self, path: str, body: Any = None) -> Any:
        status, answer = self.answer(path, body)
        assert status == 200
        return json.loads(answer)

    def edit(self, number: int, finding_id: str) -> Any:
        body = {"client": "tab", "number": number, "finding_id": finding_id, "finding": FINDING}
        return self.ask("/scans/0/edits", body)


@contextmanager
def reading(folder: Path, *more: str) -> Iterator[RunningViewer]:
    command = [sys.executable, "-m", "nodulebench", "read", str(folder), "--no-browser", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield RunningViewer(process)
        finally:
            process.kill()


def test_no_confirmed_edit_is_lost_when_the_program_is_killed(tmp_path: Path) -> None:
    folder = write_scans(tmp_path / "scans", "a")
    with reading(folder, "--by", "anna") as running_viewer:
        for number in range(1, 4):
            assert running_viewer.edit(number, f"f{number}")["version"] == 1
        running_viewer.process.send_signal(signal.SIGKILL)
        running_viewer.process.wait()
    with reading(folder, "--by", "anna") as running_viewer:
        answer = running_viewer.ask("/scans/0/reading")
        assert [finding["id"] for finding in answer["findings"]] == ["f1", "f2", "f3"]
        assert running_viewer.edit(3, "f3")["version"] == 1  # sent again, made once
        second = subprocess.run(
            [sys.executable, "-m", "nodulebench", "read", str(folder), "--no-browser"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 1
        assert "is being written by another process" in second.stderr
        assert running_viewer.answer("/scans", Host="evil.example")[0] == 421
        assert running_viewer.answer("/scans", Cookie="")[0] == 403
        running_viewer.process.send_signal(signal.SIGINT)
        assert running_viewer.process.wait(600) in (0, 130)
    edits = (tmp_path / "scans-reading" / "edits.jsonl").read_text().splitlines()
    assert len(edits) == 3
