"""What a reader drew on a slice -> the pixels that it holds."""

import numpy as np

from nodulebench.annotate.reading import DrawnSlice
from nodulebench.model.arrays import IntArray
from nodulebench.model.geometry import Geometry


def pixels_of(drawn: DrawnSlice, place: Geometry) -> IntArray:
    """Column, row and image slice of the pixels whose centres an outline holds (even-odd rule).

    Pixels outside the image are left out.
    """
    outline = drawn.outline
    level = np.full(len(outline), float(drawn.slice_index))
    heights = place.height_on(level, outline)
    corner = place.to_index(np.column_stack([outline, heights]))[:, :2]
    low = np.ceil(corner.min(axis=0)).astype(np.int64)
    high = np.floor(corner.max(axis=0)).astype(np.int64)
    k = round(float(place.slice_number(level[:1])[0]))
    if place.size is not None:
        low, high = np.maximum(low, 0), np.minimum(high, place.size[:2] - 1)
    column, row = (axis.ravel() for axis in np.mgrid[low[0] : high[0] + 1, low[1] : high[1] + 1])
    nearby = np.roll(corner, -1, axis=0)
    above, nearby_above = corner[:, 1] > row[:, None], nearby[:, 1] > row[:, None]
    rise = np.where(nearby[:, 1] == corner[:, 1], 1.0, nearby[:, 1] - corner[:, 1])
    share = (row[:, None] - corner[:, 1]) / rise
    crossing = corner[:, 0] + share * (nearby[:, 0] - corner[:, 0])
    is_right = (above != nearby_above) & (column[:, None] < crossing)
    is_inside = is_right.sum(axis=1) % 2 == 1
    voxel: IntArray = np.column_stack([column, row, np.full(len(column), k)])[is_inside]
    return voxel
