"""Marks of a scan and of its variant -> whether the relation between them holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nodulebench.core.arrays import BoolArray, Columns, FloatArray, IntArray
from nodulebench.core.notices import Notice
from nodulebench.runner.robustness.variants import InsertedNodule


@dataclass(frozen=True, eq=False)
class Marks(Columns):
    """What an algorithm said of one scan."""

    center_mm: FloatArray
    """n x 3."""
    score: FloatArray


@dataclass(frozen=True, slots=True)
class RelationVerdict:
    """Whether a relation held, and what was measured."""

    is_passed: bool | None
    """None: nothing could be said, see ``measured``."""
    measured: Notice


def partners(one: FloatArray, other: FloatArray, tolerance_mm: float) -> tuple[IntArray, IntArray]:
    """Pairs of points that are each other's nearest and at most ``tolerance_mm`` apart."""
    from scipy.spatial import cKDTree

    if not len(one) or not len(other):
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing
    distance, nearest = cKDTree(other).query(one)
    there, back = np.asarray(nearest), np.asarray(cKDTree(one).query(other)[1])
    first = np.arange(len(one))
    is_pair = (back[there] == first) & (np.asarray(distance) <= tolerance_mm)
    return first[is_pair], there[is_pair].astype(np.int64)


def same_marks(
    expected: Marks,
    found: Marks,
    *,
    tolerance_mm: float,
    least: float,
    score_tolerance: float | None = None,
) -> RelationVerdict:
    """The variant has the marks of the scan, moved as it was.

    Args:
        expected: marks of the scan, where they are in the variant.
        found: marks of the variant.
        tolerance_mm: how far apart the same mark may be.
        least: the least share of marks with a partner, of both lists together.
        score_tolerance: how far scores of partners may differ, as a share of the spread of all;
            None: scores are not looked at.
    """
    if not len(expected) and not len(found):
        return RelationVerdict(None, Notice("no_marks_at_all"))
    first, second = partners(expected.center_mm, found.center_mm, tolerance_mm)
    if score_tolerance is not None and len(first):
        spread = float(np.ptp(np.concatenate([expected.score, found.score])))
        apart = np.abs(expected.score[first] - found.score[second])
        first = first[apart <= score_tolerance * spread + 1e-9]
    share = 2 * len(first) / (len(expected) + len(found))
    counts = {"agreeing": len(first), "before": len(expected), "after": len(found)}
    told = Notice("marks_agree", {**counts, "share": share, "least": least})
    return RelationVerdict(share >= least, told)


def unchanged_marks(
    expected: Marks, found: Marks, *, tolerance_mm: float, count: int, least: float
) -> RelationVerdict:
    """The highest-scored marks of the scan are among those of the variant.

    How many of all marks agree is told beside, and not judged.
    """
    top = expected.chosen(np.argsort(-expected.score, kind="stable")[:count])
    if not len(top):
        return RelationVerdict(None, Notice("no_marks_before"))
    first, _ = partners(top.center_mm, found.center_mm, tolerance_mm)
    share = len(first) / len(top)
    every, _ = partners(expected.center_mm, found.center_mm, tolerance_mm)
    among_all = 2 * len(every) / (len(expected) + len(found))
    values = {"kept": len(first), "top": len(top), "share": share, "least": least, "all": among_all}
    return RelationVerdict(share >= least, Notice("highest_stay", values))


def is_found(nodules: Sequence[InsertedNodule], marks: Marks, tolerance_mm: float) -> BoolArray:
    """Which nodules have a mark within their radius, or within the tolerance if that is more."""
    return np.array(
        [
            bool(len(marks))
            and float(np.linalg.norm(marks.center_mm - nodule.center_mm, axis=1).min())
            <= max(nodule.diameter_mm / 2, tolerance_mm)
            for nodule in nodules
        ],
        dtype=np.bool_,
    )


