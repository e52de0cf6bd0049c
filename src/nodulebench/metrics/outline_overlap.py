"""Two outlines on one slice -> their areas and the area they share, exactly.

Between two neighbouring heights at which an outline has a corner or two sides cross, the widths of
both outlines and of their overlap change linearly with height; so the width half way, times the
distance of the heights, is the exact area of that strip. No grid, no resolution to choose. Inside
is what an odd number of sides separates from outside.
"""

import numpy as np

from nodulebench.model.arrays import FloatArray


def outline_areas(first: FloatArray, second: FloatArray) -> tuple[float, float, float]:
    """The area of each outline and of what both enclose.

    Args:
        first: corners, one row (x, y) each; the last joins the first. May be empty.
        second: likewise.
    """
    start = np.concatenate([first, second])
    stop = np.concatenate([np.roll(first, -1, axis=0), np.roll(second, -1, axis=0)])
    is_first = np.arange(len(start)) < len(first)
    if not len(start):
        return 0.0, 0.0, 0.0
    height = np.unique(np.concatenate([start[:, 1], _crossing_heights(start, stop)]))
    middle = (height[1:] + height[:-1]) / 2
    x, is_met = _meetings(start, stop, middle)

    order = np.argsort(x, axis=1, kind="stable")
    x = np.take_along_axis(x, order, axis=1)
    is_met = np.take_along_axis(is_met, order, axis=1)
    in_first = np.cumsum(is_met & is_first[order], axis=1) % 2 == 1
    in_second = np.cumsum(is_met & ~is_first[order], axis=1) % 2 == 1
    step = np.diff(x, axis=1, append=0.0)
    strip = np.diff(height)

    def area(is_inside: np.ndarray) -> float:
        return float(strip @ np.where(is_inside, step, 0.0).sum(axis=1))

    return area(in_first), area(in_second), area(in_first & in_second)


def _meetings(
    start: FloatArray, stop: FloatArray, height: FloatArray
) -> tuple[FloatArray, np.ndarray]:
    """Where each side (column) meets each height (row), and whether it does at all."""
    level = height[:, np.newaxis]
    is_met = (start[:, 1] <= level) != (stop[:, 1] <= level)
    rise = np.where(start[:, 1] == stop[:, 1], 1.0, stop[:, 1] - start[:, 1])
    x = start[:, 0] + (level - start[:, 1]) / rise * (stop[:, 0] - start[:, 0])
    beyond = max(start[:, 0].max(), stop[:, 0].max()) + 1.0  # sorts after every meeting
    return np.where(is_met, x, beyond), is_met


def _crossing_heights(start: FloatArray, stop: FloatArray) -> FloatArray:
    """The heights at which two sides cross; parallel sides do not."""
    along = stop - start
    cross = np.multiply.outer(along[:, 0], along[:, 1])
    cross = cross - cross.T
    apart = start[np.newaxis, :, :] - start[:, np.newaxis, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        on_one = (apart[..., 0] * along[:, 1] - apart[..., 1] * along[:, 0]) / cross
    on_other = on_one.T
    is_crossing = (cross != 0) & (on_one > 0) & (on_one < 1) & (on_other > 0) & (on_other < 1)
    side = np.nonzero(is_crossing)
    height: FloatArray = start[side[0], 1] + on_one[side] * along[side[0], 1]
    return height
