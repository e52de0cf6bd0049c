"""CT sub-volume that shows a part of a lung -> its lung: threshold, components, closing.

Without the body's outline, air outside it is told from lung by its density alone.
"""

import numpy as np

from nodulebench.core.arrays import BoolArray
from nodulebench.core.errors import InputError
from nodulebench.imaging.lungs.segmentation import AIR_THRESHOLD_HU, CLOSING_MM, RIGHT, Lungs
from nodulebench.imaging.morphology import Spacing, closing
from nodulebench.imaging.volume import Volume, VoxelArray, to_patient_axes

SMALLEST_PART_ML = 1.0
"""A smaller pocket of air beside the largest is a bronchus or bowel."""
OPEN_AIR_HU = -950.0
"""A region with a lower median is air in the trachea or outside the body, if it is not alone."""


def segment_part_of_lung(
    volume: Volume, where: str = "volume", *, closing_mm: float = CLOSING_MM
) -> Lungs:
    """Find the lung in a block cut out of a scan; all of it carries the label ``RIGHT``.

    What a block's face cuts is continued by reflection, so that vessels and nodules there are
    closed like those inside.

    Raises:
        InputError: if the image is too oblique or shows no lung.
    """
    upright = to_patient_axes(volume, where)
    spacing = upright.spacing_mm
    lung = _lung_regions(upright.hu, float(np.prod(spacing)) / 1000.0, where)
    label = _closed(lung, closing_mm, spacing).astype(np.uint8) * RIGHT
    return Lungs(label, upright.geometry)


def _lung_regions(hu: VoxelArray, voxel_ml: float, where: str) -> BoolArray:
    """Regions of air large enough for a lung; of several, those that are not open air."""
    from scipy import ndimage

    labels, count = ndimage.label(hu < AIR_THRESHOLD_HU)
    numbers = np.arange(1, count + 1)
    size_ml = np.bincount(labels.ravel(), minlength=count + 1)[1:] * voxel_ml
    if not count or size_ml.max() < SMALLEST_PART_ML:
        largest = float(size_ml.max()) if count else 0.0
        raise InputError.at(
            where,
            f"shows no lung: the largest region of air has {largest:.1f} ml "
            f"(a part of a lung has at least {SMALLEST_PART_ML:.0f} ml).",
            "Is it a block of a chest CT in Hounsfield units?",
        )
    numbers = numbers[size_ml >= SMALLEST_PART_ML]
    median = ndimage.median(hu, labels, numbers)
    is_lung = median >= OPEN_AIR_HU
    kept = numbers[is_lung] if is_lung.any() else numbers[[np.argmax(median)]]
    return np.isin(labels, kept)


def _closed(lung: BoolArray, closing_mm: float, spacing_mm: Spacing) -> BoolArray:
    margin = np.minimum(np.ceil(closing_mm / spacing_mm).astype(np.int64), lung.shape)
    wide = np.pad(lung, [(width, width) for width in margin], mode="symmetric")
    inner = tuple(
        slice(width, width + length) for width, length in zip(margin, lung.shape, strict=True)
    )
    return closing(wide, closing_mm, spacing_mm)[inner]
