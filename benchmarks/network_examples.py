"""Blocks of LUNA16 scans and what detectors found in them -> a folder of arrays for networks.

``python -m benchmarks.network_examples OUT --keep DIR`` takes findings of the benchmark
``candidate_blocks`` from DIR, or makes them there. Candidates on excluded findings are left out.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.candidate_blocks import SEED, find_in_fold, luna16_truth
from benchmarks.candidate_findings import FIVE, PLACE
from benchmarks.measure import DATA
from nodulebench.algorithms.networks.examples import Examples, make_examples, write_examples
from nodulebench.algorithms.networks.patches import scans_of
from nodulebench.algorithms.unseen import series_digest
from nodulebench.formats.lidc.nodule_blocks import (
    FOLDS,
    HU_PER_STEP,
    LOWEST_HU,
    findings_inside,
    read_blocks,
)
from nodulebench.workflows.detect.train import hits

NAMES = (*FIVE, "mot_m5lv1")


def block_examples(keep: Path, folds: tuple[int, ...] = FOLDS) -> Examples:
    """Every candidate of every detector, and the nodules themselves."""
    truth = luna16_truth(DATA)
    images, spacing, fold_of, which, place, is_nodule, series = [], [], [], [], [], [], []
    for fold in folds:
        found = find_in_fold(fold, ["centre", *NAMES], SEED, keep)
        marks = pl.concat([found.submissions[name].marks for name in NAMES])
        of_case = marks.partition_by("case_id", as_dict=True)
        for block in read_blocks(DATA / "nodule_blocks", [fold]):
            inside, geometry = findings_inside(block, truth), block.volume.geometry
            nodules = inside.filter(~pl.col("is_ignored")).select(PLACE).to_numpy()
            own = of_case.get((block.block_id,))
            points = nodules if own is None else np.vstack([own.select(PLACE).to_numpy(), nodules])
            on_nodule, on_ignored = hits(points, inside)
            kept = on_nodule | ~on_ignored
            which.append(np.full(int(kept.sum()), len(images)))
            place.append(geometry.to_index(points[kept])[:, ::-1])
            is_nodule.append(on_nodule[kept])
            images.append(
                ((block.volume.hu.astype(np.int32) - LOWEST_HU) // HU_PER_STEP).astype(np.uint8)
            )
            spacing.append(geometry.spacing_mm[::-1])
            fold_of.append(fold)
            series.append(series_digest(block.series))
    return make_examples(
        scans_of(images, np.array(spacing), step_hu=HU_PER_STEP, lowest_hu=LOWEST_HU),
        fold_of,
        np.concatenate(which),
        np.concatenate(place),
        np.concatenate(is_nodule),
        series=series,
        about={"data": f"{len(images)} blocks of LUNA16 scans, candidates of {', '.join(NAMES)}"},
    )


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--keep", type=Path, required=True, help="findings of candidate_blocks")
    given = parser.parse_args()
    examples = block_examples(given.keep)
    write_examples(given.out, examples)
    count, nodules = len(examples.which), int(examples.is_nodule.sum())
    print(f"{len(examples.fold)} blocks, {count} candidates, {nodules} of them on nodules")


if __name__ == "__main__":
    main()
