"""Candidate detectors on real nodules: blocks of LUNA16 scans, cut again at random places.

``python -m benchmarks.candidate_blocks --detectors isicad,largecad --folds 0,1``
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import polars as pl

from benchmarks.candidate_findings import (
    FIVE,
    Case,
    Findings,
    joined_findings,
)
from benchmarks.candidate_tables import (
    MemberScore,
    nodules_to_find,
    print_cpu,
    print_groups,
    print_linkages,
    print_losses,
    print_table,
    score_all_members,
)
from benchmarks.lidc_character import with_character
from benchmarks.measure import DATA
from benchmarks.proposals import Proposals, findings_of, stored_proposals
from nodulebench.core.arrays import BoolArray
from nodulebench.core.tables import Reference
from nodulebench.detection.scan import prepare_scan
from nodulebench.detection.train_classifier import listed_folds
from nodulebench.imaging.lungs import segment_part_of_lung
from nodulebench.io.lidc_blocks import (
    FOLDS,
    findings_inside,
    read_blocks,
    trimmed,
)
from nodulebench.io.marks.luna16 import read_reference

SEED = 16
SIZES_MM = (0.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 100.0)


def block_cases(
    folds: Sequence[int], seed: int = SEED, data: Path = DATA, *, is_trimmed: bool = True
) -> Iterator[Case]:
    """Blocks of some folds with LUNA16's nodules and excluded findings."""
    truth = luna16_truth(data)
    for block in read_blocks(data / "nodule_blocks", folds):
        inside = findings_inside(block, truth)
        seen = trimmed(block, inside, seed) if is_trimmed else block
        volume = seen.volume
        yield Case(
            block.block_id,
            prepare_scan(volume, block.block_id, segment_part_of_lung(volume, block.block_id)),
            findings_inside(seen, truth),
            block.fold,
            is_whole=False,
        )


def series_folds(data: Path = DATA) -> dict[str, int]:
    """The fold of each scan of which a block or all is at hand."""
    blocks = pl.read_csv(data / "nodule_blocks" / "blocks.csv")["seriesuid"]
    lungs = pl.read_csv(data / "whole_lungs" / "scans.csv")["seriesuid"]
    scans = pl.read_csv(data / "ct" / "scans.csv")["SeriesInstanceUID"]
    known = listed_folds(data / "luna16")
    used = sorted({*blocks, *lungs, *scans})
    return {series: known[series] for series in used if series in known}


def luna16_truth(data: Path = DATA) -> Reference:
    """LUNA16's nodules with the ratings of LIDC-IDRI's readers."""
    truth = read_reference(data / "luna16")
    nodules = with_character(truth.nodules, data / "lidc" / "marks.csv.xz")
    return replace(truth, nodules=nodules)


def nodule_groups(nodules: pl.DataFrame) -> dict[str, BoolArray]:
    """Nodules by diameter, density and number of readers."""
    diameter = nodules["diameter_mm"].to_numpy()
    groups: dict[str, BoolArray] = {}
    for low, high in pairwise(SIZES_MM):
        name = f"{low:g}–{high:g} mm" if high < SIZES_MM[-1] else f"{low:g} mm and more"
        groups[name] = (diameter >= low) & (diameter < high)
    density = nodules["density"].fill_null("readers undecided")
    for name in ("solid", "part_solid", "ground_glass", "calcified", "readers undecided"):
        groups[name.replace("_", "-")] = (density == name).to_numpy()
    for readers in (3, 4):
        groups[f"{readers} readers"] = (nodules["agreement"] == readers).fill_null(False).to_numpy()
    return groups


def print_missed(findings: Findings, score: MemberScore) -> None:
    """Print what some detectors together miss, largest first."""
    nodules = nodules_to_find(findings.reference).with_columns(is_hit=pl.Series(score.is_hit))
    print("| block | nodule | diameter (mm) | density | readers |")
    print("|---|---|---|---|---|")
    for row in (
        nodules.filter(~pl.col("is_hit")).sort("diameter_mm", descending=True).iter_rows(named=True)
    ):
        block = row["case_id"].removeprefix("1.3.6.1.4.1.14519.5.2.1.6279.6001.")
        print(
            f"| {block} | {row['nodule_id']} | {row['diameter_mm']:.1f} | "
            f"{row['density'] or 'undecided'} | {row['agreement']} |"
        )


def find_in_fold(fold: int, names: Sequence[str], seed: int, keep: Path | None) -> Findings:
    """What detectors say of one fold, with weights that never saw it."""
    return findings_of(block_proposals(fold, keep, seed), names)


def block_proposals(fold: int, keep: Path | None, seed: int = SEED) -> list[Proposals]:
    """What detectors propose in the blocks of a fold."""
    folder = None if keep is None else keep / f"seed{seed}-fold{fold}"
    return stored_proposals(lambda: block_cases([fold], seed), folder)


def main() -> None:
    """Print the tables that the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--detectors", default=",".join(FIVE), help="names, with commas")
    parser.add_argument("--folds", default=",".join(map(str, FOLDS)), help="0 to 9, with commas")
    parser.add_argument("--seed", type=int, default=SEED, help="of the random cuts")
    parser.add_argument("--keep", type=Path, help="folder for measured candidates")
    parser.add_argument("--missed", action="store_true", help="list what each detector misses")
    options = parser.parse_args()
    names = ["centre", *options.detectors.split(",")]
    folds = [int(fold) for fold in options.folds.split(",")]
    findings = joined_findings(
        [find_in_fold(fold, names, options.seed, options.keep) for fold in folds]
    )
    scores = score_all_members(findings)
    print(
        f"{findings.reference.cases.height} blocks of folds {options.folds}, "
        f"{findings.lung_litres:.1f} litres of lung, cut at random (seed {options.seed})\n"
    )
    print_table(findings, scores)
    together = {name for name in names if name in FIVE}
    shown = [score for score in scores if len(score.members) == 1 or set(score.members) == together]
    print()
    print_groups(shown, nodule_groups(nodules_to_find(findings.reference)))
    if set(FIVE) <= set(names):
        print()
        print_linkages(findings)
        print()
        print_losses(findings)
    print()
    print_cpu(findings)
    if options.missed:
        for score in shown[1:]:
            print(f"\nMissed by {'+'.join(score.members)}:\n")
            print_missed(findings, score)


if __name__ == "__main__":
    main()
