"""Commands that write, broken off: nothing is lost, stuck or doubled, and a full disk is told.

A few of each; ``python -m benchmarks broken_runs`` tries every operation of every command.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders.places import ROOT

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
@pytest.mark.parametrize(
    ("job", "way", "step"),
    [
        ("sign anew", "killed", 5),
        ("sign anew", "power_cut", 11),
        ("evaluate --force", "power_cut", 37),
        ("compare", "killed", 17),
        ("bundle", "full", 17),
        ("custody admit", "power_cut", 45),
        ("reference build, again", "killed", 9),
    ],
)
def test_a_broken_run_leaves_the_old_or_the_new(
    tmp_path: Path, job: str, way: str, step: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "builders.broken_runs", str(tmp_path), job, way, str(step)],
        cwd=ROOT / "tests",
        capture_output=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found.pop("runs") > 1
    assert found == {"lost": [], "stuck": [], "doubled": [], "untold": []}
