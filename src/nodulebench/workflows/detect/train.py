"""Blocks of CT with known nodules -> a detector's candidates with features -> its classifier."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.algorithms.chest import see_chest
from nodulebench.algorithms.classify.trained import TRAINED
from nodulebench.algorithms.classify.weight_files import Classifier, write_weights
from nodulebench.errors import InputError
from nodulebench.formats.lidc.nodule_blocks import FOLDS, findings_inside, read_blocks
from nodulebench.formats.marks.luna16_csv import read_reference
from nodulebench.imaging.lungs.part_of_lung import segment_part_of_lung
from nodulebench.model.arrays import BoolArray, FloatArray, IntArray
from nodulebench.model.progress import Progress, untold
from nodulebench.model.tables import Reference

SEED = 0


@dataclass(frozen=True, eq=False)
class Examples:
    """Candidates of many blocks to learn from."""

    features: FloatArray
    is_nodule: BoolArray
    fold: IntArray
    blocks: int
    nodules: int
    """Reference nodules in the blocks; some have no candidate, some have several."""

    def of_folds(self, folds: Iterable[int]) -> "Examples":
        """Only the candidates of some folds (blocks and nodules stay those of all)."""
        chosen = np.isin(self.fold, list(folds))
        features, is_nodule = self.features[chosen], self.is_nodule[chosen]
        return replace(self, features=features, is_nodule=is_nodule, fold=self.fold[chosen])


def collect_examples(
    name: str,
    blocks: Path,
    reference: Reference,
    folds: Iterable[int] = FOLDS,
    progress: Progress = untold,
) -> Examples:
    """Run a detector over blocks; candidates on ignored findings are left out.

    Raises:
        InputError: if a block cannot be read or shows no lung.
    """
    detector = TRAINED[name]
    features, is_nodule, fold = [], [], []
    count, nodules = 0, 0
    chosen = list(folds)
    for block in read_blocks(blocks, chosen):
        lungs = segment_part_of_lung(block.volume, block.block_id)
        measured = detector.find(see_chest(block.volume, block.block_id, lungs))
        inside = findings_inside(block, reference)
        on_nodule, on_ignored = hits(measured.candidates.center_mm, inside)
        kept = on_nodule | ~on_ignored
        features.append(measured.features[kept])
        is_nodule.append(on_nodule[kept])
        fold.append(np.full(int(kept.sum()), block.fold))
        count, nodules = count + 1, nodules + int((~inside["is_ignored"]).sum())
        progress(f"fold {block.fold}", chosen.index(block.fold), len(chosen))
    if not count:
        raise InputError.at(str(blocks), "holds no block of these folds.")
    return Examples(
        np.concatenate(features), np.concatenate(is_nodule), np.concatenate(fold), count, nodules
    )


def hits(place: FloatArray, inside: pl.DataFrame) -> tuple[BoolArray, BoolArray]:
    """Which places lie within the radius of a nodule, and of an ignored finding (LUNA16)."""
    center = inside.select("x_mm", "y_mm", "z_mm").to_numpy()
    apart = np.linalg.norm(place[:, None] - center[None], axis=2)
    # LUNA16 gives excluded findings without a size a diameter of 10 mm
    is_hit = apart < inside["diameter_mm"].fill_null(10.0).to_numpy() / 2.0
    is_ignored = inside["is_ignored"].to_numpy()
    return is_hit[:, ~is_ignored].any(axis=1), is_hit[:, is_ignored].any(axis=1)


def train_on(name: str, examples: Examples, folds: Iterable[int], seed: int = SEED) -> Classifier:
    """The classifier of a detector, trained on the candidates of some folds."""
    chosen = examples.of_folds(folds)
    return TRAINED[name].train(chosen.features, chosen.is_nodule, seed)


def train_classifier(
    name: str,
    blocks: Path,
    reference: Path,
    out: Path,
    *,
    without_fold: int | None = None,
    seed: int = SEED,
    progress: Progress = untold,
) -> Examples:
    """Train a detector's classifier on blocks and write its weights.

    Args:
        name: the detector.
        blocks: folder with blocks.csv and the folds.
        reference: LUNA16 folder with the nodules of the scans.
        out: file for the weights.
        without_fold: a fold that is left for testing.
        seed: of everything random.
        progress: told how far the work is.
    """
    folds = [fold for fold in FOLDS if fold != without_fold]
    truth = read_reference(reference)
    examples = collect_examples(name, blocks, truth, folds, progress)
    write_weights(out, train_on(name, examples, folds, seed), TRAINED[name].names)
    return examples
