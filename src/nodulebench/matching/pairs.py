"""Which marks lie near which nodules, without testing every mark on every nodule."""

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray, unroll

_FARTHEST_MM = 1e5
_PART = 500_000  # marks and nodules that are sorted together at a time


def pairs_within(
    mark_case: IntArray,
    mark_xyz: FloatArray,
    nodule_case: IntArray,
    nodule_xyz: FloatArray,
    radius_mm: FloatArray,
) -> tuple[IntArray, IntArray]:
    """Marks strictly inside a sphere around nodules of the same case.

    Marks are sorted by case and x once; for each nodule only the marks whose x is within its
    radius are tested, so the cost is n log n plus the number of near pairs. Large sets are taken
    by runs of cases, so that they need no large arrays.

    Returns:
        Two arrays of equal length (mark, nodule), ordered by nodule, then mark.
    """
    cases = int(max(mark_case.max(initial=-1), nodule_case.max(initial=-1))) + 1
    load = np.cumsum(
        np.bincount(mark_case, minlength=cases) + 2 * np.bincount(nodule_case, minlength=cases)
    )
    part_of_case = (load - 1) // _PART
    pairs = [np.empty((2, 0), dtype=np.int64)]
    for part in np.unique(part_of_case):
        first, last = np.searchsorted(part_of_case, [part, part + 1])
        marks = np.flatnonzero((mark_case >= first) & (mark_case < last))
        nodules = np.flatnonzero((nodule_case >= first) & (nodule_case < last))
        # keys order by case, then by x; what is beyond all patients counts as there
        far, apart = _FARTHEST_MM, np.float64(4 * _FARTHEST_MM)
        x, reach = nodule_xyz[nodules, 0], radius_mm[nodules]
        mark_key = mark_case[marks] * apart + np.clip(mark_xyz[marks, 0], -far, far)
        order = np.argsort(mark_key)
        sorted_key, slack = mark_key[order], 4 * np.spacing(mark_key.max(initial=1.0))
        low = nodule_case[nodules] * apart + np.clip(x - reach, -far, far) - slack
        high = nodule_case[nodules] * apart + np.clip(x + reach, -far, far) + slack
        begin, stop = np.searchsorted(sorted_key, low), np.searchsorted(sorted_key, high, "right")
        near, position = unroll(begin, np.maximum(stop - begin, 0))
        mark, nodule = marks[order[position]], nodules[near]
        difference = mark_xyz[mark] - nodule_xyz[nodule]
        squares = difference * difference
        # summed left to right, as the official LUNA16 program does: the last bit decides at the rim
        distance_squared = squares[:, 0] + squares[:, 1] + squares[:, 2]
        is_inside = distance_squared < (radius_mm * radius_mm)[nodule]
        is_inside &= mark_case[mark] == nodule_case[nodule]
        pairs.append(np.stack([mark[is_inside], nodule[is_inside]]))
    mark, nodule = np.concatenate(pairs, axis=1)
    by_nodule = np.lexsort((mark, nodule))
    return mark[by_nodule], nodule[by_nodule]


def nearest_in_case(
    case: IntArray, xyz: FloatArray, other_case: IntArray, other_xyz: FloatArray
) -> tuple[pl.Series, FloatArray]:
    """For each place the nearest of others in the same case, the first of equals.

    Returns:
        Its row, null where the case has none, and its distance, NaN there.
    """
    is_small = int(other_case.max(initial=0)) < 1 << 16  # such numbers are sorted at once
    by_case = np.argsort(other_case.astype(np.uint16) if is_small else other_case, kind="stable")
    sorted_case = other_case[by_case]
    first = np.searchsorted(sorted_case, case)
    length = np.searchsorted(sorted_case, case, "right") - first
    place, position = unroll(first, length)
    other = by_case[position]
    with np.errstate(over="ignore"):  # beyond all patients is infinitely far
        squared = np.square(other_xyz[other] - xyz[place]).sum(axis=1)
    start = (np.cumsum(length) - length)[length > 0]
    least = np.full(len(case), np.nan)
    least[length > 0] = np.minimum.reduceat(squared, start) if len(start) else []
    is_least = np.flatnonzero(squared == least[place])
    is_least = is_least[first_of_each(place[is_least])]
    nearest = np.full(len(case), -1, dtype=np.int64)
    nearest[place[is_least]] = other[is_least]
    return pl.Series(nearest).replace(-1, None), np.sqrt(least)


def first_of_each(*keys: IntArray) -> BoolArray:
    """Which entries of sorted arrays begin a new combination of values."""
    is_first = np.ones(len(keys[0]), dtype=np.bool_)
    is_first[1:] = False
    for key in keys:
        is_first[1:] |= key[1:] != key[:-1]
    return is_first
