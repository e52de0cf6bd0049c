"""A slice -> whether text is burned into its image: by its header, and by its pixels.

Letters of one value with sharp edges are found at any position (``drawn_boxes``). Letters with
smoothed edges are recognised if they are small, in a row or column outside of the body, and as
bright as anything in the image. Smoothed text over the body is not found.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import StoredArray
from nodulebench.curation.deidentify.allowed_values import is_known_code
from nodulebench.curation.deidentify.codec import NotCleanableError
from nodulebench.io.dicom.files import many_of, number_of, shared_item, text_of

if TYPE_CHECKING:
    from pydicom.dataset import Dataset


Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of consecutive pixels of a mask, row by row."""

    width: int
    """Columns of the mask plus one, so that no run continues in the next row."""
    start: Numbers
    """Row x width + column."""
    stop: Numbers
    """The position after the last pixel."""

    def only(self, chosen: Flags) -> "Runs":
        return Runs(self.width, self.start[chosen], self.stop[chosen])

    def pixels(self) -> tuple[Numbers, Numbers, Numbers]:
        """Row and column of every pixel, and the number of its run."""
        length = self.stop - self.start
        run = np.repeat(np.arange(len(length)), length)
        place = np.arange(len(run)) + (self.start - (np.cumsum(length) - length))[run]
        return *np.divmod(place, self.width), run


def places_of(mask: Flags) -> Numbers:
    """Like ``np.flatnonzero``, row by row, but eight pixels at a time, because few are set."""
    flat = mask.ravel()
    if len(flat) % 8:
        return np.flatnonzero(flat)
    eights = flat.view(np.uint64)
    some = np.flatnonzero(eights != 0)
    within = np.flatnonzero(eights[some].view(bool))
    return np.asarray((some[within >> 3] << 3) + (within & 7))


def runs_of(mask: Flags) -> Runs:
    rows, columns = mask.shape
    changes = np.empty((rows, columns + 1), dtype=bool)
    changes[:, 0], changes[:, -1] = mask[:, 0], mask[:, -1]
    np.not_equal(mask[:, 1:], mask[:, :-1], out=changes[:, 1:-1])
    change = places_of(changes)
    return Runs(columns + 1, change[0::2], change[1::2])


def runs_at(place: Numbers, columns: int) -> Runs:
    """The runs of pixels that are given by their positions, row by row."""
    framed = place + place // columns
    is_apart = np.ones(len(framed) + 1, dtype=bool)
    np.not_equal(framed[1:], framed[:-1] + 1, out=is_apart[1:-1])
    return Runs(columns + 1, framed[is_apart[:-1]], framed[is_apart[1:]] + 1)


def pieces_of(runs: Runs, *, over_corners: bool) -> Numbers:
    """The number, from 0, of the piece that each run belongs to.

    ``over_corners``: whether pixels that touch only at a corner belong together.
    """
    reach = 1 if over_corners else 0
    first = np.searchsorted(runs.stop, runs.start + (runs.width - reach), side="right")
    after = np.searchsorted(runs.start, runs.stop + (runs.width + reach), side="left")
    root = list(range(len(first)))  # for every run an earlier one of its piece, or itself
    for run, below, end in zip(root.copy(), first.tolist(), after.tolist(), strict=True):
        for other in range(below, end):
            near = run
            while root[near] != near:
                root[near] = near = root[root[near]]
            while root[other] != other:
                root[other] = other = root[root[other]]
            root[max(near, other)] = min(near, other)
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


TIMES_NEAR, MORE_PAIRS = 3, 12
"""Factor, and additional number, of equal neighbours by which a value exceeds close values."""
MARGIN_PIXELS = 8
"""How many values on either side are close to a value."""
LEAST_PIXELS, LEAST_SIDE = 4, 4
"""Fewest pixels, and least extent, of a piece that counts."""
LEAST_ALTOGETHER = 14
"""Fewest pixels of all pieces of one value: two small letters."""
READABLE_HU = 20.0
"""Drawn text differs at least this much from its surroundings; otherwise it is not legible."""
SHARP_HU = 300.0
"""From one pixel to the next; in a scan, air fades into tissue over several pixels."""
METAL_HU = 2500.0
"""Above the lowest value: from here on, the highest value may be clipped metal."""
SHARP_SHARE = 0.3
"""The same for metal, as a share of its difference to air."""
_NOTHING = np.empty((0, 4), dtype=np.int64)


def drawn_boxes(stored: StoredArray, slope: float) -> Numbers:
    """First row, row after the last, first column, column after the last of drawn pieces."""
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


def _equal_neighbours(stored: StoredArray, least: int) -> StoredArray:
    """The value of every pixel above the least that equals the pixel before or above it."""
    flat, width = stored.ravel(), stored.shape[1]
    same = np.zeros(len(flat), dtype=bool)
    np.equal(flat[1:], flat[:-1], out=same[1:])  # at the end of a row, too: one pixel of many
    same[width:] |= flat[width:] == flat[:-width]
    same &= flat > least
    return np.asarray(flat[places_of(same)])


