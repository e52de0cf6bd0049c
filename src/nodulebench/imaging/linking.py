"""Link boxes on single slices into marks, for algorithms without mark ids."""

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray

BOX_COLUMNS = ("case_id", "slice_index", "center_x_mm", "center_y_mm", "length_mm", "width_mm")


def link_boxes(boxes: pl.DataFrame, *, largest_gap: int = 1) -> IntArray:
    """Link boxes across slices into marks: for each row the number of its mark.

    Two boxes of a case can be linked if their slices are at most ``largest_gap`` apart (1:
    adjacent slices) and the centre of one is in the other, edges included. A box is linked to
    at most one box above it and one below: nearest centres first, nearer slices before farther
    ones. So a mark has one box per slice, and two boxes on one slice stay two marks.

    Within a case, marks are numbered from 0 by their lowest slice, then by x and y. The order of
    the rows does not matter: equal distances are decided by position, size and score.
    """
    decisive = [*BOX_COLUMNS, *(name for name in ("score",) if name in boxes.columns)]
    ranked = boxes.select(decisive).with_row_index("row").sort(*decisive, nulls_last=True)
    above = np.full(boxes.height, -1, dtype=np.int64)
    below = np.full(boxes.height, -1, dtype=np.int64)
    for gap in range(1, largest_gap + 1):
        low, high = _candidates(ranked, gap)
        _link_nearest(low, high, above, below)
    mark = _chain_starts(below)
    numbers = (
        ranked.select("case_id", "row")
        .with_columns(start=mark)
        .with_columns(number=pl.col("start").rank("dense").over("case_id") - 1)
        .sort("row")
    )
    return numbers["number"].cast(pl.Int64).to_numpy()


def _candidates(ranked: pl.DataFrame, gap: int) -> tuple[IntArray, IntArray]:
    """Pairs of boxes, lower and higher slice, that may be linked; nearest centres first."""
    box = ranked.drop("row").with_row_index("rank")
    pairs = box.join(
        box.with_columns(slice_index=pl.col("slice_index") - gap),
        on=["case_id", "slice_index"],
        suffix="_above",
    )
    dx = pl.col("center_x_mm_above") - pl.col("center_x_mm")
    dy = pl.col("center_y_mm_above") - pl.col("center_y_mm")
    in_lower = (2 * dx.abs() <= pl.col("length_mm")) & (2 * dy.abs() <= pl.col("width_mm"))
    in_higher = (2 * dx.abs() <= pl.col("length_mm_above")) & (
        2 * dy.abs() <= pl.col("width_mm_above")
    )
    linked = (
        pairs.filter(in_lower | in_higher)
        .with_columns(distance=dx**2 + dy**2)
        .sort("distance", "rank", "rank_above")
    )
    low, high = (linked[name].cast(pl.Int64).to_numpy() for name in ("rank", "rank_above"))
    return low, high


def _link_nearest(low: IntArray, high: IntArray, above: IntArray, below: IntArray) -> None:
    """Link pairs, best first, while both ends are free; every pass links all mutual bests."""
    while True:
        is_free = (above[low] < 0) & (below[high] < 0)
        low, high = low[is_free], high[is_free]
        if not len(low):
            return
        order = np.arange(len(low))
        best_of_low = np.full(len(above), len(low))
        best_of_high = np.full(len(above), len(low))
        np.minimum.at(best_of_low, low, order)
        np.minimum.at(best_of_high, high, order)
        is_mutual = (best_of_low[low] == order) & (best_of_high[high] == order)
        above[low[is_mutual]] = high[is_mutual]
        below[high[is_mutual]] = low[is_mutual]


def _chain_starts(below: IntArray) -> IntArray:
    """For each box the lowest box of its chain, by doubling the step downwards."""
    start = np.where(below >= 0, below, np.arange(len(below)))
    while True:
        further = start[start]
        if np.array_equal(further, start):
            return start
        start = further


def merged_within(center: FloatArray, weight: FloatArray, distance: float) -> IntArray:
    """The group of each point when points at most ``distance`` apart are merged until none are.

    The two nearest are merged first; a merged point is at the centre of mass of its parts. Groups
    are numbered from 0 in the order of their first points.
    """
    from scipy.spatial import cKDTree

    group = np.arange(len(center))
    places, weights = center.copy(), weight.copy()
    alive = np.arange(len(center))
    while len(alive) > 1:
        distances, ranked = cKDTree(places[alive]).query(places[alive], k=2)
        apart, near = np.asarray(distances)[:, 1], _other(np.asarray(ranked))
        is_pair = (near[near] == np.arange(len(alive))) & (apart <= distance)
        is_pair &= np.arange(len(alive)) < near
        if not is_pair.any():
            nearest = int(np.argmin(apart))
            if apart[nearest] > distance:
                break
            # equal distances in a ring: no point is the nearest of its nearest
            near[near[nearest]] = nearest
            is_pair[min(nearest, near[nearest])] = True
        first, second = alive[is_pair], alive[near[is_pair]]
        total = weights[first] + weights[second]
        share = (weights[second] / total)[:, None]
        places[first] += share * (places[second] - places[first])
        weights[first] = total
        leads_to = np.arange(len(center))
        leads_to[second] = first
        group = leads_to[group]
        alive = np.setdiff1d(alive, second)
    _, numbered = np.unique(group, return_inverse=True)
    return numbered.astype(np.int64)


def _other(near: npt.NDArray[np.generic]) -> IntArray:
    """The nearest point that is not the point itself (points may coincide)."""
    itself = np.arange(len(near))
    return np.where(near[:, 1] == itself, near[:, 0], near[:, 1]).astype(np.int64)
