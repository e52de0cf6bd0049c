"""Relations between the marks of a scan and of its variants."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nodulebench.core.arrays import BoolArray, Columns, FloatArray, IntArray
from nodulebench.core.notices import Notice
from nodulebench.runner.robustness.variants import InsertedNodule


@dataclass(frozen=True, eq=False)
class Marks(Columns):
    """An algorithm's marks of one scan."""

    center_mm: FloatArray
    """n x 3."""
    score: FloatArray


@dataclass(frozen=True, slots=True)
class RelationVerdict:
    """Whether a relation held, and what was measured."""

    is_passed: bool | None
    """None: not testable, see ``measured``."""
    measured: Notice


def partners(
    points: FloatArray, others: FloatArray, tolerance_mm: float
) -> tuple[IntArray, IntArray]:
    """Return pairs of points that are each other's nearest and at most ``tolerance_mm`` apart."""
    from scipy.spatial import cKDTree

    if not len(points) or not len(others):
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing
    distance, nearest = cKDTree(others).query(points)
    there, back = np.asarray(nearest), np.asarray(cKDTree(points).query(others)[1])
    first = np.arange(len(points))
    is_pair = (back[there] == first) & (np.asarray(distance) <= tolerance_mm)
    return first[is_pair], there[is_pair].astype(np.int64)


def same_marks(
    expected: Marks,
    observed: Marks,
    *,
    tolerance_mm: float,
    least: float,
    score_tolerance: float | None = None,
) -> RelationVerdict:
    """Check that the variant has the marks of the scan, moved like the scan.

    Args:
        expected: marks of the scan, at their positions in the variant.
        observed: marks of the variant.
        tolerance_mm: maximum distance of the same mark.
        least: minimum share of marks with a partner, of both lists together.
        score_tolerance: maximum difference of partners' scores, as a share of the range of all
            scores; None: scores are not compared.
    """
    if not len(expected) and not len(observed):
        return RelationVerdict(None, Notice("no_marks_at_all"))
    first, second = partners(expected.center_mm, observed.center_mm, tolerance_mm)
    if score_tolerance is not None and len(first):
        spread = float(np.ptp(np.concatenate([expected.score, observed.score])))
        apart = np.abs(expected.score[first] - observed.score[second])
        first = first[apart <= score_tolerance * spread + 1e-9]
    share = 2 * len(first) / (len(expected) + len(observed))
    counts = {"agreeing": len(first), "before": len(expected), "after": len(observed)}
    measured = Notice("marks_agree", {**counts, "share": share, "least": least})
    return RelationVerdict(share >= least, measured)


def unchanged_marks(
    expected: Marks, observed: Marks, *, tolerance_mm: float, count: int, least: float
) -> RelationVerdict:
    """Check that the highest-scored marks of the scan are among those of the variant.

    The agreement of all marks is reported in addition, but not tested.
    """
    top = expected.chosen(np.argsort(-expected.score, kind="stable")[:count])
    if not len(top):
        return RelationVerdict(None, Notice("no_marks_before"))
    first, _ = partners(top.center_mm, observed.center_mm, tolerance_mm)
    share = len(first) / len(top)
    every, _ = partners(expected.center_mm, observed.center_mm, tolerance_mm)
    among_all = 2 * len(every) / (len(expected) + len(observed))
    values = {
        "remaining": len(first),
        "top": len(top),
        "share": share,
        "least": least,
        "all": among_all,
    }
    return RelationVerdict(share >= least, Notice("highest_stay", values))


