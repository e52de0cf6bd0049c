"""Separate the air in the body from the air around it in a coarse image, and classify regions.

Everything is decided slice by slice on voxels of about 3 mm. Thin paths through the skin (noise,
streaks, a drain) are closed before air is followed in from the edge of the image. Air behind wider
paths is recognised by its density and by the body on both sides of it.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray
from nodulebench.imaging.morphology import block_mean, dilated, eroded
from nodulebench.imaging.volume import AIR_HU

Labels: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""The region number of each voxel, 0 for none."""

AIR_THRESHOLD_HU = -400.0
"""Half-way between lung (about -850 HU) and soft tissue (about 50 HU)."""
LUNG_HU = (-965.0, -500.0)
"""Median HU of lung in coarse voxels; air in bowels, sinuses and below masks is lower."""
LEAK_MM = 9.0
"""Air around the body does not enter through narrower paths."""
SMALLEST_PIECE_CM2 = 5.0
"""A smaller area of lung on a slice cannot be distinguished from outside air by its density."""
WITHIN_BODY_SHARE = 0.1
"""At least this share of a lung that the field of view cuts has the body on both sides."""
BODY_PART_SHARE = 0.3
"""Smallest part of the body on a slice, as a share of the largest; tables are thinner."""
LOWEST_AIR_HU = -1100.0
"""Rows and columns that are lower on all slices are padding."""
EVEN_AIR_HU = -1020.0
"""Rows and columns that are constant on all slices and lower are padding, not uniform air."""


@dataclass(frozen=True, slots=True)
class Air:
    """The air of an image."""

    inside: BoolArray
    """Air in the body, without voxels next to the air around it."""
    outside: BoolArray
    """Air around the body, and everything outside the field of view."""
    around: BoolArray
    """The part of ``outside`` that is air."""
    padding: BoolArray
    """Rows and columns that are constant on all slices, or darker than air."""
    within: BoolArray
    """Everything with the body on both sides, across or from front to back."""


def separate_air(hu: Float32Array, step_mm: FloatArray) -> Air:
    """Separate the air in the body from the air around it, in voxels of about 3 mm."""
    air = hu < AIR_THRESHOLD_HU
    padding = padded(hu)
    wide = eroded(air, LEAK_MM / 2, step_mm)
    labels, count = slice_labels(wide & ~padding)
    at_edge = np.zeros(count + 1, dtype=np.bool_)
    at_edge[labels[:, edge_of(padding)]] = True
    at_edge[0] = False
    body = within_body(hu)
    cut = _lung_pieces(hu, np.where(at_edge[labels], labels, 0), body, step_mm)
    reached = at_edge[labels] & ~cut
    joined, _ = slice_labels(reached & body)
    reached &= ~_lung_pieces(hu, joined, body, step_mm)
    outside = dilated(reached, LEAK_MM / 2, step_mm) & air & ~padding
    inside = air & ~grown_in_slices(outside) & ~padding
    around = outside | (padding & (hu > EVEN_AIR_HU))
    return Air(inside, outside | padding, around & (hu > LOWEST_AIR_HU), padding, body)


def _lung_pieces(
    hu: Float32Array, labels: Labels, body: BoolArray, step_mm: FloatArray
) -> BoolArray:
    """The pieces on slices that are lung: as dark as lung, and between parts of the body.

    Whether they are between parts of the body is decided for all pieces together that touch from
    slice to slice, because the field of view may cut off the wall next to some of them.
    """
    from scipy import ndimage

    size = np.bincount(labels.ravel())
    is_dark = size * step_mm[1] * step_mm[2] / 100 >= SMALLEST_PIECE_CM2
    is_dark &= _has_lung_density(hu, labels, size)
    if not is_dark.any():
        return np.zeros(hu.shape, dtype=np.bool_)
    regions, count = ndimage.label(is_dark[labels])
    size = np.bincount(regions.ravel(), minlength=count + 1)
    is_lung = np.bincount(regions[body], minlength=count + 1) >= WITHIN_BODY_SHARE * size
    is_lung[0] = False
    pieces: BoolArray = is_lung[regions]
    return pieces


def _has_lung_density(hu: Float32Array, labels: Labels, size: IntArray) -> BoolArray:
    """Whether at most half of each region is darker than lung, and at most half denser."""
    at = (hu >= LUNG_HU[0]) & (labels > 0)
    level, label = hu[at], labels[at]
    darker = size - np.bincount(label, minlength=len(size))
    denser = np.bincount(label[level > LUNG_HU[1]], minlength=len(size))
    is_lung: BoolArray = 2 * np.maximum(darker, denser) <= size
    is_lung[0] = False
    return is_lung


def cut_lung_cm2(hu: Float32Array, step_mm: FloatArray) -> FloatArray:
    """The area of lung that reaches the edge of the field of view, per slice.

    A region counts if it is within the body's outline, touches the edge and is as dark as lung.
    """
    padding = padded(hu)
    labels, count = slice_labels((hu < AIR_THRESHOLD_HU) & within_body(hu) & ~padding)
    area = np.zeros(len(hu))
    size = np.bincount(labels.ravel(), minlength=count + 1)
    at_edge = np.unique(labels[:, edge_of(padding)])
    cut = at_edge[_has_lung_density(hu, labels, size)[at_edge]]
    ends = np.maximum.accumulate(labels.max(axis=(1, 2)))
    np.add.at(area, np.searchsorted(ends, cut), size[cut] * step_mm[1] * step_mm[2] / 100)
    return area


