"""A slice -> whether text is written into its picture: by its header, and outside of the body.

Letters are drawn in one value with sharp edges; what a scanner sees is blurred and noisy. So small
pieces outside of the body in which most pixels have the very same value are taken for letters, and
several of them side by side for text. Letters with smoothed edges are known by being as bright as
anything in the picture. Text that lies over the body is not found.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nodulebench.deidentify.pieces import Numbers, Runs, boxes_of, pieces_of, runs_of

AIR_LIMIT_HU = -300
"""What is denser is body, table or something drawn."""
LEAST_HEIGHT, MOST_HEIGHT = 5, 64
"""Of a letter, in pixels."""
LEAST_PIXELS = 6
UNIFORM_SHARE = 0.5
"""Share of a letter's pixels that have its commonest value."""
PEAK_SHARE = 0.8
"""A smoothed letter reaches this share of the brightest value of the picture."""
FEWEST_LETTERS = 3
"""Side by side."""


@dataclass(frozen=True, slots=True)
class BurnedIn:
    """Why text is thought to be in a picture."""

    letters: int
    row: int
    column: int

    def __str__(self) -> str:
        return f"{self.letters} letters side by side near row {self.row}, column {self.column}"


def header_says_so(dataset: Any) -> str:
    """What in a header says that the picture may hold text; empty: nothing."""
    if str(dataset.get("BurnedInAnnotation", "")).upper() == "YES":
        return "its header says that text is burned in"
    kinds = [str(value).upper() for value in dataset.get("ImageType", None) or []]
    if any(word in kinds for word in ("SECONDARY", "SCREEN SAVE", "SCREENSHOT")):
        return f"it is no original picture ({' '.join(kinds)})"
    return ""


def find_text(stored: npt.NDArray[Any], slope: float, intercept: float) -> BurnedIn | None:
    """Text outside of the body on one slice; None: there is none.

    Args:
        stored: rows x columns, as stored.
        slope: from stored values to HU.
        intercept: from stored values to HU.
    """
    air = (AIR_LIMIT_HU - intercept) / slope
    dense = runs_of(_above(stored, air))
    if len(dense.start) < 2:
        return None
    piece = pieces_of(dense, over_corners=True)
    boxes = boxes_of(dense, piece)
    if len(boxes) < 2:
        return None
    is_letter = _are_of_letter_size(boxes)
    is_letter &= _are_uniform(stored, dense.only(is_letter[piece]), piece[is_letter[piece]], boxes)
    found = _line_of(boxes[is_letter])
    if found is not None:
        return found
    # smoothed letters run into each other; at half their brightness they come apart
    peak = float(stored.max())
    height, width = boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]
    outside = dense.only(piece != np.argmax(height * width))
    return _line_of(_bright_letters(stored, outside, air, peak))


def _above(stored: npt.NDArray[Any], limit: float) -> npt.NDArray[np.bool_]:
    """Where a picture is above a limit; whole numbers are compared as such, which is faster."""
    is_whole = np.issubdtype(stored.dtype, np.integer)
    return np.asarray(stored > (math.floor(limit) if is_whole else limit))


def _are_uniform(
    stored: npt.NDArray[Any], runs: Runs, piece: Numbers, boxes: Numbers
) -> npt.NDArray[np.bool_]:
    """For every piece, whether most of it has the very same value; those without runs have not."""
    row, column, run = runs.pixels()
    value, owner = stored[row, column], piece[run]
    order = np.lexsort((value, owner))
    value, owner = value[order], owner[order]
    is_new = np.ones(len(value), dtype=bool)
    is_new[1:] = (value[1:] != value[:-1]) | (owner[1:] != owner[:-1])
    first = np.flatnonzero(is_new)
    commonest = np.zeros(len(boxes), dtype=np.int64)
    np.maximum.at(commonest, owner[first], np.diff(first, append=len(value)))
    size = np.bincount(owner, minlength=len(boxes))
    return np.asarray((size >= LEAST_PIXELS) & (commonest >= UNIFORM_SHARE * size))


def _bright_letters(stored: npt.NDArray[Any], outside: Runs, air: float, peak: float) -> Numbers:
    """Boxes of small pieces outside of the body that are about as bright as anything there is."""
    row, column, _ = outside.pixels()
    values = stored[row, column]
    half = (air + peak) / 2
    if np.count_nonzero(_above(values, half)) < FEWEST_LETTERS * LEAST_HEIGHT:
        return np.empty((0, 4), dtype=np.int64)
    alone = np.full(stored.shape, stored.min())
    alone[row, column] = values
    bright = runs_of(_above(alone, half))
    boxes = boxes_of(bright, pieces_of(bright, over_corners=False))
    if len(boxes) < FEWEST_LETTERS:
        return boxes[:0]
    small = boxes[_are_of_letter_size(boxes)]
    reached = [alone[top:bottom, left:right].max() for top, bottom, left, right in small]
    return small[np.asarray(reached, dtype=float) - air >= PEAK_SHARE * (peak - air)]


def _are_of_letter_size(boxes: Numbers) -> npt.NDArray[np.bool_]:
    height, width = boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]
    return np.asarray(
        (height >= LEAST_HEIGHT) & (height <= MOST_HEIGHT) & (width <= 2 * MOST_HEIGHT)
    )


def _line_of(letters: Numbers) -> BurnedIn | None:
    """The first run of letters that stand side by side on a line."""
    ordered = sorted(letters.tolist(), key=lambda box: (box[2], box[0]))
    for first in ordered:
        top, bottom, left, last_right = first
        run = 1
        for other in ordered:
            gap = other[2] - last_right
            is_level = other[0] < bottom and top < other[1]
            if other is not first and is_level and -1 <= gap <= 2 * (bottom - top):
                last_right, run = other[3], run + 1
        if run >= FEWEST_LETTERS:
            return BurnedIn(run, top, left)
    return None
