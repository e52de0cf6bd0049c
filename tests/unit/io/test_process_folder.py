"""What lies in a temporary folder is gone with its process, or with the next one."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nodulebench.io.folders import is_alive, owner, process_folder

KILLED = """
import os, signal, sys
from pathlib import Path
from nodulebench.io.folders import process_folder
with process_folder(Path(sys.argv[1])) as place:
    (place / "scan.raw").write_text("plain")
    os.kill(os.getpid(), signal.SIGKILL)
"""
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux tells it")


def test_its_owner_only_can_enter_and_it_is_gone_afterwards(tmp_path: Path) -> None:
    with process_folder(tmp_path) as place:
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert place.parent.parent == tmp_path
        assert list(place.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


@needs_proc
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(tmp_path)]
    assert subprocess.run(words, check=False).returncode == -9
    assert len(list(tmp_path.glob("*/*/scan.raw"))) == 1
    with process_folder(tmp_path) as mine, process_folder(tmp_path) as another:
        assert sorted(tmp_path.iterdir()) == sorted([mine.parent, another.parent])


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    for name, text in {"nodulebench-a": "mine", "nodulebench-b": "1", "c": "1-1"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / ".owner").write_text(text)
    with process_folder(tmp_path):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "c",
        "nodulebench-a",
        "nodulebench-b",
    ]


@needs_proc
def test_a_process_of_the_same_number_is_another() -> None:
    pid, _, began = owner().partition("-")
    assert int(pid) == os.getpid()
    assert is_alive(owner())
    assert not is_alive(f"{pid}-{int(began) + 1}")
