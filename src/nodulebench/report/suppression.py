"""Groups of nodules -> which of them may be told, so that no small group follows from the others.

A group that is too small to be told is hidden. It would still follow by subtraction where its
partners and the whole are told: of two strata the other one, of nested ones the outer without the
inner. So more is hidden, the smallest first, until no small group can be worked out.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray

Divisions = Mapping[str, Mapping[str, BoolArray]]
"""Division -> stratum -> which of all nodules it has."""
StratumName = tuple[str, str]
"""A division and the name of a stratum in it."""
_NOTHING = 1e-6
"""What is left of a group that follows from what is told."""


def hidden_strata(divisions: Divisions, minimum: int) -> set[StratumName]:
    """The strata that may not be told beside figures of the whole.

    No group of fewer nodules than the minimum is then a sum or difference of what is told: no
    stratum, nothing that two strata share or do not share, nothing that the told strata of a
    division leave over of the whole.

    Args:
        divisions: the strata; they may overlap within a division and between divisions.
        minimum: how many nodules can be told.
    """
    names = [(division, name) for division, strata in divisions.items() for name in strata]
    if not names:
        return set()
    every = np.array([divisions[division][name] for division, name in names])
    parts, counts = _different_columns(every)
    """The strata as unions of parts, within which nodules are in the same strata throughout."""
    sizes = parts @ counts
    is_told = (sizes >= minimum) & (sizes > 0)

    def small(groups: list[BoolArray]) -> BoolArray:
        sums = np.array(groups) @ counts
        few = np.array(groups)[(sums > 0) & (sums < minimum)]
        return _different_columns(few.T)[0].T

    apart = small(_apart(parts))
    while is_told.any():
        left = small([_left_over(parts, names, is_told, division) for division in divisions])
        place = _follows(parts[is_told], np.vstack([apart, left]), sizes[is_told])
        if place is None:
            break
        is_told[np.flatnonzero(is_told)[place]] = False
    return {
        name for name, told, size in zip(names, is_told, sizes, strict=True) if size and not told
    }


def _different_columns(table: BoolArray) -> tuple[BoolArray, IntArray]:
    """The columns of a table, each once and in order, and how often each is there."""
    bits = np.ascontiguousarray(np.packbits(table, axis=0).T)
    # whole columns as one value each are sorted ten times as fast as row by row
    whole = bits.view(np.dtype((np.void, bits.shape[1]))).ravel()
    _, first, counts = np.unique(whole, return_index=True, return_counts=True)
    return table[:, first], counts


def members_by_name(
    of_nodule: Sequence[str], names: Iterable[str], whole: int
) -> dict[str, BoolArray]:
    """Stratum -> its nodules, where the first nodules of the whole have a stratum each."""
    held = np.array(of_nodule, dtype=np.object_)
    more = max(0, whole - len(held))
    return {name: np.pad(held == name, (0, more)) for name in names}


def _follows(told: BoolArray, small: BoolArray, sizes: IntArray) -> int | None:
    """The smallest stratum by which, with others and the whole, a small group can be worked out."""
    rows = np.vstack([np.ones(told.shape[1]), told]).astype(np.float64)
    groups: FloatArray = small.astype(np.float64)
    shares = groups @ np.linalg.pinv(rows)
    is_known = np.abs(shares @ rows - groups).max(axis=1, initial=0.0) < _NOTHING
    used = [np.flatnonzero(np.abs(share[1:]) > _NOTHING) for share in shares[is_known]]
    return next((int(found[np.argmin(sizes[found])]) for found in used if len(found)), None)


def _apart(parts: BoolArray) -> list[BoolArray]:
    """The strata, what is beside each, and what two of them share or do not share."""
    found = [*parts, *~parts]
    for one, other in combinations(parts, 2):
        found += [one & ~other, other & ~one, one & other, ~(one | other)]
    return found


def _left_over(
    parts: BoolArray, names: list[StratumName], is_told: BoolArray, division: str
) -> BoolArray:
    """What the told strata of a division leave over of the whole."""
    is_in = is_told & np.array([name[0] == division for name in names])
    left: BoolArray = ~parts[is_in].any(axis=0)
    return left
