"""Candidate detectors on whole chest CT scans whose nodules are known.

``python -m benchmarks.candidate_scans --detectors isicad,largecad``
"""

import argparse
import io
import lzma
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.candidate_blocks import luna16_truth, print_missed
from benchmarks.candidate_findings import FIVE, Case, Findings
from benchmarks.candidate_tables import print_cpu, print_losses, print_table, score_all_members
from benchmarks.measure import DATA
from benchmarks.phantom_likeness import real_scans
from benchmarks.proposals import findings_of, stored_proposals
from nodulebench.core.tables import NODULES
from nodulebench.detection.scan import prepare_scan
from nodulebench.detection.train_classifier import listed_folds
from nodulebench.imaging.geometry import ORIGIN_MM, SPACING_MM
from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.io.lidc_blocks import HU_PER_STEP, LOWEST_HU

OTHER = "NLST-101287"
"""A scan that is not of LIDC-IDRI; its one lesion is known from boxes on eight slices."""


def scan_cases(data: Path = DATA) -> Iterator[Case]:
    """The real scans with LUNA16's nodules, and one more with its lesion."""
    truth = luna16_truth(data)
    fold_of = listed_folds(data / "luna16")
    for name, series, volume in all_scans(data):
        nodules = truth.nodules.filter(pl.col("case_id") == series)
        known = boxed_lesion(data / "ct" / f"{OTHER}_boxes.csv") if name == OTHER else nodules
        yield Case(
            name,
            prepare_scan(volume, name),
            known.with_columns(case_id=pl.lit(name)),
            fold_of.get(series, -1),
        )


def all_scans(data: Path = DATA) -> Iterator[tuple[str, str, Volume]]:
    """Name, series and voxels of every scan at hand."""
    for row in pl.read_csv(data / "whole_lungs" / "scans.csv").iter_rows(named=True):
        with lzma.open(data / "whole_lungs" / row["file"]) as file:
            values = np.load(io.BytesIO(file.read()))
        volume = make_volume(
            values.astype(np.int16) * HU_PER_STEP + LOWEST_HU,
            spacing_mm=[row[axis] for axis in SPACING_MM],
            origin_mm=[row[axis] for axis in ORIGIN_MM],
            where=row["file"],
        )
        yield row["file"].removesuffix(".npy.xz"), row["seriesuid"], volume
    series_of = series_by_name(data)
    for name, volume in real_scans():
        yield name, series_of[name], volume


def series_by_name(data: Path = DATA) -> dict[str, str]:
    """What the series of every scan at hand is called; no image is read."""
    lungs = pl.read_csv(data / "whole_lungs" / "scans.csv")
    whole = pl.read_csv(data / "ct" / "scans.csv")
    names = lungs["file"].str.strip_suffix(".npy.xz").to_list() + whole["id"].to_list()
    series = lungs["seriesuid"].to_list() + whole["SeriesInstanceUID"].to_list()
    return dict(zip(names, series, strict=True))


def boxed_lesion(path: Path) -> pl.DataFrame:
    """One nodule from a box on each of its slices: their middle, and a ball as large."""
    boxes = pl.read_csv(path)
    low = boxes.select(pl.col("minX", "minY", "Z").min()).to_numpy()[0]
    high = boxes.select(pl.col("maxX", "maxY", "Z").max()).to_numpy()[0]
    center = (low + high) / 2
    step = float(np.diff(np.sort(boxes["Z"].to_numpy())).min())
    extent = high - low + np.array([0.0, 0.0, step])
    row = {
        "case_id": OTHER,
        "nodule_id": "lesion",
        **dict(zip(("x_mm", "y_mm", "z_mm"), center.tolist(), strict=True)),
        "diameter_mm": float(np.prod(extent) ** (1 / 3)),
        "is_ignored": False,
    }
    return NODULES.conform(pl.DataFrame([row]), path.name)


def print_scans(findings: Findings) -> None:
    """Print the table, how it splits by scan, and what is missed."""
    scores = score_all_members(findings)
    print_table(findings, scores, "scan")
    shown = [score for score in scores if len(score.members) in (1, len(FIVE))]
    for score in shown:
        if not score.is_hit.all():
            print(f"\nMissed by {'+'.join(score.members)}:\n")
            print_missed(findings, score)


def main() -> None:
    """Print the tables of all scans."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--detectors", default=",".join(FIVE), help="names, with commas")
    parser.add_argument("--keep", type=Path, help="folder for measured candidates")
    options = parser.parse_args()
    names = options.detectors.split(",")
    folder = None if options.keep is None else options.keep / "scans"
    findings = findings_of(stored_proposals(scan_cases, folder), names)
    print(f"{findings.reference.cases.height} scans\n")
    print_scans(findings)
    if set(FIVE) <= set(names):
        print()
        print_losses(findings)
    print()
    print_cpu(findings)


if __name__ == "__main__":
    main()
