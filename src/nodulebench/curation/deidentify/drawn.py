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

from nodulebench.curation.deidentify.pieces import (
    Numbers,
    Runs,
    boxes_of,
    pieces_of,
    places_of,
    runs_of,
)

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
    for value in _outstanding(_equal_neighbours(stored, least), least):
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


def _equal_neighbours(stored: npt.NDArray[Any], least: int) -> npt.NDArray[Any]:
    """The value of every pixel above the least that is the same as the one before or above it."""
    flat, width = stored.ravel(), stored.shape[1]
    same = np.zeros(len(flat), dtype=bool)
    np.equal(flat[1:], flat[:-1], out=same[1:])  # at the end of a row, too: one pixel of many
    same[width:] |= flat[width:] == flat[:-width]
    same &= flat > least
    return np.asarray(flat[places_of(same)])


def _outstanding(pairs: npt.NDArray[Any], least: int) -> list[int]:
    """Values that are far commoner among equal neighbours than values beside them.

    Args:
        pairs: the value of each pair of equal neighbours.
        least: what fills the corners, of which few pairs are counted, however large they are.
    """
    first = least - BESIDE
    highest = int(pairs.max(initial=least))
    count = np.bincount(pairs.astype(np.int64) - first, minlength=highest - first + BESIDE + 1)
    count[BESIDE] = MORE_PAIRS + 1
    common = np.flatnonzero(count > MORE_PAIRS)
    around = count[common[:, None] + np.arange(-BESIDE, BESIDE + 1)]
    own, left, right = around[:, BESIDE], around[:, BESIDE - 1], around[:, BESIDE + 1]
    # where there is little noise, all values of air or tissue are common: both neighbours are, too
    near = np.maximum((around.sum(axis=1) - own) / (2 * BESIDE), np.minimum(left, right))
    return list((common[own > TIMES_NEAR * near + MORE_PAIRS] + first).tolist())


def _is_next(stored: npt.NDArray[Any], least: int, value: int) -> bool:
    """Whether nothing in a picture lies between its lowest value and another."""
    flat = stored.ravel()
    return not np.any((flat > least) & (flat < value))


class _Steps(NamedTuple):
    """Places, row by row, that differ much from the one before them, be it in the row above."""

    place: Numbers
    before: npt.NDArray[Any]
    """The value before each."""
    at: npt.NDArray[Any]
    """The value of each."""


def _steps(stored: npt.NDArray[Any], least: float, extent: int) -> _Steps:
    """Where a picture goes up or down by so much from one pixel to the next.

    Args:
        stored: rows x columns, as stored.
        least: the step.
        extent: from the lowest to the highest value; what two bytes hold is taken in two bytes.
    """
    flat = stored.ravel()
    kind = np.int16 if extent < 1 << 15 else np.int64
    step = np.zeros(len(flat), kind)
    np.subtract(flat[1:], flat[:-1], out=step[1:], dtype=kind, casting="unsafe")
    place = places_of(np.abs(step, out=step) >= math.ceil(least))
    return _Steps(place, flat[place - 1], flat[place])


def _sharp_within(stored: npt.NDArray[Any], steps: _Steps, value: int, least: float) -> Runs:
    """The runs of a value that begin and end with a step, at neither border.

    Args:
        stored: rows x columns, as stored.
        steps: of the picture, all that count and maybe smaller ones.
        value: of the runs.
        least: the step that counts.
    """
    flat, width = stored.ravel(), stored.shape[1]
    begin, stop = steps.place[steps.at == value], steps.place[steps.before == value]
    if not len(stop):
        return Runs(width + 1, stop, stop)
    stop = stop[np.searchsorted(stop[:-1], begin, side="right")]  # the first after each beginning
    row = begin // width
    is_within = (begin < stop) & (row * width < begin) & (stop < (row + 1) * width)
    begin, stop, row = begin[is_within], stop[is_within], row[is_within]
    if not len(row):
        return Runs(width + 1, begin, stop)
    beside = flat[np.concatenate((begin - 1, stop))].astype(np.int64)
    is_large = (np.abs(beside - value) >= least).reshape(2, -1).all(axis=0)
    runs = Runs(width + 1, begin + row, stop + row).only(is_large)
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
