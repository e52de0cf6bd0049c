"""What a reader drew on a slice -> the pixels that it holds."""

import numpy as np

from nodulebench.annotate.readings.reading import DrawnSlice
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.outline_pixels import polygon_pixels
from nodulebench.model.arrays import IntArray


def pixels_of(drawn: DrawnSlice, place: Geometry) -> IntArray:
    """Column, row and image slice of the pixels whose centres an outline holds (even-odd rule).

    An outline that holds no centre has the pixel at its middle. Pixels outside the image are left
    out.
    """
    outline = drawn.outline
    level = np.full(len(outline), float(drawn.slice_index))
    heights = place.height_on(level, outline)
    corner = place.to_index(np.column_stack([outline, heights]))[:, :2]
    k = round(float(place.slice_number(level[:1])[0]))
    column, row = polygon_pixels(corner)
    voxel: IntArray = np.column_stack([column, row, np.full(len(column), k)])
    if place.size is None:
        return voxel
    return voxel[((voxel >= 0) & (voxel < place.size)).all(axis=1)]
