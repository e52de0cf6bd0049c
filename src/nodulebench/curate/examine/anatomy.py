"""Coarse image -> what it shows of a chest: lungs, whether they are cut, levels of air and tissue.

Everything is decided on voxels of about 3 mm; the headers' body part is never asked.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nodulebench.curate.examine.image import CoarseArray
from nodulebench.model.arrays import BoolArray, FloatArray

AIR_THRESHOLD_HU = -400.0
"""Half-way between lung (about -850 HU) and soft tissue (about 50 HU)."""
SMALLER_LUNG_SHARE = 0.1
STEP_MM = 5.0
"""About how far apart the slices are that are looked at; both ends are among them."""
LUNG_HU = (-965.0, -500.0)
"""Median HU of lung in coarse voxels; air in bowels, sinuses and below masks is lower."""
VESSELS_HU = 45.0
"""The brightest twentieth of lung lies so far above its median: vessels (at least 100 HU in scans
that were looked at); foam and air have noise alone."""
WALL_MM = 9.0
"""Lungs lie deeper in the body; the core of a table, a head rest or a cushion does not."""
LARGEST_EXPOSED_SHARE = 0.25
"""So much of a lung's border may lie nearer to the air around the body."""
SMALLEST_BODY_SHARE = 0.08
"""Lung has so much of the body's section where it is widest; a bowel has less."""
SMALLEST_REGION_SHARE = 0.02
"""Regions smaller than this beside the largest one are not looked at."""
SMALLEST_PIECE_CM2 = 5.0
BODY_PART_SHARE = 0.3
"""Parts of the body on a slice are at least this large beside the largest; tables are thinner."""
LOWEST_AIR_HU = -1100.0
"""What is lower all along the scan is padding."""
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


def find_lungs(hu: CoarseArray, threshold_hu: float) -> BoolArray:
    """Air that no axial slice connects with the edge of the image, in its largest regions."""
    from scipy import ndimage

    inside, _ = _air_inside(hu, threshold_hu)
    regions, count = ndimage.label(inside)
    size = np.bincount(regions.ravel(), minlength=count + 1)
    size[0] = 0
    is_lung = (size > 0) & (size >= SMALLER_LUNG_SHARE * size.max())
    lungs: BoolArray = is_lung[regions]
    return lungs


def lung_areas_cm2(hu: CoarseArray, step_mm: FloatArray) -> FloatArray:
    """Lung on every slice: regions of air within the body that are as lungs are.

    They have a lung's density, vessels, and a wall between them and the air around; together they
    have a lung's share of the body's section. One lung is enough, however small the other one is.
    """
    from scipy import ndimage

    inside, outside = _air_inside(hu, AIR_THRESHOLD_HU)
    regions, count = ndimage.label(inside)
    size = np.bincount(regions.ravel(), minlength=count + 1)
    size[0] = 0
    core = ~_grown(~inside)
    near = outside
    for _ in range(max(1, round(WALL_MM / float(step_mm[1])))):
        near = _grown(near)
    border = np.bincount(regions[inside & ~core], minlength=count + 1)
    exposed = np.bincount(regions[inside & ~core & near], minlength=count + 1)
    is_large = size >= np.maximum(1, SMALLEST_REGION_SHARE * size.max())
    is_lung = is_large & (exposed <= LARGEST_EXPOSED_SHARE * border)
    for number in np.flatnonzero(is_lung):
        is_lung[number] = _is_lung_tissue(hu[core & (regions == number)])
    size[~is_lung] = 0
    lungs = (size >= np.maximum(1, SMALLER_LUNG_SHARE * size.max()))[regions]
    voxels = lungs.sum(axis=(1, 2))
    widest = int(voxels.argmax())
    if voxels[widest] < SMALLEST_BODY_SHARE * np.count_nonzero(~outside[widest]):
        voxels = np.zeros_like(voxels)
    areas: FloatArray = voxels * float(step_mm[1] * step_mm[2]) / 100.0
    return areas


def _is_lung_tissue(hu: CoarseArray) -> bool:
    """Whether the voxels within a region's border have a lung's density, and vessels among them."""
    if not len(hu):
        return False
    middle, bright = np.percentile(hu, [50, 95])
    return bool(LUNG_HU[0] <= middle <= LUNG_HU[1] and bright - middle >= VESSELS_HU)


