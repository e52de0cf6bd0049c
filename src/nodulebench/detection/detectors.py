"""Detectors by name and a chest -> candidates, the same wherever a detector runs.

A detector's candidates are those in the lungs or at most a slack from them, with the score of the
false-positive reduction, the most likely first. Several detectors run at once, on as many cores
as there are; their candidates are merged, the two nearest first.
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
"""Called with the name of each step."""
MOST_THREADS = 2
"""More would wait for M5L, and would need more memory."""


def detect_nodules(
    names: Sequence[str], chest: Chest, fold: int | None = None, place: MergedPosition = "best"
) -> Candidates:
    """The candidates of one detector, or of several together.

    ``fold``: all weights are those that never saw it; None: those of all folds.
    """
    return merge_detectors(
        candidates_to_score(propose_each(names, chest, fold), chest, fold), place
    )


def candidates_of(name: str, chest: Chest, fold: int | None = None) -> Candidates:
    return detect_nodules((name,), chest, fold)


def propose_each(
    names: Sequence[str],
    chest: Chest,
    fold: int | None = None,
    *,
    stage: Stage = lambda _: nullcontext(),
    threads: int | None = None,
    weights: Mapping[str, Path] = MappingProxyType({}),
) -> dict[str, Candidates]:
    """The proposals of each detector, in the order of the names; the same on any number of threads.

    ``stage``: called with the name of the running detector, in its thread.
    ``threads``: how many run at once; None: two where there are two cores.
    """

    def run_detector(name: str) -> Candidates:
        with stage(name):
            return proposals_near_lungs(name, chest, fold, weights.get(name))

    count = min(len(names), threads or min(cores(), MOST_THREADS))
    if count <= 1:
        return {name: run_detector(name) for name in names}
    place = {name: number for number, name in enumerate(LONGEST_FIRST)}
    pool = ThreadPoolExecutor(count)
    try:
        # detectors of other packages first: they may take long
        order = sorted(names, key=lambda name: place.get(name, -1))
        started = {name: pool.submit(run_detector, name) for name in order}
        return {name: started[name].result() for name in names}
    finally:
        pool.shutdown(cancel_futures=True)


def cores() -> int:
    """How many cores this process may use, or fewer if ``OMP_NUM_THREADS`` is lower.

    Processes that read a scan each are (:mod:`~nodulebench.core.executors.preload_single_thread`).
    """
    has_affinity = hasattr(os, "sched_getaffinity")  # not by every system
    there = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(there, int(wanted))) if wanted.isdecimal() else there


def proposals_near_lungs(
    name: str, chest: Chest, fold: int | None = None, weights: Path | None = None
) -> Candidates:
    return near_lungs(proposals(name, chest, fold, weights), chest)


def near_lungs(candidates: Candidates, chest: Chest) -> Candidates:
    """Candidates in the lungs or at most a slack from them, best first."""
    is_near = is_near_lungs(candidates.center_mm, chest.lungs.mask, chest.volume.geometry)
    return candidates.chosen(is_near).best(len(candidates))


def merge_detectors(
    proposed: Mapping[str, Candidates], place: MergedPosition = "best"
) -> Candidates:
    """Candidates closer than 5 mm are one, the most likely first.

    Its probability is the mean of all detectors'; one that proposes nothing there counts as 0,
    because a position that several propose is a nodule more often.

    ``place``: the position of a merged candidate: its best part's, or their mean (LUNA16).
    """
    if len(proposed) == 1:
        return next(iter(proposed.values()))
    parts = [Submission(name, _as_marks(candidates)) for name, candidates in proposed.items()]
    marks = merge_candidates(parts, place=place, score="agreed").submission.marks
    joined = Candidates(
        marks.select("x_mm", "y_mm", "z_mm").to_numpy().reshape(-1, 3),
        marks["score"].to_numpy(),
        marks["diameter_mm"].to_numpy(),
    )
    return joined.best(len(joined))


def _as_marks(candidates: Candidates) -> pl.DataFrame:
    marks = pl.DataFrame(
        {
            **{f"{axis}_mm": candidates.center_mm[:, at] for at, axis in enumerate("xyz")},
            "score": candidates.score,
            "diameter_mm": candidates.diameter_mm,
        }
    )
    named = marks.with_columns(
        case_id=pl.lit("case"), mark_id=pl.int_range(1, pl.len() + 1).cast(pl.String)
    )
    return MARKS.conform(named, "candidates")
