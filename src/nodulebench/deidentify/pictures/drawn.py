"""A picture -> pixels that were drawn into it: of one value with sharp edges, wherever they lie.

What a scanner sees is noisy: neighbouring pixels are seldom the very same, and no value is much
commoner among such neighbours than the values beside it. What is drawn is of one value, so values
that stand out among equal neighbours are looked for. Three stand out in pictures where nothing is
drawn: what fills the corners, air that was cut off, metal that was cut off. Of these, runs of
pixels count that begin and end all at once, which nothing that a scanner sees does.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nodulebench.deidentify.pictures.pieces import Numbers, Runs, boxes_of, pieces_of, runs_of

TIMES_NEAR, MORE_PAIRS = 3, 12
"""A value stands out that has so many times the equal neighbours of values beside it, and more."""
BESIDE = 8
"""How many values on either side are beside one."""
LEAST_PIXELS, LEAST_SIDE = 4, 4
"""Of a piece that counts."""
LEAST_ALTOGETHER = 14
"""Pixels of all pieces of one value: two small letters."""
READABLE_HU = 20.0
"""What is drawn differs so much from what lies beside it, or nobody could read it."""
SHARP_HU = 300.0
"""From one pixel to the next; air that a scanner sees fades into tissue over several."""
METAL_HU = 2500.0
"""Above the lowest value: from there on the highest value may be metal that was cut off."""
SHARP_SHARE = 0.3
"""The same for metal, as a share of its height over air."""
_NOTHING = np.empty((0, 4), dtype=np.int64)


def drawn_boxes(stored: npt.NDArray[Any], slope: float) -> Numbers:
    """First row, row after the last, first column, column after the last of what was drawn.

    Args:
        stored: rows x columns, as stored.
        slope: from stored values to HU.
    """
    least, most = int(stored.min()), int(stored.max())
    if least == most:
        return _NOTHING
    metal = most if (most - least) * abs(slope) >= METAL_HU else None
    steps: _Steps | None = None
    for value in _outstanding(_equal_neighbours(stored, least)):
        is_lowest = value == least or (value != most and _is_next(stored, least, value))
        if is_lowest or value == metal:
            steps = steps or _steps(stored, SHARP_HU / abs(slope), most - least)
            steep = SHARP_HU / abs(slope) if is_lowest else SHARP_SHARE * (most - least)
            boxes = _boxes(_sharp_within(stored, steps, value, steep), LEAST_SIDE)
        else:
            runs = runs_of(stored == value)
            boxes = _boxes(runs.only(_are_sharp(stored, runs, value, READABLE_HU / abs(slope))), 1)
        if len(boxes):
            return boxes
    return _NOTHING


def _equal_neighbours(stored: npt.NDArray[Any], least: int) -> Numbers:
    """The value of every pixel that is the same as the one before or above it.

    Of what fills the corners there is one pair for each, however large they are.
    """
    flat, width = stored.ravel(), stored.shape[1]
    same = np.zeros(len(flat), dtype=bool)
    np.equal(flat[1:], flat[:-1], out=same[1:])  # at the end of a row, too: one pixel of many
    same[width:] |= flat[width:] == flat[:-width]
    same &= flat > least
    return np.concatenate((np.full(MORE_PAIRS + 1, least), _chosen(flat, same))).astype(np.int64)


def _chosen(flat: npt.NDArray[Any], chosen: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """``flat[chosen]``, which takes twice as long where few are chosen, here and there."""
    if len(flat) % 8:
        return np.asarray(flat[chosen])
    some = np.flatnonzero(chosen.view(np.uint64) != 0)  # eight at a time
    within = np.flatnonzero(chosen.reshape(-1, 8)[some])
    return np.asarray(flat.reshape(-1, 8)[some].ravel()[within])


def _outstanding(pairs: Numbers) -> list[int]:
    """Values that are far commoner among equal neighbours than values beside them."""
    lowest = int(pairs.min())
    count = np.bincount(pairs - lowest, minlength=2 * BESIDE + 1)
    window = np.ones(2 * BESIDE + 1)
    window[BESIDE] = 0
    near = np.convolve(count, window / (2 * BESIDE), "same")
    # where there is little noise, all values of air or tissue are common: both neighbours are, too
    near[1:-1] = np.maximum(near[1:-1], np.minimum(count[:-2], count[2:]))
    return [int(one) + lowest for one in np.flatnonzero(count > TIMES_NEAR * near + MORE_PAIRS)]


def _is_next(stored: npt.NDArray[Any], least: int, value: int) -> bool:
    """Whether nothing in a picture lies between its lowest value and another."""
    return bool(np.count_nonzero(stored < value) == np.count_nonzero(stored == least))


class _Steps(NamedTuple):
    """Places, row by row, that differ much from the one before them in their row."""

    place: Numbers
    before: Numbers
    """The value before each."""
    at: Numbers
    """The value of each."""


def _steps(stored: npt.NDArray[Any], least: float, extent: int) -> _Steps:
    """Where a picture goes up or down by so much from one pixel of a row to the next.

    Args:
        stored: rows x columns, as stored.
        least: the step.
        extent: from the lowest to the highest value; what two bytes hold is taken in two bytes.
    """
    flat = stored.ravel()
    kind = np.int16 if extent < 1 << 15 else np.int64
    step = np.subtract(flat[1:], flat[:-1], dtype=kind, casting="unsafe")
    place = np.flatnonzero(np.abs(step, out=step) >= math.ceil(least)) + 1
    place = place[place % stored.shape[1] > 0]
    return _Steps(place, flat[place - 1].astype(np.int64), flat[place].astype(np.int64))


def _sharp_within(stored: npt.NDArray[Any], steps: _Steps, value: int, least: float) -> Runs:
    """The runs of a value that begin and end with a step, at neither border.

    Args:
        stored: rows x columns, as stored.
        steps: of the picture, all that count and maybe smaller ones.
        value: of the runs.
        least: the step that counts.
    """
    width = stored.shape[1]
    is_large = np.abs(steps.at - steps.before) >= least
    begin = steps.place[is_large & (steps.at == value)]
    stop = steps.place[is_large & (steps.before == value)]
    nearest = np.searchsorted(begin, stop) - 1  # the last beginning before each end
    is_first = np.diff(nearest, prepend=-1) > 0
    stop, start = stop[is_first], begin[nearest[is_first]]
    in_row = start // width == stop // width
    row = start[in_row] // width
    runs = Runs(width + 1, start[in_row] + row, stop[in_row] + row)
    if not len(runs.start):
        return runs
    rows, columns, run = runs.pixels()
    is_other = stored[rows, columns] != value
    return runs.only(np.bincount(run, is_other, len(runs.start)) == 0)


def _are_sharp(
    stored: npt.NDArray[Any], runs: Runs, value: int, least: float
) -> npt.NDArray[np.bool_]:
    """For every run, whether the pixels before and after it differ much, or are none there."""
    row, first = np.divmod(runs.start, runs.width)
    after = runs.stop - row * runs.width
    before = np.abs(stored[row, np.maximum(first - 1, 0)].astype(np.int64) - value) >= least
    behind = np.minimum(after, stored.shape[1] - 1)
    behind = np.abs(stored[row, behind].astype(np.int64) - value) >= least
    return np.asarray((before | (first == 0)) & (behind | (after == stored.shape[1])))


def _boxes(runs: Runs, least_height: int) -> Numbers:
    """Boxes of the pieces of some runs that are large enough, if they are all together."""
    length = runs.stop - runs.start
    if length.sum() < LEAST_ALTOGETHER:
        return _NOTHING
    piece = pieces_of(runs, over_corners=True)
    boxes = boxes_of(runs, piece)
    size = np.bincount(piece, weights=length, minlength=len(boxes))
    height, width = boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]
    counts = (size >= LEAST_PIXELS) & (np.maximum(height, width) >= LEAST_SIDE)
    counts &= height >= least_height
    return boxes[counts] if size[counts].sum() >= LEAST_ALTOGETHER else _NOTHING
