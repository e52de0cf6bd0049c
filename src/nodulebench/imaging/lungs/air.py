"""Coarse image -> which of its air lies in the body, and which around it or at its own edge.

Everything is decided slice by slice on voxels of about 3 mm. Thin paths through the skin (noise,
streaks, a drain) are closed before air is followed in from the edge of the image; what the path is
too wide for is told by its density where the body lies on both sides of it.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray
from nodulebench.imaging.morphology import block_mean, dilated, eroded

Labels: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""The number of the region that each voxel belongs to, 0 for none."""

AIR_THRESHOLD_HU = -400.0
"""Half-way between lung (about -850 HU) and soft tissue (about 50 HU)."""
LUNG_HU = (-965.0, -500.0)
"""Median HU of lung in coarse voxels; air in bowels, sinuses and below masks is lower."""
LEAK_MM = 9.0
"""Air around the body does not come in through a path that is narrower."""
SMALLEST_PIECE_CM2 = 5.0
"""Less lung on a slice is not told from the air around the body by its density."""
WITHIN_BODY_SHARE = 0.1
"""So much of a lung that the field of view cuts has the body on both sides."""
BODY_PART_SHARE = 0.3
"""Parts of the body on a slice are at least this large beside the largest; tables are thinner."""
LOWEST_AIR_HU = -1100.0
"""What is lower all along the scan is padding."""
EVEN_AIR_HU = -1020.0
"""What is the same all along the scan and lower is padding, not air that is even."""


@dataclass(frozen=True, slots=True)
class Air:
    """The air of an image."""

    inside: BoolArray
    """Air in the body; a voxel beside the air around it does not count."""
    outside: BoolArray
    """Air around the body, and what lies outside the field of view."""
    around: BoolArray
    """Of that, what is air."""
    padding: BoolArray
    """Rows and columns that are the same on every slice, or darker than air."""
    within: BoolArray
    """Everything that has the body on both sides, across or from front to back."""


def see_air(hu: Float32Array, step_mm: FloatArray) -> Air:
    """Part the air in the body from the air around it.

    Args:
        hu: the image in the patient's axes, in voxels of about 3 mm.
        step_mm: their size.
    """
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
    """Which of the pieces on slices are lung: as dark as lung, and between parts of the body.

    All pieces that touch from slice to slice are asked together what lies between parts of the
    body: beside some of them the field of view may leave no wall.
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
    """For every region whether at most half of it is darker than lung, and at most half denser."""
    at = (hu >= LUNG_HU[0]) & (labels > 0)
    level, label = hu[at], labels[at]
    darker = size - np.bincount(label, minlength=len(size))
    denser = np.bincount(label[level > LUNG_HU[1]], minlength=len(size))
    is_lung: BoolArray = 2 * np.maximum(darker, denser) <= size
    is_lung[0] = False
    return is_lung


def cut_lung_cm2(hu: Float32Array, step_mm: FloatArray) -> FloatArray:
    """For every slice how much lung reaches the edge of the field of view.

    A region counts that lies within the body's outline, touches the edge and is as dark as lung.
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
    """Rows and columns outside the field of view: the same on every slice, or darker than air."""
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
    """Means over blocks of voxels, of what lies in the field of view where a block has any of it.

    Half a block of padding would make lung beside it as dark as padding, and tissue as dark as air.

    Args:
        hu: the voxels.
        factors: how many voxels of each axis are a block.
        lead: so many voxels of the first block lie before the image.
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
    """Rows and columns where the field of view ends."""
    from scipy import ndimage

    edge: BoolArray = ndimage.binary_dilation(padding, iterations=2)
    edge[[0, -1], :] = True
    edge[:, [0, -1]] = True
    return edge


def within_body(hu: Float32Array) -> BoolArray:
    """What has the body on both sides, across or from front to back; the table does not count."""
    labels, count = slice_labels(hu > AIR_THRESHOLD_HU)
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


def slice_labels(mask: BoolArray) -> tuple[Labels, int]:
    """Regions whose voxels touch within a slice, numbered slice by slice, and their count."""
    from scipy import ndimage

    shape = np.zeros((3, 3, 3), dtype=np.bool_)
    shape[1] = ndimage.generate_binary_structure(2, 1)
    labels, count = ndimage.label(mask, structure=shape)
    return labels, count


def grown_in_slices(mask: BoolArray) -> BoolArray:
    """A mask with the neighbours of its voxels on the same slice."""
    grown = mask.copy()
    grown[:, 1:] |= mask[:, :-1]
    grown[:, :-1] |= mask[:, 1:]
    grown[:, :, 1:] |= mask[:, :, :-1]
    grown[:, :, :-1] |= mask[:, :, 1:]
    return grown
