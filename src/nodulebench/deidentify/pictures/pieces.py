"""A mask -> its connected pieces, as runs along rows: a CT slice has many pixels and few runs."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Runs:
    """Pixels of a mask that follow each other in a row, row by row."""

    width: int
    """Columns of the mask and a gap after the last, so that no run goes on in the next row."""
    start: Numbers
    """Row x width + column."""
    stop: Numbers
    """After the last."""

    def only(self, chosen: Flags) -> "Runs":
        """Some of the runs."""
        return Runs(self.width, self.start[chosen], self.stop[chosen])

    def pixels(self) -> tuple[Numbers, Numbers, Numbers]:
        """Row and column of every pixel, and the number of its run."""
        length = self.stop - self.start
        run = np.repeat(np.arange(len(length)), length)
        place = np.arange(len(run)) + (self.start - (np.cumsum(length) - length))[run]
        return *np.divmod(place, self.width), run


def places_of(mask: Flags) -> Numbers:
    """Where a mask is set, row by row, as ``np.flatnonzero``; eight at a time: few mostly are."""
    flat = mask.ravel()
    if len(flat) % 8:
        return np.flatnonzero(flat)
    eights = flat.view(np.uint64)
    some = np.flatnonzero(eights != 0)
    within = np.flatnonzero(eights[some].view(bool))
    return np.asarray((some[within >> 3] << 3) + (within & 7))


def runs_of(mask: Flags) -> Runs:
    """The runs of a mask."""
    rows, columns = mask.shape
    changes = np.empty((rows, columns + 1), dtype=bool)
    changes[:, 0], changes[:, -1] = mask[:, 0], mask[:, -1]
    np.not_equal(mask[:, 1:], mask[:, :-1], out=changes[:, 1:-1])
    change = places_of(changes)
    return Runs(columns + 1, change[0::2], change[1::2])


def pieces_of(runs: Runs, *, over_corners: bool) -> Numbers:
    """The number, from 0, of the piece that each run belongs to.

    Args:
        runs: of a mask.
        over_corners: whether pixels belong together that touch at a corner alone.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    reach = 1 if over_corners else 0
    first = np.searchsorted(runs.stop, runs.start + runs.width - reach, side="right")
    after = np.searchsorted(runs.start, runs.stop + runs.width + reach, side="left")
    touched = np.maximum(after - first, 0)
    before = np.concatenate(([0], np.cumsum(touched)))
    below = np.arange(before[-1]) + np.repeat(first - before[:-1], touched)
    touching = csr_array((np.ones(len(below)), below, before), (len(first),) * 2)
    return np.asarray(connected_components(touching, directed=False)[1], dtype=np.int64)


def boxes_of(runs: Runs, piece: Numbers) -> Numbers:
    """First row, row after the last, first column, column after the last of every piece."""
    order = np.argsort(piece, kind="stable")
    first = np.searchsorted(piece[order], np.arange(piece.max() + 1))
    row, start = np.divmod(runs.start[order], runs.width)
    stop = runs.stop[order] - row * runs.width
    sides = (
        np.minimum.reduceat(row, first),
        np.maximum.reduceat(row, first) + 1,
        np.minimum.reduceat(start, first),
        np.maximum.reduceat(stop, first),
    )
    return np.stack(sides, axis=1)