def _outstanding(pairs: StoredArray, least: int) -> list[int]:
    """Values that are far more common among equal neighbours than values close to them.

    ``least`` fills the corners; few of its pairs count, however large they are.
    """
    first = least - MARGIN_PIXELS
    highest = int(pairs.max(initial=least))
    count = np.bincount(
        pairs.astype(np.int64) - first, minlength=highest - first + MARGIN_PIXELS + 1
    )
    count[MARGIN_PIXELS] = MORE_PAIRS + 1
    common = np.flatnonzero(count > MORE_PAIRS)
    around = count[common[:, None] + np.arange(-MARGIN_PIXELS, MARGIN_PIXELS + 1)]
    own, left, right = (
        around[:, MARGIN_PIXELS],
        around[:, MARGIN_PIXELS - 1],
        around[:, MARGIN_PIXELS + 1],
    )
    # with little noise all values of air or tissue are common, and so are both neighbours
    near = np.maximum((around.sum(axis=1) - own) / (2 * MARGIN_PIXELS), np.minimum(left, right))
    return list((common[own > TIMES_NEAR * near + MORE_PAIRS] + first).tolist())


def _is_next(stored: StoredArray, least: int, value: int) -> bool:
    """Whether an image has no value between its lowest value and another."""
    flat = stored.ravel()
    return not np.any((flat > least) & (flat < value))


class _Steps(NamedTuple):
    """Positions, row by row, that differ much from the previous one, also in the row above."""

    place: Numbers
    before: StoredArray
    """The value before each."""
    at: StoredArray
    """The value of each."""


def _steps(stored: StoredArray, least: float, extent: int) -> _Steps:
    """Where an image steps up or down by at least this much from one pixel to the next.

    ``extent``: from the lowest to the highest value; if it fits, two bytes are used.
    """
    flat = stored.ravel()
    kind = np.int16 if extent < 1 << 15 else np.int64
    step = np.zeros(len(flat), kind)
    np.subtract(flat[1:], flat[:-1], out=step[1:], dtype=kind, casting="unsafe")
    place = places_of(np.abs(step, out=step) >= math.ceil(least))
    return _Steps(place, flat[place - 1], flat[place])


def _sharp_within(stored: StoredArray, steps: _Steps, value: int, least: float) -> Runs:
    """The runs of a value that begin and end with a step of ``least`` and touch neither border."""
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
    neighbours = flat[np.concatenate((begin - 1, stop))].astype(np.int64)
    is_large = (np.abs(neighbours - value) >= least).reshape(2, -1).all(axis=0)
    runs = Runs(width + 1, begin + row, stop + row).only(is_large)
    rows, columns, run = runs.pixels()
    is_other = stored[rows, columns] != value
    return runs.only(np.bincount(run, is_other, len(runs.start)) == 0)


def _are_sharp(stored: StoredArray, runs: Runs, value: int, least: float) -> npt.NDArray[np.bool_]:
    """For every run, whether the pixels before and after it differ much, or do not exist."""
    row, first = np.divmod(runs.start, runs.width)
    after = runs.stop - row * runs.width
    before = np.abs(stored[row, np.maximum(first - 1, 0)].astype(np.int64) - value) >= least
    behind = np.minimum(after, stored.shape[1] - 1)
    behind = np.abs(stored[row, behind].astype(np.int64) - value) >= least
    return np.asarray((before | (first == 0)) & (behind | (after == stored.shape[1])))


def _boxes(runs: Runs, least_height: int) -> Numbers:
    """Boxes of the pieces of runs that are large enough; none if all together are too small."""
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


_SIGNATURES: tuple[tuple[str, str, str], ...] = (
    ("dose_page", "ImageType", r".*\b(?:DOSE|DOSE_INFO|DOSEREPORT|DOSE_REPORT)\b.*"),
    ("protocol_page", "ImageType", r".*(?:\bPROT\b|SOM\d PROT|PROTOCOL).*"),
    ("captured_screen", "ImageType", r".*(?:SCREEN|CAPTURE|PRINTSCREEN|SNAPSHOT_WS|HARDCOPY).*"),
    ("dose_page", "SeriesDescription", r".*(?:dose (?:report|info|record|summary)).*"),
    ("protocol_page", "SeriesDescription", r".*(?:patient protocol|exam(?:ination)? summary).*"),
    ("captured_screen", "SeriesDescription", r".*(?:screen ?(?:save|shot|capture)).*"),
    ("captured_screen", "ConversionType", r".+"),
    ("dose_page", "SeriesNumber", r"(?:999|9999)"),
)
"""Kind of screen, the attribute that shows it, and the pattern of its text."""
SIGNATURES = tuple((what, name, re.compile(form, re.I | re.S)) for what, name, form in _SIGNATURES)


def screen_of(dataset: "Dataset") -> str:
    """Which screen of a scanner an image is; empty: not a known one."""
    for what, keyword, form in SIGNATURES:
        text = text_of(dataset, keyword).replace("\\", " ")
        if text and form.fullmatch(text):
            return what
    return ""


