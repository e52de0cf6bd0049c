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


def runs_at(place: Numbers, columns: int) -> Runs:
    """The runs of pixels that are given by their places, row by row."""
    framed = place + place // columns
    is_apart = np.ones(len(framed) + 1, dtype=bool)
    np.not_equal(framed[1:], framed[:-1] + 1, out=is_apart[1:-1])
    return Runs(columns + 1, framed[is_apart[:-1]], framed[is_apart[1:]] + 1)


def pieces_of(runs: Runs, *, over_corners: bool) -> Numbers:
    """The number, from 0, of the piece that each run belongs to.

    Args:
        runs: of a mask.
        over_corners: whether pixels belong together that touch at a corner alone.
    """
    reach = 1 if over_corners else 0
    first = np.searchsorted(runs.stop, runs.start + (runs.width - reach), side="right")
    after = np.searchsorted(runs.start, runs.stop + (runs.width + reach), side="left")
    root = list(range(len(first)))  # of every run one before it in its piece, or itself
    for run, below, end in zip(root.copy(), first.tolist(), after.tolist(), strict=True):
        for other in range(below, end):
            one = run
            while root[one] != one:
                root[one] = one = root[root[one]]
            while root[other] != other:
                root[other] = other = root[root[other]]
            root[max(one, other)] = min(one, other)
    for run, before in enumerate(root):
        root[run] = root[before]
    return np.unique(np.array(root, dtype=np.int64), return_inverse=True)[1]


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
