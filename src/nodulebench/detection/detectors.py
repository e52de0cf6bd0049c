"""Detectors by name and a chest -> candidates: what a detector's name means, wherever it is run.

A detector's candidates are those in the lungs or at most a slack from them, as the second look
judges them, the most likely first. Several detectors together look side by side, on as many cores
as there are; what they found is merged, the two nearest first.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType

import polars as pl

from nodulebench.core.tables import MARKS, Submission
from nodulebench.detection.candidates import LONGEST_FIRST
from nodulebench.detection.classifiers.false_positive_reduction import (
    candidates_to_score,
    proposals,
)
from nodulebench.detection.scan import Candidates, Chest
from nodulebench.matching.combine import MergedPosition, is_near_lungs, merge_candidates

Stage = Callable[[str], AbstractContextManager[None]]
"""What is being done, by name."""
MOST_THREADS = 2
"""More would wait for M5L, and would need more memory."""


def detect_nodules(
    names: Sequence[str], chest: Chest, fold: int | None = None, place: MergedPosition = "best"
) -> Candidates:
    """The candidates of one detector, or of several together.

    Args:
        names: of the detectors.
        chest: the scan.
        fold: all weights are those that never saw it; None: those of all folds.
        place: where a candidate of several detectors lies.
    """
    return together(candidates_to_score(proposed(names, chest, fold), chest, fold), place)


def candidates_of(name: str, chest: Chest, fold: int | None = None) -> Candidates:
    """The candidates of one detector, the most likely first."""
    return detect_nodules((name,), chest, fold)


def proposed(
    names: Sequence[str],
    chest: Chest,
    fold: int | None = None,
    *,
    stage: Stage = lambda _: nullcontext(),
    threads: int | None = None,
    weights: Mapping[str, Path] = MappingProxyType({}),
) -> dict[str, Candidates]:
    """What each detector proposes, in the order of the names; the same however many look at once.

    Args:
        names: of the detectors.
        chest: the scan.
        fold: their own classifiers are those that never saw it; None: those of all folds.
        stage: told which detector looks, in the thread in which it does.
        threads: how many look at once; None: two where there are two cores.
        weights: files of their own classifiers, in place of the packaged ones.
    """

    def look(name: str) -> Candidates:
        with stage(name):
            return proposals_near_lungs(name, chest, fold, weights.get(name))

    count = min(len(names), threads or min(cores(), MOST_THREADS))
    if count <= 1:
        return {name: look(name) for name in names}
    place = {name: number for number, name in enumerate(LONGEST_FIRST)}
    pool = ThreadPoolExecutor(count)
    try:
        # detectors of other packages first: they may take long
        order = sorted(names, key=lambda name: place.get(name, -1))
        started = {name: pool.submit(look, name) for name in order}
        return {name: started[name].result() for name in names}
    finally:
        pool.shutdown(cancel_futures=True)


def cores() -> int:
    """How many cores this process may use, or fewer where it is told to compute on fewer.

    Processes that read a scan each are (:mod:`~nodulebench.core.executors.preload_single_thread`).
    """
    is_told = hasattr(os, "sched_getaffinity")  # not by every system
    there = len(os.sched_getaffinity(0)) if is_told else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(there, int(wanted))) if wanted.isdecimal() else there


def proposals_near_lungs(
    name: str, chest: Chest, fold: int | None = None, weights: Path | None = None
) -> Candidates:
    """What a detector proposes in the lungs or at most a slack from them, by its own score."""
    return near_lungs(proposals(name, chest, fold, weights), chest)


def near_lungs(found: Candidates, chest: Chest) -> Candidates:
    """Candidates in the lungs or at most a slack from them, best first."""
    kept = is_near_lungs(found.center_mm, chest.lungs.mask, chest.volume.geometry)
    return found.chosen(kept).best(len(found))


def together(found: Mapping[str, Candidates], place: MergedPosition = "best") -> Candidates:
    """Candidates closer than 5 mm are one, the most likely first.

    How likely that is, is the mean of what the detectors say; one that proposes nothing there says
    0, for what several propose is a nodule more often.

    Args:
        found: what each detector proposed, with probabilities as scores.
        place: where a merged candidate lies: with its best part, or at their mean (LUNA16).
    """
    if len(found) == 1:
        return next(iter(found.values()))
    parts = [Submission(name, _as_marks(one)) for name, one in found.items()]
    marks = merge_candidates(parts, place=place, score="agreed").submission.marks
    joined = Candidates(
        marks.select("x_mm", "y_mm", "z_mm").to_numpy().reshape(-1, 3),
        marks["score"].to_numpy(),
        marks["diameter_mm"].to_numpy(),
    )
    return joined.best(len(joined))


def _as_marks(found: Candidates) -> pl.DataFrame:
    marks = pl.DataFrame(
        {
            **{f"{axis}_mm": found.center_mm[:, at] for at, axis in enumerate("xyz")},
            "score": found.score,
            "diameter_mm": found.diameter_mm,
        }
    )
    named = marks.with_columns(
        case_id=pl.lit("case"), mark_id=pl.int_range(1, pl.len() + 1).cast(pl.String)
    )
    return MARKS.conform(named, "candidates")
