"""``nodulebench compare``: ten algorithms on 888 scans with 10,000 paired bootstraps."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measure import DATA

ALGORITHMS, BOOTSTRAPS = 10, 10_000


def main() -> None:
    """Print wall and CPU seconds of the whole command, for only the CPM and for every metric."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        names = write_submissions(Path(folder))
        _run(
            *("evaluate", *map(str, names), "--reference", str(DATA / "luna16")),
            *("--bootstraps", "0", "--out", str(out)),
        )
        compare = ("compare", str(out), "--baseline", names[0].stem)
        print("| what | wall s | CPU s |")
        print("|---|---|---|")
        for what, more in (
            ("CPM", ("--metric", "cpm", "--margin", "0.05")),
            ("every metric of the protocol", ()),
        ):
            wall, cpu = _run(*compare, "--bootstraps", str(BOOTSTRAPS), *more)
            print(
                f"| {what}: {ALGORITHMS} algorithms, 888 scans, {BOOTSTRAPS} paired bootstraps, "
                f"2,000 swaps for each pair | {wall:.1f} | {cpu:.1f} |"
            )


def write_submissions(folder: Path) -> list[Path]:
    """A real submission, and nine more with ever noisier scores."""
    real = pl.read_csv(DATA / "luna16" / "submissions" / "deeplung_dpn26_888.csv.gz")
    random = np.random.default_rng(0)
    spread = float(np.std(real["probability"].to_numpy()))
    paths = []
    for number, noise in enumerate(np.linspace(0, 0.5, ALGORITHMS)):
        path = folder / f"algorithm{number}.csv"
        shift = pl.Series(random.normal(scale=noise * spread, size=real.height))
        real.with_columns(pl.col("probability") + shift).write_csv(path)
        paths.append(path)
    return paths


def _run(*arguments: str) -> tuple[float, float]:
    """Wall and CPU seconds of a command."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "nodulebench", *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
