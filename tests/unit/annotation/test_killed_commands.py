"""Commands of a review that are killed, or whose disk is full: nothing lost, stuck or doubled.

``python -m builders.killed_annotation FOLDER killed 1`` stops every command at every operation;
here are those that had to be mended, and one of each kind.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("how", "stride", "titles", "stops"),
    [
        ("killed", 9, ("open", "read last", "add", "export"), 4),
        ("full", 9, ("open", "read last", "arbitrate"), 3),
    ],
)
def test_a_stopped_command_is_completed_by_the_same_once_more(
    tmp_path: Path, how: str, stride: int, titles: tuple[str, ...], stops: int
) -> None:
    script = [sys.executable, "-m", "builders.killed_annotation"]
    done = subprocess.run(
        [*script, str(tmp_path / "x"), how, str(stride), *titles],
        cwd=TESTS,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    outcomes = json.loads(done.stdout)
    assert {name: outcome["wrong"] for name, outcome in outcomes.items() if outcome["wrong"]} == {}
    assert sum(outcome["stops"] for outcome in outcomes.values()) >= stops
