"""Regions of air in the body -> which are lung: by density, vessels and the wall around them."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray
from nodulebench.imaging.lungs.air import LUNG_HU, Labels, grown_in_slices
from nodulebench.imaging.volume import AIR_HU

SMALLER_LUNG_SHARE = 0.1
"""A lung may be this small beside the other; less is bowel gas or a bulla."""
VESSELS_HU = 45.0
"""The brightest twentieth of lung lies so far above its median: vessels (at least 100 HU in scans
that were looked at); foam and air have noise alone."""
EMPTY_LUNG_HU, EMPTY_LUNG_VESSELS_HU, EMPTY_LUNG_ML = 15.0, 100.0, 500.0
"""Lung that is all emphysema is darker: at least so far above the air around the body, with clear
vessels, and large."""
WALL_MM = 9.0
"""Lungs lie deeper in the body; the core of a table, a head rest or a cushion does not."""
LARGEST_EXPOSED_SHARE = 0.25
"""So much of a lung's border may lie nearer to the air around the body."""
SMALLEST_REGION_ML = 5.0
"""Smaller regions are not looked at."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of every region by its number; the first is what is no region."""

    is_lung: BoolArray
    """It has a lung's density, vessels and wall, and is not small beside the largest."""
    is_other: BoolArray
    """It is as empty as air, or lies open to the air around the body: no lung."""


def judge_regions(
    hu: Float32Array, regions: Labels, count: int, around: BoolArray, step_mm: FloatArray
) -> Judged:
    """Tell lung from other air in the body.

    Args:
        hu: the image in voxels of about 3 mm.
        regions: the number of the region that each voxel belongs to, 0 for none.
        count: how many regions there are.
        around: the air around the body.
        step_mm: the size of the voxels.
    """
    from scipy import ndimage

    size = np.bincount(regions.ravel(), minlength=count + 1)
    size[0] = 0
    inside = regions > 0
    core = ~grown_in_slices(~inside)
    border = inside & ~core
    air_hu = float(np.median(hu[around])) if around.any() else AIR_HU
    near = near_air(around, step_mm)
    bordering = np.bincount(regions[border], minlength=count + 1)
    exposed = np.bincount(regions[border & near], minlength=count + 1)
    size_ml = size * float(np.prod(step_mm)) / 1000.0
    is_large = size_ml >= SMALLEST_REGION_ML
    is_open = exposed > LARGEST_EXPOSED_SHARE * bordering
    is_lung, is_other = np.zeros_like(is_large), is_large & is_open
    boxes = ndimage.find_objects(regions)
    for number in np.flatnonzero(is_large & ~is_open):
        box = boxes[number - 1]
        region = regions[box] == number
        is_deep = region & core[box]
        middle, bright = np.percentile(hu[box][is_deep if is_deep.any() else region], [50, 95])
        vessels = bright - middle
        is_lung[number] = is_deep.any() and (
            (LUNG_HU[0] <= middle <= LUNG_HU[1] and vessels >= VESSELS_HU)
            or (
                air_hu + EMPTY_LUNG_HU <= middle < LUNG_HU[0]
                and vessels >= EMPTY_LUNG_VESSELS_HU
                and size_ml[number] >= EMPTY_LUNG_ML
            )
        )
        is_other[number] = middle < LUNG_HU[0] and not is_lung[number]
    lung_size = np.where(is_lung, size, 0)
    is_lung &= size >= np.maximum(1, SMALLER_LUNG_SHARE * lung_size.max())
    return Judged(is_lung, is_other)


def near_air(around: BoolArray, step_mm: FloatArray) -> BoolArray:
    """What is nearer to the air around the body than a chest wall is thick."""
    near = around
    for _ in range(max(1, round(WALL_MM / float(step_mm[1])))):
        near = grown_in_slices(near)
    return near
