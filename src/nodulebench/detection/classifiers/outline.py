"""A place in the lungs -> the voxels of the thing that lies there, cut off its vessels.

After Kuhnigk et al., IEEE Transactions on Medical Imaging 25:417-434, 2006, in short: a threshold
half-way between the thing and the lung around it, what is connected with the place, and an opening
that parts it from vessels.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray

REACH_MM = (7.0, 20.0)
"""Half the side of the cube that is looked at: the candidate's diameter and a half, within these
limits."""
LUNG_HU = -850.0
"""Lung around a nodule; the mean of a few scans, so that a vessel beside it changes nothing."""
LOWEST_THRESHOLD_HU = -780.0
"""Open: below this, noise of the lung would be taken for the thing."""
HIGHEST_HU = 200.0
"""Calcium counts as soft tissue where the threshold is chosen."""


@dataclass(frozen=True, eq=False)
class Outlined:
    """A cube of voxels of 1 mm around a place, and what lies there."""

    hu: Float32Array
    lungs: BoolArray
    inside: BoolArray
    """The thing; never empty: at least the place itself."""
    threshold_hu: float


def outline(hu: Float32Array, lungs: BoolArray, index: FloatArray, diameter: float) -> Outlined:
    """Cut out what lies at a voxel.

    Args:
        hu: the chest on cubes of 1 mm.
        lungs: of the same shape.
        index: slice, row, column; rounded to a voxel.
        diameter: what the detector thinks, in voxels.
    """
    shape = np.array(hu.shape)
    place = np.clip(np.rint(index).astype(np.int64), 0, shape - 1)
    reach = int(np.clip(np.ceil(1.5 * diameter), *REACH_MM))
    low, high = np.maximum(place - reach, 0), np.minimum(place + reach + 1, shape)
    box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
    part = hu[box].astype(np.float32, copy=False)
    within = lungs[box]
    seed = _brightest_near(part, place - low)
    threshold = max((min(float(part[seed]), HIGHEST_HU) + LUNG_HU) / 2.0, LOWEST_THRESHOLD_HU)
    return Outlined(part, within, _thing((part >= threshold) & within, seed), threshold)


def _brightest_near(part: Float32Array, place: IntArray) -> tuple[int, int, int]:
    """The densest voxel at most one away."""
    low = np.maximum(place - 1, 0)
    near = part[tuple(slice(a, b) for a, b in zip(low, place + 2, strict=True))]
    at = np.unravel_index(int(near.argmax()), near.shape) + low
    return int(at[0]), int(at[1]), int(at[2])


def _thing(dense: BoolArray, seed: tuple[int, int, int]) -> BoolArray:
    """The opened region around the seed; unopened where opening leaves nothing there."""
    from scipy import ndimage

    whole = dense.copy()
    whole[seed] = True
    core = ndimage.binary_erosion(whole)
    label, _ = ndimage.label(core)
    if label[seed]:
        return ndimage.binary_dilation(label == label[seed]) & whole
    label, _ = ndimage.label(whole)
    connected: BoolArray = label == label[seed]
    return connected
