"""Coarse image -> two small pictures: the middle axial and coronal cut, in the lung window."""

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray
from nodulebench.curation.admission.image import CoarseArray, SeriesImage

WINDOW_HU = (-1250.0, 250.0)
SIDE = 96
"""Pixels along the longer side."""


def thumbnails(image: SeriesImage) -> list[npt.NDArray[np.uint8]]:
    """The axial cut and, where there are several slices, the coronal one, head upwards."""
    hu, step = image.hu, image.step_mm
    if min(hu.shape) == 0 or not image.is_read.any():
        return []
    read = np.flatnonzero(image.is_read)
    axial = hu[int(read[len(read) // 2])]
    cuts = [_shrunk(axial, step[1:])]
    if len(hu) >= 8:
        cuts.append(_shrunk(hu[::-1, hu.shape[1] // 2, :], step[[0, 2]]))
    return cuts


def _shrunk(hu: CoarseArray, step_mm: FloatArray) -> npt.NDArray[np.uint8]:
    """The nearest pixels on a grid of square ones."""
    extent = np.array(hu.shape) * step_mm
    pixel = float(extent.max()) / SIDE
    rows, columns = (np.maximum(1, np.rint(extent / pixel))).astype(np.int64).tolist()
    down = np.minimum((np.arange(rows) + 0.5) * len(hu) / rows, len(hu) - 1).astype(np.int64)
    wide = hu.shape[1]
    across = np.minimum((np.arange(columns) + 0.5) * wide / columns, wide - 1).astype(np.int64)
    low, high = WINDOW_HU
    grey = np.clip((hu[np.ix_(down, across)] - low) / (high - low), 0, 1) * 255
    pixels: npt.NDArray[np.uint8] = np.rint(grey).astype(np.uint8)
    return pixels
