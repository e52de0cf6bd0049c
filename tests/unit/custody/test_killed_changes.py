"""Killed at any operation on files, a change was either made or not, and the set is good."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders.places import ROOT
from builders.sealed import make_lab, new_person

pytest.importorskip("pyrage")
pytestmark = pytest.mark.slow


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("job", "step", "least"), [("rotate", 9, 6), ("withdraw", 17, 6)])
def test_a_killed_change_was_made_or_not(tmp_path: Path, job: str, step: int, least: int) -> None:
    lab = make_lab(tmp_path)
    new_person(lab, "Bo2")
    lab.seal()
    done = subprocess.run(
        [sys.executable, "-m", "builders.killed_change", str(lab.folder), job, str(step)],
        cwd=ROOT / "tests",
        capture_output=True,
        check=True,
        timeout=600,
    )
    outcomes = json.loads(done.stdout)
    assert len(outcomes) >= least
    assert [outcome["problems"] for outcome in outcomes if outcome["problems"]] == []
    assert {outcome["events"] - outcome["changes"] for outcome in outcomes} == {
        1
    }  # the event is the change
    assert [outcome["changes"] for outcome in outcomes] == sorted(
        outcome["changes"] for outcome in outcomes
    )
    assert outcomes[0]["changes"] == 0
