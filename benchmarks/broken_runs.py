"""Commands that write, interrupted everywhere: what is lost, stuck, doubled or badly reported?

Each is killed at every operation on files, meets a full disk at every one, and loses its power.
``python -m benchmarks.broken_runs FOLDER`` stores the result of each command in FOLDER, so that an
interrupted run can be continued; ``python -m benchmarks.broken_runs table FOLDER`` prints the
stored results.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WAYS = ("killed", "full", "power_cut")
KINDS = ("lost", "stuck", "doubled", "unclear")
HEADER = (
    *("command", "killed", "full disk", "power cut"),
    *("lost", "stuck", "doubled", "badly reported"),
)


def main() -> None:
    """Break off every command, and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))
        print_table(Path(folder))


def run(folder: Path) -> None:
    """Interrupt every command that was not interrupted yet."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
    subprocess.run(
        [sys.executable, "-m", "builders.broken_runs", "all", str(folder)],
        env={**os.environ, **dict.fromkeys(threads, "1"), "PYTHONPATH": path},
        check=True,
    )


def print_table(folder: Path) -> None:
    """Print the stored results as a table, and below it everything that went wrong."""
    sys.path.insert(0, str(ROOT / "tests"))
    from builders.broken_jobs import JOBS

    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    wrong = []
    for job in JOBS:
        files = {way: folder / f"{job}.{way}.json" for way in WAYS}
        results = {
            way: json.loads(file.read_text(encoding="utf-8"))
            for way, file in files.items()
            if file.exists()
        }
        cells = [_tried(results.get(way)) for way in WAYS]
        cells += [str(sum(len(result[kind]) for result in results.values())) for kind in KINDS]
        print(f"| `{job}` | {' | '.join(cells)} |")
        wrong += [
            f"{job}, {way}, {kind}: {problem}"
            for way, result in results.items()
            for kind in KINDS
            for problem in result[kind]
        ]
    print("\n".join(wrong))


def _tried(result: dict[str, Any] | None) -> str:
    """How often a command was broken off, and at which operations; a dash: not in this way."""
    if result is None:
        return "–"
    return f"{result['runs']}" if result["step"] == 1 else f"{result['runs']} ({result['step']})"


if __name__ == "__main__":
    if sys.argv[1] != "table":
        run(Path(sys.argv[1]))
    print_table(Path(sys.argv[-1]))
