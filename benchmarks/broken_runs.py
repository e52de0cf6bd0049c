"""Commands that write, broken off everywhere: what is lost, stuck, doubled or told badly?

Each command is killed at every operation on files, meets a full disk at every one, and loses its
power at every one. ``python -m benchmarks broken_runs [STEP]`` tries every STEPth only.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
JOBS = (
    *("evaluate", "evaluate --force", "compare", "report", "sign", "sign anew", "sign --new-key"),
    *("test-plan freeze", "bundle", "convert to a table", "convert to a folder", "combine"),
    *("draw", "coverage", "conformance export", "seal", "seal --encrypt-images"),
    *("seal --new-vault-key", "custody new-key", "custody admit", "custody rotate"),
    *("custody revoke", "custody rekey", "custody retire", "custody withdraw", "custody migrate"),
    *("evaluate --roster", "report of kept results", "compare of kept results"),
    *("curate", "curate --export", "bundle --curated", "receive", "phantom", "train"),
    *("deidentify", "deidentify --jobs 2", "reference build", "reference build, again"),
    *("reference rename", "reference priors"),
)
WAYS = ("killed", "full", "power_cut")


def main() -> None:
    """Print a table, and below it whatever went wrong."""
    step = sys.argv[2] if len(sys.argv) > 2 else "1"
    print("| command | killed | full disk | power cut | lost | stuck | doubled | badly told |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    wrong = []
    for job in JOBS:
        found = [outcome(job, way, step) for way in WAYS]
        kinds = ("lost", "stuck", "doubled", "untold")
        counts = [sum(len(one[kind]) for one in found) for kind in kinds]
        cells = [*(one["runs"] for one in found), *counts]
        print(f"| `{job}` | " + " | ".join(map(str, cells)) + " |", flush=True)
        wrong += [f"{job}: {told}" for one in found for kind in kinds for told in one[kind]]
    print("\n".join(wrong))


def outcome(job: str, way: str, step: str) -> dict[str, Any]:
    """What came of one command broken off in one way."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "builders.broken_runs", folder, job, way, step],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
