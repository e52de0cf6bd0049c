"""Folder -> the state of a set after a change of it was killed at operations on files.

A separate program, as ``builders.killed_sealing``, and called likewise: FOLDER, the change
(rotate, withdraw), and the step between two operations at which it is killed.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pyrage  # noqa: F401 - imported here, so that the forks need not

from builders.killed_sealing import in_child, is_killed_at
from builders.sealed import SealedLab
from nodulebench.custody.keys import rotate
from nodulebench.custody.sealed_set import open_sealed
from nodulebench.custody.verify import verify_sealed
from nodulebench.custody.withdrawal import withdraw

JOBS = {
    "rotate": lambda lab: rotate(lab.sealed, lab.key("Bo"), key=lab.folder / "bo2.key.pub"),
    "withdraw": lambda lab: withdraw(lab.sealed, lab.key("Ada"), cases=["scan1"], reason="x"),
}


def outcome(lab: SealedLab) -> dict[str, Any]:
    """Open what a killed change left, as the auditor would, verify it, and say what it is."""
    answer = lab.folder / "answer.json"

    def work() -> None:
        opened = open_sealed(lab.sealed, lab.key("Cem"), "inspect")
        verification = verify_sealed(lab.sealed, own_key=lab.key("Safe"))
        report = {
            "problems": [str(problem) for problem in verification.problems],
            "changes": len(opened.changes),
            "events": len(verification.events),
        }
        answer.write_text(json.dumps(report))

    if in_child(work):
        return {"problems": ["it could not be opened"]}
    document: dict[str, Any] = json.loads(answer.read_text())
    return document


def main(folder: str, job: str, step: str) -> None:
    """Run as a program."""
    lab = SealedLab(Path(folder))
    fresh = lab.folder / "fresh"
    shutil.copytree(lab.sealed, fresh)
    outcomes: list[dict[str, Any]] = []
    while is_killed_at(lab, len(outcomes) * int(step), JOBS[job]):
        outcomes.append(outcome(lab))
        shutil.rmtree(lab.sealed)
        shutil.copytree(fresh, lab.sealed)
    sys.stdout.write(json.dumps(outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