def is_found(nodules: Sequence[InsertedNodule], marks: Marks, tolerance_mm: float) -> BoolArray:
    """Return which nodules have a mark within their radius, or the tolerance if larger."""
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
    """Check that large inserted nodules are found, and that marks elsewhere do not change."""
    is_hit = is_found(nodules, after, tolerance_mm)
    is_large = np.array([nodule.diameter_mm >= large_mm for nodule in nodules], dtype=np.bool_)
    away = [marks.chosen(_is_away(marks, nodules, margin_mm)) for marks in (before, after)]
    rest = same_marks(*away, tolerance_mm=tolerance_mm, least=least)
    large = {"large_found": int(is_hit[is_large].sum()), "large": int(is_large.sum())}
    values = {**large, "found": int(is_hit.sum()), "total": len(is_hit), "elsewhere": rest.measured}
    is_passed = bool(is_hit[is_large].all()) and rest.is_passed is not False
    return RelationVerdict(is_passed, Notice("inserted_found", values))


def _is_away(marks: Marks, nodules: Sequence[InsertedNodule], margin_mm: float) -> BoolArray:
    away = np.ones(len(marks), dtype=np.bool_)
    for nodule in nodules:
        apart = np.linalg.norm(marks.center_mm - nodule.center_mm, axis=1)
        away &= apart > nodule.diameter_mm / 2 + margin_mm
    return away


def never_rising(
    names: Sequence[Notice], counts: Sequence[int], total: int, chance: int
) -> RelationVerdict:
    """Check that worse variants do not have more nodules found, apart from chance."""
    if not any(counts):
        return RelationVerdict(None, Notice("never_found", {"total": total}))
    rises = [later - earlier for earlier, later in pairwise(counts)]
    measured = Notice("found_by_step", {"total": total, "steps": _counted(names, counts)})
    return RelationVerdict(max(rises, default=0) <= chance, measured)


def still_found(
    nodules: Sequence[InsertedNodule], before: BoolArray, after: BoolArray, large_mm: float
) -> RelationVerdict:
    """Check that large nodules found before are still found."""
    is_large = np.array([nodule.diameter_mm >= large_mm for nodule in nodules], dtype=np.bool_)
    known = is_large & before
    if not known.any():
        return RelationVerdict(None, Notice("no_large_found_before"))
    still, total = int((known & after).sum()), int(known.sum())
    return RelationVerdict(
        still == total, Notice("large_stay", {"remaining": still, "total": total})
    )


def as_many(
    nodules: Sequence[InsertedNodule],
    runs: Sequence[tuple[Notice, Marks]],
    *,
    large_mm: float,
    tolerance_mm: float,
    factor: float,
    few: int,
) -> RelationVerdict:
    """Check that large nodules are still found, and that the number of marks is similar.

    Args:
        nodules: the inserted nodules.
        runs: name and marks of the scan, then those of its variants.
        large_mm: smallest diameter of a large nodule.
        tolerance_mm: maximum distance of a mark from a nodule.
        factor: maximum ratio of the numbers of marks.
        few: numbers of marks that differ by at most this are similar, regardless of the factor.
    """
    names, marks = zip(*runs, strict=True)
    if not len(marks[0]):
        return RelationVerdict(None, Notice("no_marks_before"))
    is_large = np.array([nodule.diameter_mm >= large_mm for nodule in nodules], dtype=np.bool_)
    first, *others = (is_found(nodules, mark, tolerance_mm) & is_large for mark in marks)
    in_all = first & np.logical_and.reduce(others)
    counts = [len(mark) for mark in marks]
    is_alike = [
        abs(count - counts[0]) <= few or max(count, counts[0]) <= factor * min(count, counts[0])
        for count in counts[1:]
    ]
    values = {"remaining": int(in_all.sum()), "total": int(first.sum()), "factor": factor}
    measured = Notice("about_as_many", {**values, "counts": _counted(names, counts)})
    return RelationVerdict(bool(np.array_equal(in_all, first)) and all(is_alike), measured)


def _counted(names: Sequence[Notice], counts: Sequence[int]) -> list[Notice]:
    """Return the name of each variant with a number."""
    pairs = zip(names, counts, strict=True)
    return [Notice("variant_counted", {"variant": name, "count": count}) for name, count in pairs]
