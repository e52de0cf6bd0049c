"""Engines: the same results from all of them, what each costs, and clusters whose parts are killed.

``python -m benchmarks.executors [same|evaluate|run|kills] ...``; without a word, all of them. Times
are ratios of one sitting: nothing else should be at work. ``kills`` takes the better part of an
hour on a machine that has other work.
"""

import ctypes
import hashlib
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from benchmarks.compare_ten import write_submissions
from benchmarks.curate_speed import PR_SET_CHILD_SUBREAPER, cpu
from benchmarks.measure import DATA
from builders.algorithms import algorithm_folder, images_set
from builders.killed_clusters import VICTIMS, killed_clusters

EXECUTORS = tuple((name, workers) for name in ("local", "dask") for workers in (1, 2, 3))
BOOTSTRAPS, BURNT_CASES, BURNT_S, TRIALS = 10_000, 40, 2.0, 50
BURN = f"""#!/usr/bin/python3 -I
import sys, time
while time.process_time() < {BURNT_S}:
    sum(number * number for number in range(10_000))
"""


def main() -> None:
    """Print the tables that were asked for."""
    # orphans of a command come back to this process, so that their CPU time is counted
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.environ["POLARS_MAX_THREADS"] = "1"
    parts = {"same": same, "evaluate": evaluate_speed, "run": run_speed, "kills": kills}
    for name in sys.argv[1:] or parts:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            parts[name](Path(folder))
            print(flush=True)


def _command(*words: str) -> tuple[float, float]:
    """CPU and wall seconds of a command with all its processes."""
    return cpu(["-m", "nodulebench", *words])


def _executor(name: str, workers: int) -> tuple[str, ...]:
    return ("--executor", name, "--workers", str(workers))


def same(folder: Path) -> None:
    """Every engine with 1, 2 and 3 workers writes the same bytes."""
    marks = [str(path) for path in write_submissions(folder)[:3]]
    sets: dict[str, set[str]] = {"evaluate": set(), "phantom": set()}
    for name, workers in EXECUTORS:
        out = folder / f"{name}-{workers}"
        executor = _executor(name, workers)
        _command(
            *("evaluate", *marks, "--reference", str(DATA / "luna16"), "--bootstraps", "200"),
            *("--out", str(out / "result"), *executor),
        )
        sets["evaluate"].add(_digest(out / "result"))
        _command("phantom", str(out / "set"), "--count", "3", "--matrix", "96", *executor)
        sets["phantom"].add(_digest(out / "set"))
    print("| command | engines x workers | different results |")
    print("|---|---|---|")
    for command, digests in sets.items():
        print(f"| {command} | {len(EXECUTORS)} | {len(digests) - 1} |")


def _digest(folder: Path) -> str:
    """Of all files of a folder, whose own name a manifest may hold."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    parts = [f"{path.relative_to(folder)} ".encode() + path.read_bytes() for path in files]
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


def evaluate_speed(folder: Path) -> None:
    """Ten algorithms on 888 scans with 10,000 replicates."""
    marks = [str(path) for path in write_submissions(folder)]
    spent = {
        (name, workers): _command(
            *("evaluate", *marks, "--reference", str(DATA / "luna16")),
            *("--bootstraps", str(BOOTSTRAPS), "--out", str(folder / f"{name}-{workers}")),
            *_executor(name, workers),
        )
        for name, workers in (("local", 1), ("local", 2), ("dask", 1), ("dask", 2))
    }
    _table("evaluate, ten algorithms, 10,000 replicates", spent)
    wall = {key: seconds for key, (_, seconds) in spent.items()}
    print(f"\ndask 2 / local 2: {wall['dask', 2] / wall['local', 2]:.2f} (at most 1.1)")
    print(f"dask 1 / dask 2: {wall['dask', 1] / wall['dask', 2]:.2f} (at least 1.6)")


def run_speed(folder: Path) -> None:
    """An algorithm that computes on every case."""
    header = BURN + "".join(
        f"\n{line}"
        for line in (
            "import json, pathlib",
            "name = json.loads(pathlib.Path(sys.argv[1], 'case.json').read_text())['case_id']",
            "words = 'seriesuid,coordX,coordY,coordZ,probability\\n%s,1,2,3,0.5\\n' % name",
            "pathlib.Path(sys.argv[2], 'marks.csv').write_text(words)",
        )
    )
    algorithm = algorithm_folder(folder / "burn", header, memory_gb=1)
    cases = images_set(folder / "set", BURNT_CASES)
    spent = {
        (name, workers): _command(
            *("run", str(algorithm), str(cases), "--isolation", "none"),
            *("--out", str(folder / f"{name}-{workers}"), *_executor(name, workers)),
        )
        for name, workers in (("local", 1), ("local", 2), ("dask", 1), ("dask", 2))
    }
    _table(f"run, {BURNT_CASES} cases of {BURNT_S:g} s", spent)
    ratio = spent["dask", 1][1] / spent["dask", 2][1]
    print(f"\ndask 1 / dask 2: {ratio:.2f} (at least 1.8)")


def _table(what: str, spent: dict[tuple[str, int], tuple[float, float]]) -> None:
    print(f"| {what}: engine | workers | CPU s | wall s |")
    print("|---|---|---|---|")
    for (name, workers), (used, wall) in spent.items():
        print(f"| {name} | {workers} | {used:.1f} | {wall:.1f} |", flush=True)


def kills(folder: Path) -> None:
    """Fifty seeded kills of runner, worker and scheduler in turn."""
    hit: Counter[str] = Counter()
    good: Counter[str] = Counter()
    with killed_clusters(folder) as clusters:
        for seed in range(TRIALS):
            result, victim = clusters.kill_one_and_go_on(seed)
            is_same = all(result[name].equals(table) for name, table in clusters.whole.items())
            hit[victim] += 1
            good[victim] += is_same
            print(f"{seed + 1} {victim} {is_same}", file=sys.stderr, flush=True)
    print("| killed | trials | marks and RUNS as undisturbed |")
    print("|---|---|---|")
    for victim in (*VICTIMS, "none"):
        if hit[victim]:
            print(f"| {victim} | {hit[victim]} | {good[victim]} |")


if __name__ == "__main__":
    main()