def padded(hu: npt.NDArray[np.generic]) -> BoolArray:
    """Rows and columns outside the field of view: constant on all slices, or darker than air."""
    some = hu[[0, len(hu) // 2, -1]].astype(np.float32)
    padding = _is_padding(some)
    padding[padding] = _is_padding(hu[:, padding])
    return padding


def _is_padding(hu: npt.NDArray[Any]) -> BoolArray:
    highest = hu.max(axis=0)
    is_even = (highest - hu.min(axis=0) < 1.0) & (highest < AIR_THRESHOLD_HU)
    is_padding: BoolArray = is_even | (highest < LOWEST_AIR_HU)
    return is_padding


def seen_mean(
    hu: npt.NDArray[np.generic], factors: IntArray, lead: IntArray | None = None
) -> Float32Array:
    """Means over blocks of voxels, only of voxels in the field of view if a block has any.

    Half a block of padding would make lung next to it as dark as padding, tissue as dark as air.
    """
    padding = padded(hu)
    if not padding.any():
        return block_mean(hu, factors, lead)
    flat = np.array([1, *factors[1:]])
    ahead = None if lead is None else np.array([0, *lead[1:]])
    share = block_mean(~padding[None], flat, ahead)
    unseen = block_mean(hu.max(axis=0)[None], flat, ahead)
    total = block_mean(np.where(padding, hu.dtype.type(0), hu), factors, lead)
    mean: Float32Array = np.where(share > 0, total / np.maximum(share, 1e-6), unseen)
    return mean


def edge_of(padding: BoolArray) -> BoolArray:
    """Rows and columns at the edge of the field of view."""
    from scipy import ndimage

    edge: BoolArray = ndimage.binary_dilation(padding, iterations=2)
    edge[[0, -1], :] = True
    edge[:, [0, -1]] = True
    return edge


def within_body(hu: Float32Array) -> BoolArray:
    """Everything with the body on both sides, across or from front to back, without the table."""
    labels, count = slice_labels(hu > AIR_THRESHOLD_HU)
    size = np.bincount(labels.ravel(), minlength=count + 1)
    size[0] = 0
    # labels are numbered slice by slice, so each slice ends with its last label
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


def slice_labels(mask: BoolArray) -> tuple[Labels, int]:
    """Regions connected within a slice, numbered slice by slice, and their count."""
    from scipy import ndimage

    shape = np.zeros((3, 3, 3), dtype=np.bool_)
    shape[1] = ndimage.generate_binary_structure(2, 1)
    labels, count = ndimage.label(mask, structure=shape)
    return labels, count


def grown_in_slices(mask: BoolArray) -> BoolArray:
    """The mask with the neighbours of its voxels on the same slice."""
    grown = mask.copy()
    grown[:, 1:] |= mask[:, :-1]
    grown[:, :-1] |= mask[:, 1:]
    grown[:, :, 1:] |= mask[:, :, :-1]
    grown[:, :, :-1] |= mask[:, :, 1:]
    return grown


SMALLER_LUNG_SHARE = 0.1
"""Smallest lung as a share of the other; less is bowel gas or a bulla."""
VESSELS_HU = 45.0
"""Smallest distance of the brightest twentieth of lung from its median: vessels (at least 100 HU in
the scans examined); foam and air only have noise."""
EMPTY_LUNG_HU, EMPTY_LUNG_VESSELS_HU, EMPTY_LUNG_ML = 15.0, 100.0, 500.0
"""Lung that is all emphysema is darker: at least this far above the air around the body, with clear
vessels, and large."""
WALL_MM = 9.0
"""Lungs are deeper in the body; the core of a table, a head rest or a cushion is not."""
LARGEST_EXPOSED_SHARE = 0.25
"""Largest share of a lung's border that may be nearer to the air around the body."""
SMALLEST_REGION_ML = 5.0
"""Smaller regions are ignored."""


@dataclass(frozen=True, slots=True)
class LungRegions:
    """The class of every region by its number; number 0 is the background."""

    is_lung: BoolArray
    """It has a lung's density, vessels and wall, and is not small compared with the largest."""
    is_other: BoolArray
    """It is as empty as air, or open to the air around the body: not a lung."""


def classify_regions(
    hu: Float32Array, regions: Labels, count: int, around: BoolArray, step_mm: FloatArray
) -> LungRegions:
    """Distinguish lung from other air in the body, in voxels of about 3 mm; region 0 is none."""
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
    return LungRegions(is_lung, is_other)


def near_air(around: BoolArray, step_mm: FloatArray) -> BoolArray:
    """Everything nearer to the air around the body than the thickness of a chest wall."""
    near = around
    for _ in range(max(1, round(WALL_MM / float(step_mm[1])))):
        near = grown_in_slices(near)
    return near
