"""Qualifying pairs (mark, nodule, cost) -> hits: one mark for a nodule, one nodule for a mark."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, Columns, FloatArray, IntArray
from nodulebench.matching.pairs import first_of_each

_TIE = 1e-9  # share of the cost's range within a component that the second criterion may move


@dataclass(frozen=True, slots=True)
class PossiblePairs(Columns):
    """Pairs of mark and nodule that satisfy a rule, each at most once."""

    mark: IntArray
    nodule: IntArray
    """Its number is its place in the matching order."""
    cost: FloatArray
    """The rule's ranking: the lowest is the best."""
    tie: FloatArray
    """What decides between equal costs: the lowest is the best."""
    mark_place: IntArray
    """For each pair the place of its mark in an order that does not depend on the file's."""
    nodule_place: IntArray
    """Likewise for its nodule."""


def assign_greedily(candidates: PossiblePairs) -> IntArray:
    """Nodules one after another, each takes the best of its marks that is still free.

    The result depends on the order of the nodules; that is the published procedure of NIFDC 2022.

    Returns:
        The entries of ``candidates`` that are hits.
    """
    found = candidates
    order = np.lexsort((found.mark_place, found.tie, found.cost, found.nodule))
    taken_marks: set[int] = set()
    hits = []
    last_nodule = -1
    marks, nodules = found.mark[order].tolist(), found.nodule[order].tolist()
    for entry, mark, nodule in zip(order.tolist(), marks, nodules, strict=True):
        if nodule != last_nodule and mark not in taken_marks:
            hits.append(entry)
            taken_marks.add(mark)
            last_nodule = nodule
    return np.array(hits, dtype=np.int64)


def assign_optimally(candidates: PossiblePairs) -> IntArray:
    """As many hits as possible; among those the lowest total cost, then the lowest total tie.

    Marks and nodules that qualify for each other form groups that are solved one by one. The
    order of the files has no influence.

    Returns:
        The entries of ``candidates`` that are hits.
    """
    if not len(candidates.mark):
        return np.empty(0, dtype=np.int64)
    group = _connected(candidates)
    order = np.lexsort(
        (candidates.nodule_place, candidates.mark_place, candidates.tie, candidates.cost, group)
    )
    found = candidates.chosen(order)
    starts = np.flatnonzero(first_of_each(group[order]))
    stops = np.append(starts[1:], len(order))
    is_shared = _more_than_one(found.mark, starts) & _more_than_one(found.nodule, starts)
    hits = [starts[~is_shared]]  # all pairs of a group share their mark or nodule: the best wins
    hits.extend(
        start + _solve(found.chosen(slice(start, stop)))
        for start, stop in zip(starts[is_shared], stops[is_shared], strict=True)
    )
    return np.sort(order[np.concatenate(hits)])


def _connected(candidates: PossiblePairs) -> IntArray:
    """The number of the group that each pair belongs to."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    mark = np.unique(candidates.mark, return_inverse=True)[1]
    nodule = np.unique(candidates.nodule, return_inverse=True)[1] + mark.max() + 1
    size = int(nodule.max()) + 1
    graph = coo_array((np.ones(len(mark)), (mark, nodule)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)[mark]


def _more_than_one(value: IntArray, starts: IntArray) -> BoolArray:
    """Whether the run that begins at each start holds different values."""
    low: IntArray = np.minimum.reduceat(value, starts)
    high: IntArray = np.maximum.reduceat(value, starts)
    return np.asarray(low != high)


def _solve(group: PossiblePairs) -> IntArray:
    """The hits of one group, by linear assignment in an order free of the files' order."""
    from scipy.optimize import linear_sum_assignment

    row = np.unique(group.nodule_place, return_inverse=True)[1]
    column = np.unique(group.mark_place, return_inverse=True)[1]
    shape = int(row.max()) + 1, int(column.max()) + 1
    # a pair that does not qualify costs more than all hits together, so their number comes first
    cost = np.full(shape, 2.0 * min(shape) + 2.0)
    cost[row, column] = _unit(group.cost) + _TIE * _unit(group.tie)
    entry = np.full(shape, -1, dtype=np.int64)
    entry[row, column] = np.arange(len(row))
    chosen = entry[linear_sum_assignment(cost)]
    return chosen[chosen >= 0]


def _unit(value: FloatArray) -> FloatArray:
    span = np.ptp(value)
    return (value - value.min()) / span if span > 0 else np.zeros_like(value)
