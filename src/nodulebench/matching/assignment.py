"""Qualifying pairs (mark, nodule, cost) -> hits: one mark for a nodule, one nodule for a mark."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, Columns, FloatArray, IntArray
from nodulebench.core.cohort import (
    DUPLICATE,
    FALSE_POSITIVE,
    HIT,
    IGNORED,
    NO_NODULE,
    Labels,
    OrderSensitivity,
)
from nodulebench.core.notices import Notice
from nodulebench.matching.pairs import first_of_each
from nodulebench.matching.scene import Scene

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
    order = np.lexsort((candidates.mark_place, candidates.tie, candidates.cost, candidates.nodule))
    taken_marks: set[int] = set()
    hits = []
    last_nodule = -1
    marks, nodules = candidates.mark[order].tolist(), candidates.nodule[order].tolist()
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
    assigned = candidates.chosen(order)
    starts = np.flatnonzero(first_of_each(group[order]))
    stops = np.append(starts[1:], len(order))
    is_shared = _more_than_one(assigned.mark, starts) & _more_than_one(assigned.nodule, starts)
    hits = [starts[~is_shared]]  # all pairs of a group share their mark or nodule: the best wins
    hits.extend(
        start + _solve(assigned.chosen(slice(start, stop)))
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


_DECIMALS = 9  # what differs later is rounding, not rank

Assignment = Literal["greedy", "optimal"]
Duplicates = Literal["ignore", "false_positive"]


def one_to_one_labels(
    scene: Scene,
    mark: IntArray,
    nodule: IntArray,
    cost: FloatArray,
    tie: FloatArray | None = None,
    *,
    assignment: Assignment,
    duplicates: Duplicates,
    notices: tuple[Notice, ...] = (),
) -> Labels:
    """Label every mark of the scene once.

    Nodules that have to be found are assigned first. A mark left over that satisfies the rule on
    such a nodule is a second mark on it: a ``duplicate``, or a ``false_positive`` if the protocol
    counts them. A mark left over that satisfies the rule on an ignored finding is ``ignored``,
    never a false positive. All others are false positives. Entries of one nodule are sorted best
    first.

    Pairs, each once, include those on ignored findings. The lowest cost is the best; between equal
    costs ``tie`` decides, or the score and the mark's id.
    """
    by_id = _id_order(scene.submission.marks["mark_id"].gather(scene.mark_row))
    score = np.zeros(scene.mark_count) if scene.mark_score is None else scene.mark_score
    place = np.argsort(np.lexsort((by_id, -score)))  # from the highest score down, then by id
    pairs = PossiblePairs(
        mark=mark,
        nodule=nodule,
        cost=np.round(cost, _DECIMALS),
        tie=np.round(place[mark].astype(np.float64) if tie is None else tie, _DECIMALS),
        mark_place=place[mark],
        nodule_place=_id_order(scene.reference.nodules["nodule_id"])[nodule],
    )
    is_on_target = scene.is_target[nodule]
    on_target = pairs.chosen(is_on_target)
    assign = assign_greedily if assignment == "greedy" else assign_optimally
    hit = assign(on_target)
    hit_mark, hit_nodule = on_target.mark[hit], on_target.nodule[hit]

    is_free = np.ones(scene.mark_count, dtype=np.bool_)
    is_free[hit_mark] = False
    second_mark, second_nodule = _best_nodules(on_target, is_free)
    on_ignored = pairs.chosen(~is_on_target)
    ignored_mark, ignored_nodule = _best_nodules(on_ignored, is_free)
    if duplicates == "ignore":
        keep = ~np.isin(ignored_mark, second_mark)
        ignored_mark, ignored_nodule = ignored_mark[keep], ignored_nodule[keep]
    else:
        keep = ~np.isin(second_mark, ignored_mark)
        second_mark, second_nodule = second_mark[keep], second_nodule[keep]
    is_free[second_mark] = is_free[ignored_mark] = False
    false_mark = np.flatnonzero(is_free)
    parts = (
        (hit_mark, hit_nodule, HIT),
        (second_mark, second_nodule, DUPLICATE if duplicates == "ignore" else FALSE_POSITIVE),
        (ignored_mark, ignored_nodule, IGNORED),
        (false_mark, np.full_like(false_mark, NO_NODULE), FALSE_POSITIVE),
    )
    backwards = replace(on_target, nodule=on_target.nodule.max(initial=0) - on_target.nodule)
    return Labels(
        mark=np.concatenate([marks for marks, _, _ in parts]),
        nodule=np.concatenate([nodules for _, nodules, _ in parts]),
        label=np.concatenate([np.full_like(marks, label) for marks, _, label in parts]),
        notices=notices,
        order=OrderSensitivity(
            in_order=len(assign_greedily(on_target)),
            reversed_order=len(assign_greedily(backwards)),
            optimal=len(assign_optimally(on_target)),
        ),
    )


def _best_nodules(pairs: PossiblePairs, is_free: BoolArray) -> tuple[IntArray, IntArray]:
    """Each free mark of the pairs with the nodule it fits best, by nodule and best first."""
    free = pairs.chosen(is_free[pairs.mark])
    order = np.lexsort((free.nodule_place, free.tie, free.cost, free.mark))
    best = free.chosen(order[first_of_each(free.mark[order])])
    by_nodule = np.lexsort((best.mark_place, best.tie, best.cost, best.nodule))
    return best.mark[by_nodule], best.nodule[by_nodule]


def _id_order(ids: pl.Series) -> IntArray:
    """The place of each id: whole numbers by value, then other text by its characters."""
    by_id = (
        ids.rename("text")
        .to_frame()
        .with_columns(pl.col("text").cast(pl.Int64, strict=False).alias("number"))
        .with_row_index("row")
        .sort("number", "text", nulls_last=True, maintain_order=True)
    )
    return np.argsort(by_id["row"].to_numpy())
