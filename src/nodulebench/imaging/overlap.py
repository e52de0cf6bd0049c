"""Two outlines on one slice -> their areas and the area they share, exactly.

Between two neighbouring heights at which an outline has a corner or two sides cross, the widths of
both outlines and of their overlap change linearly with height; so the width half way, times the
distance of the heights, is the exact area of that strip. No grid, no resolution to choose. Inside
is what an odd number of sides separates from outside.
"""

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray


def areas_and_overlap_mm2(first: FloatArray, second: FloatArray) -> tuple[float, float, float]:
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
    strip, side, x = _meetings(start, stop, height)
    step = np.diff(x, append=0.0) * np.diff(height)[strip]
    # every outline is met an even number of times in a strip, so sums may run on to the next
    in_first = np.cumsum(is_first[side]) % 2 == 1
    in_second = np.cumsum(~is_first[side]) % 2 == 1
    return (
        float(step[in_first].sum()),
        float(step[in_second].sum()),
        float(step[in_first & in_second].sum()),
    )


def crosses_itself(outline: FloatArray) -> bool:
    """Whether two sides of an outline cross; sides that only touch do not."""
    return len(_crossing_heights(outline, np.roll(outline, -1, axis=0))) > 0


def _meetings(
    start: FloatArray, stop: FloatArray, height: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Where sides meet the middle of strips: strip, side and x, from left to right in each strip.

    Strip s lies between height[s] and height[s + 1]; every side begins and ends at a height.
    """
    low = np.searchsorted(height, np.minimum(start[:, 1], stop[:, 1]))
    length = np.searchsorted(height, np.maximum(start[:, 1], stop[:, 1])) - low
    side = np.repeat(np.arange(len(start)), length)
    strip = np.arange(len(side)) + np.repeat(low - np.cumsum(length) + length, length)
    middle = (height[strip] + height[strip + 1]) / 2
    rise, run = (stop[side] - start[side])[:, ::-1].T
    x = start[side, 0] + (middle - start[side, 1]) / rise * run
    order = np.lexsort((x, strip))
    return strip[order], side[order], x[order]


def _crossing_heights(start: FloatArray, stop: FloatArray) -> FloatArray:
    """The heights at which two sides cross; parallel sides do not."""
    low, high = np.minimum(start, stop), np.maximum(start, stop)
    is_near = np.triu(np.ones((len(start), len(start)), dtype=np.bool_), 1)
    for axis in (0, 1):
        is_near &= low[:, np.newaxis, axis] <= high[:, axis]
        is_near &= high[:, np.newaxis, axis] >= low[:, axis]
    one, other = np.nonzero(is_near)
    along, across, apart = (stop - start)[one], (stop - start)[other], (start[other] - start[one])
    turn = along[:, 0] * across[:, 1] - along[:, 1] * across[:, 0]
    is_turned = turn != 0
    one, along, across, apart, turn = (
        part[is_turned] for part in (one, along, across, apart, turn)
    )
    on_one = (apart[:, 0] * across[:, 1] - apart[:, 1] * across[:, 0]) / turn
    on_other = (apart[:, 0] * along[:, 1] - apart[:, 1] * along[:, 0]) / turn
    is_crossing = (on_one > 0) & (on_one < 1) & (on_other > 0) & (on_other < 1)
    height: FloatArray = (start[one, 1] + on_one * along[:, 1])[is_crossing]
    return height