def found_and_nothing_else(
    nodules: Sequence[InsertedNodule],
    before: Marks,
    after: Marks,
    *,
    large_mm: float,
    tolerance_mm: float,
    margin_mm: float,
    least: float,
) -> RelationVerdict:
    """Every large inserted nodule is found, and marks away from the nodules stay as they were."""
    found = is_found(nodules, after, tolerance_mm)
    is_large = np.array([nodule.diameter_mm >= large_mm for nodule in nodules], dtype=np.bool_)
    away = [marks.chosen(_is_away(marks, nodules, margin_mm)) for marks in (before, after)]
    rest = same_marks(*away, tolerance_mm=tolerance_mm, least=least)
    large = {"large_found": int(found[is_large].sum()), "large": int(is_large.sum())}
    values = {**large, "found": int(found.sum()), "total": len(found), "elsewhere": rest.measured}
    is_passed = bool(found[is_large].all()) and rest.is_passed is not False
    return RelationVerdict(is_passed, Notice("inserted_found", values))


def _is_away(marks: Marks, nodules: Sequence[InsertedNodule], margin_mm: float) -> BoolArray:
    away = np.ones(len(marks), dtype=np.bool_)
    for nodule in nodules:
        apart = np.linalg.norm(marks.center_mm - nodule.center_mm, axis=1)
        away &= apart > nodule.diameter_mm / 2 + margin_mm
    return away


def never_rising(
    names: Sequence[Notice], found: Sequence[int], total: int, chance: int
) -> RelationVerdict:
    """From one variant to the next worse one no more nodules are found, but for chance."""
    if not any(found):
        return RelationVerdict(None, Notice("never_found", {"total": total}))
    rises = [later - earlier for earlier, later in pairwise(found)]
    told = Notice("found_by_step", {"total": total, "steps": _counted(names, found)})
    return RelationVerdict(max(rises, default=0) <= chance, told)


def still_found(
    nodules: Sequence[InsertedNodule], before: BoolArray, after: BoolArray, large_mm: float
) -> RelationVerdict:
    """Large nodules that were found are found still."""
    is_large = np.array([nodule.diameter_mm >= large_mm for nodule in nodules], dtype=np.bool_)
    known = is_large & before
    if not known.any():
        return RelationVerdict(None, Notice("no_large_found_before"))
    kept, total = int((known & after).sum()), int(known.sum())
    return RelationVerdict(kept == total, Notice("large_stay", {"kept": kept, "total": total}))


def as_many(
    nodules: Sequence[InsertedNodule],
    runs: Sequence[tuple[Notice, Marks]],
    *,
    large_mm: float,
    tolerance_mm: float,
    factor: float,
    few: int,
) -> RelationVerdict:
    """Large nodules that were found stay found, and there are about as many marks.

    Args:
        nodules: what was drawn into the scan.
        runs: the name and the marks of the scan, then those of its variants.
        large_mm: nodules from this size on count.
        tolerance_mm: how far from a nodule a mark may lie.
        factor: how many times more or fewer marks a variant may have.
        few: numbers of marks that differ by no more than this are alike, whatever the factor.
    """
    names, marks = zip(*runs, strict=True)
    if not len(marks[0]):
        return RelationVerdict(None, Notice("no_marks_before"))
    is_large = np.array([nodule.diameter_mm >= large_mm for nodule in nodules], dtype=np.bool_)
    first, *others = (is_found(nodules, mark, tolerance_mm) & is_large for mark in marks)
    kept = first & np.logical_and.reduce(others)
    counts = [len(mark) for mark in marks]
    is_alike = [
        abs(count - counts[0]) <= few or max(count, counts[0]) <= factor * min(count, counts[0])
        for count in counts[1:]
    ]
    values = {"kept": int(kept.sum()), "total": int(first.sum()), "factor": factor}
    told = Notice("about_as_many", {**values, "counts": _counted(names, counts)})
    return RelationVerdict(bool(np.array_equal(kept, first)) and all(is_alike), told)


def _counted(names: Sequence[Notice], counts: Sequence[int]) -> list[Notice]:
    """What each variant is called, with a number."""
    pairs = zip(names, counts, strict=True)
    return [Notice("variant_counted", {"variant": name, "count": count}) for name, count in pairs]
