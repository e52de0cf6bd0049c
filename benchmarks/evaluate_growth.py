"""How cost grows: 888, 8,880 and 88,800 scans made by repeating the real submission."""

import math
import tempfile
from pathlib import Path

import polars as pl

from benchmarks.measure import DATA, peak_of_command


def main(factors: tuple[int, ...] = (1, 10, 100)) -> None:
    """Print CPU seconds, seconds per mark x log(marks), and peak memory."""
    print("| scans | marks | CPU s | CPU s / (marks log2 marks) · 1e9 | peak MB |")
    print("|---|---|---|---|---|")
    for factor in factors:
        with tempfile.TemporaryDirectory() as folder:
            count = write_repeated(DATA / "luna16", Path(folder), factor)
            seconds, megabytes = peak_of_command(
                *("-m", "nodulebench", "evaluate", f"{folder}/marks.csv", "--reference", folder),
                *("--out", f"{folder}/out"),
            )
            share = seconds / (count * math.log2(count)) * 1e9
            print(f"| {888 * factor} | {count} | {seconds:.2f} | {share:.1f} | {megabytes:.0f} |")


def write_repeated(source: Path, folder: Path, factor: int) -> int:
    """Write the reference and submission ``factor`` times under new series names."""
    files = {
        "annotations.csv": source / "annotations.csv",
        "annotations_excluded.csv": source / "annotations_excluded.csv.gz",
        "marks.csv": source / "submissions" / "deeplung_dpn26_888.csv.gz",
    }
    count = 0
    for name, path in files.items():
        table = pl.read_csv(path)
        with (folder / name).open("wb") as file:
            for copy in range(factor):
                renamed = table.with_columns(pl.col("seriesuid") + f".{copy}")
                if name == "marks.csv":  # copies must not tie with one another
                    renamed = renamed.with_columns(pl.col("probability") * (1 - 1e-7 * copy))
                    count += renamed.height
                renamed.write_csv(file, include_header=copy == 0)
    series = (source / "seriesuids.csv").read_text().split()
    listed = "".join(f"{uid}.{copy}\n" for copy in range(factor) for uid in series)
    (folder / "seriesuids.csv").write_text(listed)
    return count
