"""A slice -> whether text is written into its picture: by its header, and outside of the body.

Letters are drawn in one value with sharp edges; what a scanner sees is blurred and noisy. So small
pieces outside of the body in which most pixels have the very same value are taken for letters, and
several of them side by side for text. Letters with smoothed edges are known by being as bright as
anything in the picture. Text that lies over the body is not found.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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
    from scipy import ndimage

    air = (AIR_LIMIT_HU - intercept) / slope
    pieces, count = ndimage.label(stored > air, structure=np.ones((3, 3)))
    if count < 2:
        return None
    boxes = ndimage.find_objects(pieces)
    letters = [
        box for number, box in enumerate(boxes, 1) if _is_uniform(stored, pieces, number, box)
    ]
    found = _line_of(letters)
    if found is not None:
        return found
    # smoothed letters run into each other; at half their brightness they come apart
    body = 1 + int(np.argmax([_area(box) for box in boxes]))
    outside = np.where(pieces == body, stored.min(), stored)
    peak = float(stored.max())
    bright, count = ndimage.label(outside > (air + peak) / 2)
    if count < FEWEST_LETTERS:
        return None
    letters = [
        box for box in ndimage.find_objects(bright) if _is_as_bright(outside, box, air, peak)
    ]
    return _line_of(letters)


def _is_uniform(
    stored: npt.NDArray[Any], pieces: npt.NDArray[Any], number: int, box: tuple[slice, ...]
) -> bool:
    """Whether most of a small piece has the very same value."""
    if not _is_of_letter_size(box):
        return False
    values = stored[box][pieces[box] == number]
    _, counts = np.unique(values, return_counts=True)
    return bool(len(values) >= LEAST_PIXELS and counts.max() >= UNIFORM_SHARE * len(values))


def _is_as_bright(
    outside: npt.NDArray[Any], box: tuple[slice, ...], air: float, peak: float
) -> bool:
    """Whether a small piece is about as bright as anything in the picture."""
    if not _is_of_letter_size(box):
        return False
    return bool(outside[box].max() - air >= PEAK_SHARE * (peak - air))


def _is_of_letter_size(box: tuple[slice, ...]) -> bool:
    height, width = (side.stop - side.start for side in box)
    return bool(LEAST_HEIGHT <= height <= MOST_HEIGHT and width <= 2 * MOST_HEIGHT)


def _area(box: tuple[slice, ...]) -> int:
    height, width = (side.stop - side.start for side in box)
    return int(height * width)


def _line_of(letters: list[tuple[slice, ...]]) -> BurnedIn | None:
    """The first run of letters that stand side by side on a line."""
    ordered = sorted(letters, key=lambda box: (box[1].start, box[0].start))
    for first in ordered:
        height = first[0].stop - first[0].start
        last, run = first, 1
        for other in ordered:
            gap = other[1].start - last[1].stop
            is_level = other[0].start < first[0].stop and first[0].start < other[0].stop
            if other is not first and is_level and -1 <= gap <= 2 * height:
                last, run = other, run + 1
        if run >= FEWEST_LETTERS:
            return BurnedIn(run, first[0].start, first[1].start)
    return None
