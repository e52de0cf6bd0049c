"""The whole scans of the test data -> images, a reference and folds, as ``examples`` takes them.

``python -m benchmarks.network_scans OUT`` writes OUT/images, OUT/luna16 and OUT/folds.csv.
"""

import io
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.candidate_scans import OTHER, boxed_lesion
from benchmarks.measure import DATA
from benchmarks.phantom_likeness import real_scans
from nodulebench.core.tables import CASES, Reference
from nodulebench.imaging.geometry import ORIGIN_MM, SPACING_MM
from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.io.csv_files import write_csv
from nodulebench.io.images import metaimage
from nodulebench.io.lidc_blocks import HU_PER_STEP, LOWEST_HU
from nodulebench.io.marks.luna16 import read_reference, write_reference


def whole_scans() -> Iterator[tuple[str, str, int | None, Volume]]:
    """Name, series, LUNA16's fold (None: of none) and image of every whole scan."""
    table = pl.read_csv(DATA / "ct" / "scans.csv")
    known = {row["id"]: row for row in table.iter_rows(named=True)}
    for name, volume in real_scans():
        yield name, known[name]["SeriesInstanceUID"], known[name]["luna16_fold"], volume
    for row in pl.read_csv(DATA / "whole_lungs" / "scans.csv").iter_rows(named=True):
        with lzma.open(DATA / "whole_lungs" / row["file"]) as file:
            values = np.load(io.BytesIO(file.read()))
        volume = make_volume(
            values.astype(np.int16) * HU_PER_STEP + LOWEST_HU,
            spacing_mm=[row[axis] for axis in SPACING_MM],
            origin_mm=[row[axis] for axis in ORIGIN_MM],
        )
        yield row["file"], row["seriesuid"], row["fold"], volume


def main() -> None:
    """Write the folder."""
    out = Path(sys.argv[1])
    (out / "images").mkdir(parents=True, exist_ok=True)
    truth = read_reference(DATA / "luna16")
    parts, folds = [], []
    for name, series, fold, volume in whole_scans():
        metaimage.write_volume(volume, out / "images" / f"{series}.mha")
        boxed = boxed_lesion(DATA / "ct" / f"{OTHER}_boxes.csv") if name == OTHER else None
        own = truth.nodules.filter(case_id=series) if boxed is None else boxed
        parts.append(own.with_columns(case_id=pl.lit(series)))
        folds.append((series, fold))
        print(name, series, fold, volume.shape, own.filter(~pl.col("is_ignored")).height)
    table = pl.DataFrame(folds, schema={"seriesuid": pl.String, "fold": pl.Int64}, orient="row")
    cases = CASES.conform(table.select(case_id="seriesuid"), "cases")
    nodules = pl.concat(parts, how="diagonal_relaxed")
    write_reference(Reference("scans", cases, nodules), out / "luna16")
    write_csv(table.drop_nulls(), out / "folds.csv")


if __name__ == "__main__":
    main()
