"""One image, its candidates and findings -> examples, told apart as LUNA16 does."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.tables import PLACE
from nodulebench.detection.block_grid import BlockVoxels, block_voxels
from nodulebench.detection.candidate import Candidates
from nodulebench.detection.classifiers.weights import fold_of_series
from nodulebench.detection.detectors import together
from nodulebench.detection.scan import Chest, see_chest
from nodulebench.detection.systems import found_by_each
from nodulebench.detection.train_classifier import diameters, hits
from nodulebench.imaging.lungs.part_of_lung import segment_part_of_lung
from nodulebench.imaging.volume import Volume
from nodulebench.io.lidc.blocks import HU_PER_STEP, LOWEST_HU, Block, kept_part


@dataclass(frozen=True, eq=False)
class Found:
    """Candidates of one case."""

    place_mm: FloatArray
    score: FloatArray
    is_judged: BoolArray
    """Those of the merged list; the others are learnt from only."""


@dataclass(frozen=True, eq=False)
class CaseExamples:
    """One scan or block as networks see it, and its candidates."""

    case_id: str
    series: str
    fold: int
    seen: BlockVoxels
    part: IntArray
    """2 x 3: the first and last voxel that may be seen when it is judged."""
    found: Found
    is_nodule: BoolArray
    is_learnt: BoolArray
    findings: FloatArray
    """findings x 5: voxel index slice, row, column, diameter in mm, whether it is a nodule."""


@dataclass(frozen=True, eq=False)
class BlockTask:
    """A block in which detectors or networks look for candidates."""

    names: tuple[str, ...]
    block: Block
    findings: pl.DataFrame
    seed: int
    given: Found | None = None
    """Its candidates, where nobody has to look for any."""


def of_block(task: BlockTask) -> CaseExamples:
    """What becomes of a block."""
    block = task.block
    first, last = kept_part(block, task.findings, task.seed)
    whole = BlockVoxels(
        ((block.volume.hu.astype(np.int32) - LOWEST_HU) // HU_PER_STEP).astype(np.uint8),
        block.volume.geometry,
    )
    found = task.given
    if found is None:
        box = tuple(slice(*ends) for ends in zip(first, last + 1, strict=True))
        volume = block.volume.part(box)
        lungs = segment_part_of_lung(volume, block.block_id)
        chest = see_chest(volume, block.block_id, lungs)
        found = detected(task.names, chest, block.series)
    part = np.stack([first, last])
    return _labelled(block.block_id, block.series, block.fold, whole, part, found, task.findings)


def of_scan(
    case_id: str, fold: int, volume: Volume, findings: pl.DataFrame, found: Found
) -> CaseExamples:
    """What becomes of a scan."""
    nodules = findings.filter(~pl.col("is_ignored")).select(PLACE).to_numpy().reshape(-1, 3)
    seen = block_voxels(volume, case_id, np.concatenate([found.place_mm, nodules]))
    last = np.array(seen.voxels.shape, dtype=np.int64) - 1
    part = np.stack([np.zeros(3, dtype=np.int64), last])
    return _labelled(case_id, case_id, fold, seen, part, found, findings)


def detected(names: Sequence[str], chest: Chest, series: str) -> Found:
    """The merged list, by weights that never saw the series, and what else its members propose."""
    each = found_by_each(names, chest, fold_of_series(series), series)
    merged = together(each)
    return _with_others(merged, [one.center_mm for one in each.values()])


def _with_others(judged: Candidates, others_mm: Sequence[FloatArray]) -> Found:
    """Candidates that are judged, and others that do not lie at the same places."""
    known = {tuple(row) for row in judged.center_mm.round(3).tolist()}
    others = [row for part in others_mm for row in part.tolist()]
    fresh = [row for row in others if tuple(np.round(row, 3).tolist()) not in known]
    return _joined(judged, np.array(fresh, dtype=np.float64).reshape(-1, 3))


def _joined(judged: Candidates, others_mm: FloatArray) -> Found:
    count = len(judged)
    return Found(
        np.concatenate([judged.center_mm, others_mm]),
        np.concatenate([judged.score, np.zeros(len(others_mm))]),
        np.arange(count + len(others_mm)) < count,
    )


def given(lists: Sequence[pl.DataFrame], case_id: str) -> Found:
    """The candidates of a case in lists: those of the first are judged, all are learnt from."""
    own, *others = (one.filter(case_id=case_id) for one in lists)
    place = own.select(PLACE).to_numpy().reshape(-1, 3)
    score = own["score"].fill_null(0.0).to_numpy()
    judged = Candidates(place, score, np.full(len(place), np.nan))
    more = [one.select(PLACE).to_numpy().reshape(-1, 3) for one in others]
    return _with_others(judged, more)


def _labelled(
    case_id: str,
    series: str,
    fold: int,
    seen: BlockVoxels,
    part: IntArray,
    found: Found,
    findings: pl.DataFrame,
) -> CaseExamples:
    """Candidates and the nodules themselves, told apart as LUNA16 does."""
    nodules = findings.filter(~pl.col("is_ignored")).select(PLACE).to_numpy().reshape(-1, 3)
    with_nodules = Found(
        np.concatenate([found.place_mm, nodules]),
        np.concatenate([found.score, np.zeros(len(nodules))]),
        np.concatenate([found.is_judged, np.zeros(len(nodules), dtype=np.bool_)]),
    )
    on_nodule, on_ignored = hits(with_nodules.place_mm, findings)
    is_learnt = on_nodule | ~on_ignored
    index = seen.to_index(findings.select(PLACE).to_numpy().reshape(-1, 3))
    columns = (diameters(findings), ~findings["is_ignored"].to_numpy())
    told = np.column_stack([index, *columns])
    return CaseExamples(case_id, series, fold, seen, part, with_nodules, on_nodule, is_learnt, told)
