"""Outline of a nodule on a slice -> its long and short diameter and its area."""

import numpy as np

from nodulebench.model.arrays import FloatArray


def long_and_short_mm(outline: FloatArray) -> tuple[float, float]:
    """The longest diameter of an outline and the longest chord at right angles to it.

    Args:
        outline: corners, one row (x, y) each; the last joins the first.
    """
    apart = outline[:, None, :] - outline[None, :, :]
    lengths = np.hypot(apart[..., 0], apart[..., 1])
    first, second = np.unravel_index(int(np.argmax(lengths)), lengths.shape)
    long = float(lengths[first, second])
    if long == 0.0:
        return 0.0, 0.0
    axis = (outline[first] - outline[second]) / long
    along = outline @ axis
    across = outline @ np.array([-axis[1], axis[0]])
    return long, _longest_chord(along, across)


def area_mm2(outline: FloatArray) -> float:
    """The area within an outline."""
    x, y = outline[:, 0], outline[:, 1]
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def _longest_chord(along: FloatArray, across: FloatArray) -> float:
    """The longest extent of a closed line across, over all places along that it has a corner at."""
    next_along, next_across = np.roll(along, -1), np.roll(across, -1)
    step = next_along - along
    is_steep = np.abs(step) < 1e-12
    share = (along[:, None] - along[None, :]) / np.where(is_steep, 1.0, step)
    is_crossed = (share >= 0) & (share <= 1) & ~is_steep
    height = across + share * (next_across - across)
    top = np.where(is_crossed, height, -np.inf).max(axis=1)
    bottom = np.where(is_crossed, height, np.inf).min(axis=1)
    return float(np.max(np.where(np.isfinite(top), top - bottom, 0.0)))
