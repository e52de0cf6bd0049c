"""Coarse image -> what it shows of a chest: lungs, whether they are cut, levels of air and tissue.

Everything is decided on voxels of about 3 mm; the headers' body part is never asked.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.curation.admission.image import CoarseArray
from nodulebench.imaging.lungs.air import SMALLEST_PIECE_CM2, cut_lung_cm2, see_air, slice_labels
from nodulebench.imaging.lungs.quality import SMALLEST_BODY_SHARE, body_share
from nodulebench.imaging.lungs.regions import SMALLER_LUNG_SHARE, judge_regions

STEP_MM = 5.0
"""About how far apart the slices are that are looked at; both ends are among them."""
PADDING_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Anatomy:
    """What an image shows; areas and lengths in the patient."""

    lung_ml: float
    """Lung: air within the body that has a lung's density, vessels and chest wall."""
    widest_cm2: float
    """Lung on the slice that shows most of it."""
    lowest_cm2: float
    """Lung on the slice nearest to the feet."""
    highest_cm2: float
    """Lung on the slice nearest to the head."""
    cut_mm: float
    """Along how much of the body the field of view's edge runs through lung."""
    air_hu: float
    """The darker of its two levels."""
    tissue_hu: float
    """The brighter one."""


class Levels(NamedTuple):
    """The two levels of an image."""

    air_hu: float
    """Median of what is darker than the threshold."""
    tissue_hu: float
    """Median of what is brighter."""
    threshold_hu: float
    """What parts them best."""


def see_anatomy(hu: CoarseArray, step_mm: FloatArray) -> Anatomy:
    """Look for lungs and their borders in a coarse image."""
    image, step = thinned_out(hu, step_mm)
    area = lung_areas_cm2(image, step)
    levels = two_levels(image)
    is_cut = cut_lung_cm2(image, step) >= SMALLEST_PIECE_CM2
    return Anatomy(
        lung_ml=float(area.sum() * step[0] / 10.0),
        widest_cm2=float(area.max()),
        lowest_cm2=float(area[0]),
        highest_cm2=float(area[-1]),
        cut_mm=float(is_cut.sum() * step[0]),
        air_hu=levels.air_hu,
        tissue_hu=levels.tissue_hu,
    )


def thinned_out(hu: CoarseArray, step_mm: FloatArray) -> tuple[CoarseArray, FloatArray]:
    """Every so many slices, the first and the last among them."""
    length = (len(hu) - 1) * float(step_mm[0])
    count = min(len(hu), max(2, round(length / STEP_MM) + 1))
    chosen = np.rint(np.linspace(0, len(hu) - 1, count)).astype(np.int64)
    between = length / (count - 1) if count > 1 else float(step_mm[0])
    return hu[chosen], np.array([between, step_mm[1], step_mm[2]])


def enclosed_air(hu: CoarseArray, threshold_hu: float) -> BoolArray:
    """Air that no axial slice connects with the edge of the image, in its largest regions.

    It is not told whether that is lung: the scale of an image may not be that of HU.
    """
    from scipy import ndimage

    air = hu < threshold_hu
    labels, count = slice_labels(air)
    is_outside = np.zeros(count + 1, dtype=np.bool_)
    for edge in (labels[:, 0], labels[:, -1], labels[:, :, 0], labels[:, :, -1]):
        is_outside[edge] = True
    is_outside[0] = False
    regions, count = ndimage.label(air & ~is_outside[labels])
    size = np.bincount(regions.ravel(), minlength=count + 1)
    size[0] = 0
    is_large = (size > 0) & (size >= SMALLER_LUNG_SHARE * size.max())
    enclosed: BoolArray = is_large[regions]
    return enclosed


def lung_areas_cm2(hu: CoarseArray, step_mm: FloatArray) -> FloatArray:
    """Lung on every slice: regions of air within the body that are as lungs are.

    Together they have a lung's share of the body's section. One lung is enough, however small the
    other one is.
    """
    from scipy import ndimage

    air = see_air(hu, step_mm)
    regions, count = ndimage.label(air.inside)
    judged = judge_regions(hu, regions, count, air.around, step_mm)
    lungs = judged.is_lung[regions]
    voxels = lungs.sum(axis=(1, 2))
    if body_share(lungs, air.outside) < SMALLEST_BODY_SHARE:
        voxels = np.zeros_like(voxels)
    areas: FloatArray = voxels * float(step_mm[1] * step_mm[2]) / 100.0
    return areas


def best_threshold(values: CoarseArray) -> float:
    """The value that parts others best into two levels (Otsu 1979)."""
    counts, edges = np.histogram(values, bins=256)
    middles = (edges[1:] + edges[:-1]) / 2
    below = np.cumsum(counts)[:-1]
    sums = np.cumsum(counts * middles)
    total, whole = below[-1] + counts[-1], sums[-1]
    above = total - below
    spread = np.zeros(len(below))
    is_cut = (below > 0) & (above > 0)
    lower, upper = sums[:-1][is_cut] / below[is_cut], (whole - sums[:-1])[is_cut] / above[is_cut]
    spread[is_cut] = below[is_cut] * above[is_cut] * (upper - lower) ** 2.0
    return float(edges[1 + int(spread.argmax())])


def without_padding(hu: CoarseArray) -> CoarseArray:
    """The values without those that mark what lies outside the field of view, and without metal."""
    lowest = hu.min()
    is_padding = hu <= lowest + 1
    values = hu[~is_padding] if PADDING_SHARE < is_padding.mean() < 1 else hu.ravel()
    low, high = np.percentile(values[::7] if len(values) > 1000 else values, [0.5, 99.5])
    return np.clip(values, low, high)


def two_levels(hu: CoarseArray) -> Levels:
    """The levels of air and of tissue, wherever the scale puts them; padding does not count."""
    values = without_padding(hu)
    threshold = best_threshold(values)
    is_low = values < threshold
    if is_low.all() or not is_low.any():
        middle = float(np.median(values))
        return Levels(middle, middle, threshold)
    low, high = values[is_low], values[~is_low]
    return Levels(float(np.median(low)), float(np.median(high)), threshold)
