"""Outline of a nodule on a slice -> its long and its short axis: the one definition of both.

The long axis is the largest distance between two points of the outline, the short axis the largest
distance between two points of the outline on a line at right angles to it. So both end on the
nodule, as calipers do, and not in a notch of its outline.
"""

import numpy as np

from nodulebench.core.arrays import FloatArray

_EQUAL = 1 - 1e-9  # axes that differ by less, relatively, are equally long


def long_and_short_mm(*rings: FloatArray) -> tuple[float, float]:
    """Long and short axis of what closed outlines on one slice hold together.

    Args:
        rings: corners of each outline, one row (x, y) each; the last joins the first.
    """
    start = np.concatenate(rings)
    return axes_of_sides(start, np.concatenate([np.roll(ring, -1, axis=0) for ring in rings]))


def axes_of_sides(start: FloatArray, stop: FloatArray) -> tuple[float, float]:
    """Long and short axis of what closed outlines hold, from their sides in any order.

    Of several equally long axes the one with the longer perpendicular counts.

    Args:
        start: where each side begins, one row (x, y) each.
        stop: where it ends.
    """
    apart = start[:, None, :] - start[None, :, :]
    length = np.hypot(apart[..., 0], apart[..., 1])
    long = float(length.max())
    if long == 0.0:
        return 0.0, 0.0
    first, second = np.nonzero(np.triu(length) >= long * _EQUAL)
    axes = apart[first, second] / length[first, second][:, None]
    return long, max(_longest_across(start, stop, axis) for axis in axes)


def _longest_across(start: FloatArray, stop: FloatArray, axis: FloatArray) -> float:
    """The largest distance of two points of some sides on one line at right angles to an axis.

    It changes linearly between corners, so one of them has the maximum.
    """
    beside = np.array([-axis[1], axis[0]])
    along, across = start @ axis, start @ beside
    step = stop @ axis - along
    is_steep = np.abs(step) < 1e-12
    share = (along[:, None] - along) / np.where(is_steep, 1.0, step)
    is_met = (share >= 0) & (share <= 1) & ~is_steep
    height = across + share * (stop @ beside - across)
    top = np.where(is_met, height, -np.inf).max(axis=1)
    bottom = np.where(is_met, height, np.inf).min(axis=1)
    return float(np.max(np.where(np.isfinite(top), top - bottom, 0.0)))


def largest_distance_mm(points: FloatArray) -> float:
    """The largest distance between two points; 0 for a single one."""
    apart = points[:, None, :] - points
    return float(np.hypot(apart[..., 0], apart[..., 1]).max())
