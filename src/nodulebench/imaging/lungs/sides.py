"""Lungs -> the right and the left one, also where they touch or lie in several pieces."""

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.imaging.lungs.regions import SMALLER_LUNG_SHARE
from nodulebench.imaging.morphology import eroded, grown_into

LARGEST_SEPARATION_MM = 15.0
"""Lungs that touch are thinned by so much at most until they part."""
SIDE_BY_SIDE_MM = 50.0
"""The middles of two lungs are at least so far apart across; those of parts of one lung are not."""
SMALLEST_PIECE_ML = 10.0
"""Smaller pieces apart are ends of bronchi."""


def part_sides(lungs: BoolArray, step_mm: FloatArray, middle: float) -> tuple[BoolArray, BoolArray]:
    """Right and left lung; where they touch they are thinned until they part.

    Args:
        lungs: both lungs.
        step_mm: the size of the voxels.
        middle: the body's middle column: a single lung lies to its right or left.
    """
    for thinning_mm in np.arange(0.0, LARGEST_SEPARATION_MM, float(step_mm.max())):
        core = eroded(lungs, float(thinning_mm), step_mm) if thinning_mm else lungs
        pair = _pair(core, float(step_mm[2]))
        if pair is not None:
            smallest = SMALLEST_PIECE_ML * 1000.0 / float(np.prod(step_mm))
            return _grown_back(lungs, *pair, smallest)
    nothing = np.zeros_like(lungs)
    is_right = lungs.any() and _column(lungs) < middle
    return (lungs, nothing) if is_right else (nothing, lungs)


def _column(mask: BoolArray) -> float:
    """The mean column of a mask."""
    along = mask.sum(axis=(0, 1))
    return float(np.average(np.arange(len(along)), weights=along))


def _pair(core: BoolArray, column_mm: float) -> tuple[BoolArray, BoolArray] | None:
    """The largest piece and the largest that lies beside it, the right one first."""
    from scipy import ndimage

    labels, count = ndimage.label(core)
    size = np.bincount(labels.ravel(), minlength=count + 1)
    size[0] = 0
    order = np.argsort(-size, kind="stable")
    large = [number for number in order if size[number] >= SMALLER_LUNG_SHARE * size.max() > 0]
    if len(large) < 2:
        return None
    first = labels == large[0]
    for number in large[1:]:
        second = labels == number
        apart_mm = (_column(second) - _column(first)) * column_mm
        if abs(apart_mm) >= SIDE_BY_SIDE_MM:
            return (first, second) if apart_mm > 0 else (second, first)
    return None


def _grown_back(
    lungs: BoolArray, right: BoolArray, left: BoolArray, smallest: float
) -> tuple[BoolArray, BoolArray]:
    """Let both grow in turn until they fill the lungs; larger pieces apart go by their place."""
    from scipy import ndimage

    middle = (_column(right) + _column(left)) / 2
    before = 0
    while (filled := int(right.sum()) + int(left.sum())) > before:
        before = filled
        right = grown_into(right, lungs & ~left)
        left = grown_into(left, lungs & ~right)
    labels, count = ndimage.label(lungs & ~right & ~left)
    size = np.bincount(labels.ravel(), minlength=count + 1)
    numbers = [number for number in range(1, count + 1) if size[number] >= smallest]
    for number in numbers:
        piece = labels == number
        side = right if _column(piece) < middle else left
        side |= piece
    return right, left