def _air_inside(hu: CoarseArray, threshold_hu: float) -> tuple[BoolArray, BoolArray]:
    """Air that no axial slice connects with the edge of the image, and air that one does."""
    from scipy import ndimage

    air = hu < threshold_hu
    labels, count = ndimage.label(air, structure=_in_plane())
    is_outside = np.zeros(count + 1, dtype=np.bool_)
    for edge in (labels[:, 0], labels[:, -1], labels[:, :, 0], labels[:, :, -1]):
        is_outside[edge] = True
    is_outside[0] = False
    outside = is_outside[labels]
    return air & ~outside, outside


def _grown(mask: BoolArray) -> BoolArray:
    """A mask with the neighbours of its voxels on the same slice."""
    grown = mask.copy()
    grown[:, 1:] |= mask[:, :-1]
    grown[:, :-1] |= mask[:, 1:]
    grown[:, :, 1:] |= mask[:, :, :-1]
    grown[:, :, :-1] |= mask[:, :, 1:]
    return grown


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


def cut_lung_cm2(hu: CoarseArray, step_mm: FloatArray) -> FloatArray:
    """For every slice how much lung reaches the edge of the field of view.

    A region counts that lies within the body's outline, touches the edge and is as dark as lung.
    """
    from scipy import ndimage

    highest = hu.max(axis=0)
    is_even = (highest - hu.min(axis=0) < 1.0) & (highest < AIR_THRESHOLD_HU)
    is_padding = is_even | (highest < LOWEST_AIR_HU)
    air = (hu < AIR_THRESHOLD_HU) & _within_body(hu) & ~is_padding
    edge = ndimage.binary_dilation(is_padding, iterations=2)
    edge[[0, -1], :] = True
    edge[:, [0, -1]] = True
    labels, count = ndimage.label(air, structure=_in_plane())
    area = np.zeros(len(hu))
    at_edge = np.unique(labels[:, edge])
    at_edge = at_edge[at_edge > 0]
    if not len(at_edge):
        return area
    size = np.bincount(labels.ravel(), minlength=count + 1)[at_edge] * step_mm[1] * step_mm[2] / 100
    is_at_edge = np.zeros(count + 1, dtype=np.bool_)
    is_at_edge[at_edge] = True
    chosen = is_at_edge[labels]
    level = np.asarray(ndimage.median(hu[chosen], labels[chosen], at_edge))
    is_lung = (level >= LUNG_HU[0]) & (level <= LUNG_HU[1])
    ends = np.maximum.accumulate(labels.max(axis=(1, 2)))
    np.add.at(area, np.searchsorted(ends, at_edge[is_lung]), size[is_lung])
    return area


def _within_body(hu: CoarseArray) -> BoolArray:
    """What has the body on both sides, across or from front to back; the table does not count."""
    from scipy import ndimage

    labels, count = ndimage.label(hu > AIR_THRESHOLD_HU, structure=_in_plane())
    size = np.bincount(labels.ravel(), minlength=count + 1)
    size[0] = 0
    # labels are given slice by slice, so the last label of each slice tells where it ends
    ends = np.maximum.accumulate(labels.max(axis=(1, 2)))
    largest = np.array([part.max(initial=0) for part in np.split(size[1:], ends)[: len(ends)]])
    place = np.minimum(np.searchsorted(ends, np.arange(count + 1)), len(ends) - 1)
    is_body = size >= np.maximum(1, BODY_PART_SHARE * largest[place])
    body = is_body[labels]
    within: BoolArray = np.zeros(hu.shape, dtype=np.bool_)
    for axis in (1, 2):
        before = np.maximum.accumulate(body, axis=axis)
        after = np.flip(np.maximum.accumulate(np.flip(body, axis), axis=axis), axis)
        within |= before & after
    return within


def _in_plane() -> BoolArray:
    """Neighbours within a slice only."""
    from scipy import ndimage

    shape = np.zeros((3, 3, 3), dtype=np.bool_)
    shape[1] = ndimage.generate_binary_structure(2, 1)
    return shape
