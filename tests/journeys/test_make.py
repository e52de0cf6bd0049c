"""`make` finds a Python that runs, and says in one line what is missing where there is none."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from builders.places import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
PYTHONS = ("python3.13", "python3.12", "python3.11")


def make(folder: Path, works: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Ask make for the environment where only one Python works, the others fail as a shim does."""
    for name in PYTHONS:
        shim = folder / name
        shim.write_text(f"#!/bin/sh\nexit {0 if name == works else 127}\n")
        shim.chmod(0o755)
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "--no-print-directory", *options, "demo", f"VENV={folder / 'venv'}"],
        cwd=ROOT,
        env={**outside, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", PYTHONS)
def test_a_shim_that_does_not_run_is_passed_over(tmp_path: Path, name: str) -> None:
    assert f"{name} -m venv" in make(tmp_path, name, "-n").stdout


def test_a_missing_python_is_reported_in_one_line(tmp_path: Path) -> None:
    done = make(tmp_path, "none")
    assert done.returncode != 0
    assert done.stdout.splitlines() == [
        "needs Python 3.13, 3.12 or 3.11 with venv and ensurepip "
        "(Debian: apt install python3-venv), or PYTHON=..."
    ]
    assert not (tmp_path / "venv").exists()
