"""Commands that write, broken off: nothing is lost, stuck or doubled, and a full disk is told.

A few of each; ``python -m benchmarks broken_runs`` tries every operation of every command. With a
step every run is a process of its own, else one process tries every operation.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders.places import ROOT

CLEAN = {"lost": [], "stuck": [], "doubled": [], "unclear": []}
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def program(*arguments: object) -> str:
    """What the program says that breaks commands off."""
    done = subprocess.run(
        [sys.executable, "-m", "builders.broken_runs", *map(str, arguments)],
        cwd=ROOT / "tests",
        capture_output=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@needs_fork
@pytest.mark.parametrize(
    ("job", "way", "step"),
    [
        ("sign, signed before", "power_cut", 20),
        ("evaluate --force", "power_cut", 120),
        ("compare", "killed", 13),
        ("bundle", "full", 30),
        ("keys admit", "power_cut", 80),
        ("reference build over another", "killed", 16),
        ("deidentify --workers 2", "full", 60),
    ],
)
def test_a_broken_run_leaves_the_old_or_the_new(
    tmp_path: Path, job: str, way: str, step: int
) -> None:
    content = json.loads(program("one", tmp_path, job, way, step))
    assert (content.pop("runs") > 1, content.pop("step")) == (True, step)
    assert content == CLEAN


@needs_fork
def test_what_goes_wrong_at_any_operation_is_seen_and_the_rest_goes_well(tmp_path: Path) -> None:
    program("all", tmp_path, "annotate review import-answers, with keys", "careless")
    result = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*.json")}
    for way, least in (("killed", 10), ("full", 10), ("power_cut", 30)):
        good = result[f"annotate review import-answers, with keys.{way}"]
        assert (good.pop("runs") >= least, good.pop("step")) == (True, 1)
        assert good == CLEAN
    # an event and a file in two halves: 3 operations
    killed = result["careless.killed"]
    assert killed["runs"] == 3
    assert [len(killed[kind]) for kind in CLEAN] == [1, 0, 2, 0]
    assert result["careless.full"]["unclear"]
    assert any(result["careless.power_cut"][kind] for kind in CLEAN)
