"""A slice -> whether text is written into its picture: by its header, and by what is seen.

Letters of one value with sharp edges are found wherever they lie (``drawn``). Letters whose edges
were smoothed are known by being small, side by side or below each other outside of the body, and as
bright as anything in the picture. Smoothed text over the body is not found.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nodulebench.curation.deidentify.allowed_values import is_known_code
from nodulebench.curation.deidentify.drawn import drawn_boxes
from nodulebench.curation.deidentify.pieces import (
    Numbers,
    boxes_of,
    pieces_of,
    places_of,
    runs_at,
    runs_of,
)
from nodulebench.curation.deidentify.refusal import RefusedError
from nodulebench.curation.deidentify.signatures import screen_of
from nodulebench.io.dicom.values import many_of, number_of, shared_item, text_of

AIR_LIMIT_HU = -300
"""What is denser is body, table or something drawn."""
AIR_HU = -1024
"""Of air, where stored values begin at 0 and a header does not say what they mean."""
LEAST_HEIGHT, MOST_HEIGHT = 5, 128
"""Of a letter with smoothed edges, in pixels."""
PEAK_SHARE = 0.65
"""A smoothed letter reaches this share of the brightest value of the picture."""
FEWEST_LETTERS = 3
"""Side by side, of smoothed ones."""
MOST_DENSE_AROUND = 4
"""Of eight places around a letter; other letters stand at its sides."""
NO_ORIGINALS = ("SECONDARY", "SCREEN SAVE", "SCREENSHOT", "SCREEN_SAVE", "SCREEN")


@dataclass(frozen=True, slots=True)
class BurnedIn:
    """Why text is thought to be in a picture."""

    letters: int
    row: int
    column: int


def refuse_by_header(dataset: Any) -> None:
    """Refuse a slice whose header says that its picture may hold text, frames included.

    Raises:
        RefusedError: if something in the header says so.
    """
    groups = [dataset, *_groups(dataset, "CTImageFrameTypeSequence")]
    for group in groups:
        if text_of(group, "BurnedInAnnotation").upper() == "YES":
            raise RefusedError("burned_in_said")
        kinds = [
            str(value).upper()
            for keyword in ("ImageType", "FrameType")
            for value in many_of(group, keyword)
        ]
        if any(word in kinds for word in NO_ORIGINALS):
            known = [kind for kind in kinds if is_known_code("ImageType", kind)]
            raise RefusedError("no_original", type=" ".join(known))
    screen = screen_of(dataset)
    if screen:
        raise RefusedError("device_screen", screen=screen)


def _groups(dataset: Any, name: str) -> Iterator[Any]:
    """The items of one kind of functional group, of all frames."""
    for keyword in ("SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence"):
        for item in dataset.get(keyword) or []:
            yield from item.get(name) or []


def scales_of(dataset: Any, frames: int) -> list[tuple[float, float]]:
    """Slope and intercept from stored values to HU, of every frame."""
    shared = next(iter(dataset.get("SharedFunctionalGroupsSequence") or []), None)
    each = list(dataset.get("PerFrameFunctionalGroupsSequence") or [])
    if shared is None and not each:
        return [_scale(dataset)] * frames
    name = "PixelValueTransformationSequence"
    found = [_scale(shared_item(one, shared, name)) for one in each[:frames]]
    return found + [_scale(shared_item(None, shared, name))] * (frames - len(found))


def _scale(group: Any) -> tuple[float, float]:
    slope, intercept = (number_of(group, f"Rescale{name}") for name in ("Slope", "Intercept"))
    return (slope or 1.0, intercept or 0.0)


def find_text(stored: npt.NDArray[Any], slope: float, intercept: float) -> BurnedIn | None:
    """Text on one slice; None: there is none.

    Args:
        stored: rows x columns, as stored.
        slope: from stored values to HU.
        intercept: from stored values to HU.
    """
    drawn = drawn_boxes(stored, slope)
    if len(drawn):
        return BurnedIn(len(drawn), int(drawn[0, 0]), int(drawn[0, 2]))
    air = (AIR_LIMIT_HU - intercept) / slope
    least = float(stored.min())
    if least > air:  # no air in these values: they are no HU
        air = least + (AIR_LIMIT_HU - AIR_HU) / slope
    letters = _bright_letters(stored, air)
    return _line_of(letters) or _line_of(letters[:, [2, 3, 0, 1]], is_turned=True)


def _above(stored: npt.NDArray[Any], limit: float) -> npt.NDArray[np.bool_]:
    """Where a picture is above a limit; whole numbers are compared as such, which is faster."""
    is_whole = np.issubdtype(stored.dtype, np.integer)
    return np.asarray(stored > (math.floor(limit) if is_whole else limit))


def _bright_letters(stored: npt.NDArray[Any], air: float) -> Numbers:
    """Boxes of small pieces outside of the body that are about as bright as anything there is.

    Smoothed letters run into each other; at half their brightness they come apart.
    """
    peak = float(stored.max())
    half = (air + peak) / 2
    bright = runs_at(places_of(_above(stored, half)), stored.shape[1])
    if len(bright.start) < FEWEST_LETTERS * LEAST_HEIGHT:
        return np.empty((0, 4), dtype=np.int64)
    boxes = boxes_of(bright, pieces_of(bright, over_corners=False))
    if len(boxes) < FEWEST_LETTERS:
        return boxes[:0]
    small = boxes[_are_of_letter_size(boxes)]
    if len(small) >= FEWEST_LETTERS:
        small = small[_may_lie_outside(small, stored, air)]
    if len(small) < FEWEST_LETTERS:
        return small[:0]
    reached = [stored[top:bottom, left:right].max() for top, bottom, left, right in small]
    small = small[np.asarray(reached, dtype=float) - air >= PEAK_SHARE * (peak - air)]
    return small[_lie_outside(small, stored, air)] if len(small) >= FEWEST_LETTERS else small[:0]


def _may_lie_outside(boxes: Numbers, stored: npt.NDArray[Any], air: float) -> npt.NDArray[np.bool_]:
    """Whether air is around boxes: at the corners and sides of slightly larger ones, mostly."""
    top, bottom, left, right = boxes.T
    rows = np.stack((top - 2, (top + bottom) // 2, bottom + 1)).clip(0, stored.shape[0] - 1)
    columns = np.stack((left - 2, (left + right) // 2, right + 1)).clip(0, stored.shape[1] - 1)
    around = _above(stored[rows[:, None], columns[None]], air)
    around[1, 1] = False  # the letter itself
    return np.asarray(around.sum(axis=(0, 1)) <= MOST_DENSE_AROUND)


def _lie_outside(boxes: Numbers, stored: npt.NDArray[Any], air: float) -> npt.NDArray[np.bool_]:
    """Whether boxes lie beside the body: in none of their pixels it is, the largest dense piece."""
    dense = runs_of(_above(stored, air))
    piece = pieces_of(dense, over_corners=True)
    whole = boxes_of(dense, piece)
    extent = (whole[:, 1] - whole[:, 0]) * (whole[:, 3] - whole[:, 2])
    body = dense.only(piece == np.argmax(extent))
    row, first = np.divmod(body.start, body.width)
    after = body.stop - row * body.width
    return np.array(
        [
            not np.any((row >= top) & (row < bottom) & (first < right) & (after > left))
            for top, bottom, left, right in boxes.tolist()
        ],
        dtype=bool,
    )


def _are_of_letter_size(boxes: Numbers) -> npt.NDArray[np.bool_]:
    height, width = boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]
    taller = np.maximum(height, width)
    return np.asarray((taller >= LEAST_HEIGHT) & (taller <= MOST_HEIGHT))


def _line_of(letters: Numbers, *, is_turned: bool = False) -> BurnedIn | None:
    """The first run of letters that stand side by side on a line, or below each other."""
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
            return BurnedIn(run, left, top) if is_turned else BurnedIn(run, top, left)
    return None
