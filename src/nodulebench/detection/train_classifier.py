"""Blocks of CT and whole scans with known nodules -> candidates with features -> a classifier."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import InputError
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.tables import Reference
from nodulebench.detection.classifiers.models import Examples
from nodulebench.detection.classifiers.weights import TRAINED, Classifier, Measured, write_weights
from nodulebench.detection.scan import Chest, prepare_scan
from nodulebench.imaging.lungs import segment_part_of_lung
from nodulebench.io.csv_files import CsvFile
from nodulebench.io.images.case_images import read_case_image
from nodulebench.io.lidc_blocks import FOLDS, findings_inside, read_blocks
from nodulebench.io.marks.luna16 import read_reference

SEED = 0
NO_FOLD = -1
"""Of scans that LUNA16 does not have: no fold leaves them out."""
VOXELS_OF_PAIRS = (".raw", ".zraw")
"""The second file of an image of two, as LUNA16's are."""


@dataclass(frozen=True, eq=False)
class ClassifierExamples:
    """A block or a scan with its findings."""

    name: str
    chest: Chest
    findings: pl.DataFrame
    """Nodules and ignored findings."""
    fold: int
    is_whole: bool


def block_examples(
    blocks: Path, reference: Reference, folds: Iterable[int] = FOLDS
) -> Iterator[ClassifierExamples]:
    for block in read_blocks(blocks, folds):
        lungs = segment_part_of_lung(block.volume, block.block_id)
        chest = prepare_scan(block.volume, block.block_id, lungs)
        inside = findings_inside(block, reference)
        yield ClassifierExamples(block.block_id, chest, inside, block.fold, is_whole=False)


def scan_examples(
    scans: Path, reference: Reference, fold_of: dict[str, int]
) -> Iterator[ClassifierExamples]:
    """All scans of a folder, each a case that ``detect`` reads, named after its series."""
    for path in sorted(scans.iterdir()):
        if path.suffix in VOXELS_OF_PAIRS:
            continue
        image = read_case_image(path)
        if image.name not in reference.cases["case_id"]:
            raise InputError.at(path, f"is the scan '{image.name}', which the reference lacks.")
        findings = reference.nodules.filter(pl.col("case_id") == image.name)
        fold = fold_of.get(image.name, NO_FOLD)
        yield ClassifierExamples(
            image.name, prepare_scan(image.volume, str(path)), findings, fold, is_whole=True
        )


def listed_folds(reference: Path) -> dict[str, int]:
    """The fold of each scan, if a LUNA16 folder has ``folds.csv``."""
    path = reference / "folds.csv"
    if not path.is_file():
        return {}
    table = CsvFile(path).read_columns(text=("seriesuid",), numbers=("fold",))
    rows = table.select("seriesuid", "fold").iter_rows()
    return {str(series): int(fold) for series, fold in rows}


def collect_examples(
    name: str, lessons: Iterable[ClassifierExamples], progress: Progress = no_progress
) -> Examples:
    """Find candidates and measure them; those on ignored findings are left out."""
    parts, nodules = [], 0
    for number, lesson in enumerate(lessons):
        measured = TRAINED[name].find(lesson.chest)
        case_examples = examples_of(
            lesson.findings, measured, fold=lesson.fold, is_whole=lesson.is_whole
        )
        parts.append(case_examples.numbered(number, nodules))
        nodules += lesson.findings.height
        progress(lesson.name, max(lesson.fold, 0), len(FOLDS))
    if not parts:
        raise InputError.at("training", "there are no blocks of these folds and no scans.")
    return Examples.joined(*parts)


def examples_of(
    findings: pl.DataFrame, measured: Measured, *, fold: int, is_whole: bool
) -> Examples:
    place = measured.candidates.center_mm
    nodule = nodules_hit(place, findings)
    _, on_ignored = hits(place, findings)
    count = len(place)
    examples = Examples(
        measured.features,
        nodule,
        np.zeros(count, dtype=np.int64),
        np.full(count, fold),
        np.full(count, is_whole),
    )
    return examples.chosen((nodule >= 0) | ~on_ignored)


def hits(place: FloatArray, inside: pl.DataFrame) -> tuple[BoolArray, BoolArray]:
    """Which places lie within the radius of a nodule, and of an ignored finding (LUNA16)."""
    is_hit, is_ignored = _is_hit(place, inside), inside["is_ignored"].to_numpy()
    on_nodule: BoolArray = is_hit[:, ~is_ignored].max(axis=1, initial=False)
    on_ignored: BoolArray = is_hit[:, is_ignored].max(axis=1, initial=False)
    return on_nodule, on_ignored


def nodules_hit(place: FloatArray, inside: pl.DataFrame) -> IntArray:
    """The row of the nodule within whose radius each place is, the first of several; -1: none."""
    is_hit = _is_hit(place, inside) & ~inside["is_ignored"].to_numpy()
    none = np.ones((len(place), 1), dtype=np.bool_)
    first: IntArray = np.concatenate([is_hit, none], axis=1).argmax(axis=1)
    return np.where(first < inside.height, first, -1)


def _is_hit(place: FloatArray, inside: pl.DataFrame) -> BoolArray:
    center = inside.select("x_mm", "y_mm", "z_mm").to_numpy()
    apart = np.linalg.norm(place[:, None] - center[None], axis=2)
    is_hit: BoolArray = apart < diameters(inside) / 2.0
    return is_hit


def diameters(findings: pl.DataFrame) -> FloatArray:
    """Of findings in mm; LUNA16 gives excluded ones without a size a diameter of 10 mm."""
    return findings["diameter_mm"].fill_null(10.0).to_numpy()


def train_on(name: str, examples: Examples, folds: Iterable[int], seed: int = SEED) -> Classifier:
    """A classifier, trained on the candidates of some folds and of scans without one."""
    return TRAINED[name].train(examples.of_folds([*folds, NO_FOLD]), seed)


def train_classifier(
    name: str,
    blocks: Path,
    reference: Path,
    out: Path,
    *,
    scans: Path | None = None,
    without_fold: int | None = None,
    seed: int = SEED,
    progress: Progress = no_progress,
) -> Examples:
    """Train a classifier on blocks and scans, and write its weights.

    ``scans``: folder of whole scans, whose candidates off nodules are realistic false positives.
    ``without_fold``: a fold that is left for testing.
    """
    folds = [fold for fold in FOLDS if fold != without_fold]
    truth = read_reference(reference)
    whole = () if scans is None else scan_examples(scans, truth, listed_folds(reference))
    lessons = chain(block_examples(blocks, truth, folds), whole)
    examples = collect_examples(
        name, (lesson for lesson in lessons if lesson.fold != without_fold), progress
    )
    write_weights(out, train_on(name, examples, folds, seed), TRAINED[name].names, name, folds)
    return examples