AIR_LIMIT_HU = -300
"""Denser pixels are body, table or drawn."""
AIR_HU = -1024
"""HU of air, where stored values begin at 0 and the header does not give their meaning."""
LEAST_HEIGHT, MOST_HEIGHT = 5, 128
"""Height of a letter with smoothed edges, in pixels."""
PEAK_SHARE = 0.65
"""A smoothed letter reaches this share of the brightest value of the image."""
FEWEST_LETTERS = 3
"""Fewest smoothed letters in a row."""
MOST_DENSE_AROUND = 4
"""Of eight positions around a letter; other letters are at its sides."""
NO_ORIGINALS = ("SECONDARY", "SCREEN SAVE", "SCREENSHOT", "SCREEN_SAVE", "SCREEN")


@dataclass(frozen=True, slots=True)
class BurnedIn:
    """Text that was found in an image: how many letters, and where."""

    letters: int
    row: int
    column: int


def check_header(dataset: "Dataset") -> None:
    """Refuse a slice whose header states that its image may hold text, frames included."""
    groups = [dataset, *_groups(dataset, "CTImageFrameTypeSequence")]
    for group in groups:
        if text_of(group, "BurnedInAnnotation").upper() == "YES":
            raise NotCleanableError("burned_in_stated")
        kinds = [
            str(value).upper()
            for keyword in ("ImageType", "FrameType")
            for value in many_of(group, keyword)
        ]
        if any(word in kinds for word in NO_ORIGINALS):
            known = [kind for kind in kinds if is_known_code("ImageType", kind)]
            raise NotCleanableError("no_original", type=" ".join(known))
    screen = screen_of(dataset)
    if screen:
        raise NotCleanableError("device_screen", screen=screen)


def _groups(dataset: "Dataset", name: str) -> Iterator["Dataset"]:
    for keyword in ("SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence"):
        for item in dataset.get(keyword) or []:
            yield from item.get(name) or []


def scales_of(dataset: "Dataset", frames: int) -> list[tuple[float, float]]:
    """Slope and intercept from stored values to HU, of every frame."""
    shared = next(iter(dataset.get("SharedFunctionalGroupsSequence") or []), None)
    each = list(dataset.get("PerFrameFunctionalGroupsSequence") or [])
    if shared is None and not each:
        return [_scale(dataset)] * frames
    name = "PixelValueTransformationSequence"
    scales = [_scale(shared_item(group, shared, name)) for group in each[:frames]]
    return scales + [_scale(shared_item(None, shared, name))] * (frames - len(scales))


def _scale(group: "Dataset | None") -> tuple[float, float]:
    slope, intercept = (number_of(group, f"Rescale{name}") for name in ("Slope", "Intercept"))
    return (slope or 1.0, intercept or 0.0)


def find_text(stored: StoredArray, slope: float, intercept: float) -> BurnedIn | None:
    """Find text on one slice; None: no text was found."""
    drawn = drawn_boxes(stored, slope)
    if len(drawn):
        return BurnedIn(len(drawn), int(drawn[0, 0]), int(drawn[0, 2]))
    air = (AIR_LIMIT_HU - intercept) / slope
    least = float(stored.min())
    if least > air:  # these values contain no air, so they are not HU
        air = least + (AIR_LIMIT_HU - AIR_HU) / slope
    letters = _bright_letters(stored, air)
    return _line_of(letters) or _line_of(letters[:, [2, 3, 0, 1]], is_turned=True)


def _above(stored: StoredArray, limit: float) -> npt.NDArray[np.bool_]:
    """Where an image is above a limit; whole numbers are compared as such, which is faster."""
    is_whole = np.issubdtype(stored.dtype, np.integer)
    return np.asarray(stored > (math.floor(limit) if is_whole else limit))


def _bright_letters(stored: StoredArray, air: float) -> Numbers:
    """Boxes of small pieces outside of the body that are about as bright as anything in the image.

    Smoothed letters touch each other; at half their brightness they are separate.
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


def _may_lie_outside(boxes: Numbers, stored: StoredArray, air: float) -> npt.NDArray[np.bool_]:
    """Whether boxes are surrounded by air: at most corners and sides of slightly larger boxes."""
    top, bottom, left, right = boxes.T
    rows = np.stack((top - 2, (top + bottom) // 2, bottom + 1)).clip(0, stored.shape[0] - 1)
    columns = np.stack((left - 2, (left + right) // 2, right + 1)).clip(0, stored.shape[1] - 1)
    around = _above(stored[rows[:, None], columns[None]], air)
    around[1, 1] = False  # the letter itself
    return np.asarray(around.sum(axis=(0, 1)) <= MOST_DENSE_AROUND)


def _lie_outside(boxes: Numbers, stored: StoredArray, air: float) -> npt.NDArray[np.bool_]:
    """Whether no pixel of a box is in the body, which is the largest dense piece."""
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
    """The first run of letters that are side by side on a line, or below each other."""
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
