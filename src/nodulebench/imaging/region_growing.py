"""A place in a scan -> the voxels of the nodule that lies there, cut off vessels and pleura.

In the way of Kuhnigk et al., IEEE Transactions on Medical Imaging 25:417-434, 2006: a threshold
between the nodule and the lung around it; the wall is where closed lung ends; what is thin is
opened away; and nothing farther than a share of the nodule's own radius belongs to it. The
constants were chosen on two tenths of the nodule blocks of LUNA16 and three whole scans against
the mean diameter of the readers; ``benchmarks/click_proposals.py`` measures on the other eight.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray
from nodulebench.imaging.volume import Volume

HALF_SIDE_MM = 22.0
"""Half the side of the cube that is looked at."""
SEED_MM = 2.5
"""How far from the click the brightest place is looked for."""
LUNG_HU, SOFT_HU = -850.0, 100.0
"""Lung around a nodule; and the densest that a nodule counts where the threshold is chosen."""
SHARES, SHARE_MM = (0.42, 0.38), (5.0, 8.0)
"""Of the way from lung to nodule: where its edge is, for nodules of these diameters. Readers draw a
little outside of half-way; a small nodule is blurred by the voxels to nearly its whole width."""
LOWEST_HU = -750.0
"""Below this, noise of the lung would be taken for the nodule."""
AIR_HU = -500.0
"""What counts as lung where the wall is looked for."""
CLOSING_MM = 12.0
"""Of the ball that cannot enter the dent of a nodule at the wall."""
THIN = 0.65
"""What is thinner than this share of the radius is opened away."""
DILATION_MM = 1.5
"""How much farther than it was opened the rest may grow back."""
FARTHEST, FARTHEST_MM = 1.7, 1.5
"""From the middle, in radii and besides; half a slice more, for the radius counts whole slices."""
STEP_HU, STEP = 50.0, 1.1
"""What one turn of the wheel changes: the threshold, and how far the nodule may reach."""
LONGEST_CLIMB_MM = 6.0


@dataclass(frozen=True, eq=False)
class Grown:
    """Voxels of a nodule."""

    voxel: IntArray
    """Column, row and slice of each, by slice; at least the place itself."""
    threshold_hu: float


def grown_at(volume: Volume, place_mm: FloatArray, level: int = 0) -> Grown:
    """The nodule at a place.

    Every turn of the wheel holds what the turn before it held, or is held by it: a larger proposal
    loses no voxel, a smaller one wins none.

    Args:
        volume: upright.
        place_mm: the click.
        level: turns of the wheel: above 0 larger, below 0 smaller than proposed.
    """
    from scipy import ndimage

    part, low, at = _cube(volume, place_mm)
    spacing = volume.spacing_mm
    seed, core_hu = _seed(part, at, spacing)
    is_lung = _closed_lung(part < AIR_HU, spacing)
    threshold = _threshold(core_hu, 0.0)
    thing, middle = _thing(part, seed, is_lung, threshold, 0, spacing)
    wanted = _threshold(core_hu, _diameter_mm(thing, spacing))
    if wanted != threshold:
        threshold = wanted
        thing, middle = _thing(part, seed, is_lung, threshold, 0, spacing)
    way = 1 if level > 0 else -1
    for turn in range(way, level + way, way) if level else ():
        turned, _ = _thing(part, seed, is_lung, threshold, turn, spacing)
        thing = thing | turned if level > 0 else thing & turned
    if level:
        thing = ndimage.binary_fill_holes(_hanging_together(thing, middle))
    return Grown((np.argwhere(thing) + low)[:, ::-1], threshold - STEP_HU * level)


def _threshold(core_hu: float, diameter_mm: float) -> float:
    """Where the edge of a nodule is that is so dense, and about so large."""
    share = float(np.interp(diameter_mm, SHARE_MM, SHARES))
    return max(LUNG_HU + share * (min(core_hu, SOFT_HU) - LUNG_HU), LOWEST_HU)


def _diameter_mm(thing: BoolArray, spacing: FloatArray) -> float:
    """Of the ball of equal volume."""
    return float(np.cbrt(6 / np.pi * thing.sum() * spacing.prod()))


def _thing(
    part: Float32Array,
    seed: tuple[int, ...],
    is_lung: BoolArray,
    threshold: float,
    level: int,
    spacing: FloatArray,
) -> tuple[BoolArray, tuple[int, ...]]:
    """What is dense around a voxel, cut off vessels and wall, and its middle."""
    from scipy import ndimage

    dense = part >= threshold - STEP_HU * level
    dense[seed] = True
    if is_lung[seed]:
        dense &= is_lung
    whole = _hanging_together(dense, seed)
    low, box = _box(whole)  # nothing outside of it matters, and most of the cube is outside
    thing, here = whole[box], tuple(at - a for at, a in zip(seed, low, strict=True))
    inside = _depth(thing, spacing)
    middle = _deepest_near(inside, here, spacing)
    radius = float(inside[middle])
    thing = _opened(thing, inside, middle, THIN * radius / STEP**level, spacing)
    reach = (FARTHEST * radius + FARTHEST_MM + spacing[0] / 2) * STEP**level
    thing &= _distance(thing.shape, middle, spacing) <= reach
    whole[box] = ndimage.binary_fill_holes(_hanging_together(thing, middle))
    return whole, tuple(at + a for at, a in zip(middle, low, strict=True))


def _box(mask: BoolArray) -> tuple[list[int], tuple[slice, ...]]:
    """Where the voxels of a mask begin, and the box around them."""
    kept = [np.flatnonzero(mask.any(axis=axes)) for axes in ((1, 2), (0, 2), (0, 1))]
    ends = [(int(one[0]), int(one[-1]) + 1) for one in kept]
    return [low for low, _ in ends], tuple(slice(*end) for end in ends)


def _cube(volume: Volume, place_mm: FloatArray) -> tuple[Float32Array, IntArray, IntArray]:
    """The voxels around a place, where they begin, and the place in them: slice, row, column."""
    shape = np.array(volume.shape)
    index = volume.geometry.to_index(place_mm[None])[0][::-1]
    place = np.clip(np.rint(index).astype(np.int64), 0, shape - 1)
    reach = np.ceil(HALF_SIDE_MM / volume.spacing_mm).astype(np.int64)
    low, high = np.maximum(place - reach, 0), np.minimum(place + reach + 1, shape)
    box = tuple(slice(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True))
    return volume.hu[box].astype(np.float32), low, place - low


def _seed(part: Float32Array, at: IntArray, spacing: FloatArray) -> tuple[tuple[int, ...], float]:
    """The brightest place near the click, noise smoothed, and how dense the nodule is there."""
    from scipy import ndimage

    is_near = _distance(part.shape, tuple(at.tolist()), spacing) <= SEED_MM
    smooth = np.where(is_near, ndimage.gaussian_filter(part, 0.7 / spacing), -np.inf)
    seed = tuple(int(one) for one in np.unravel_index(int(smooth.argmax()), part.shape))
    near = part[is_near]
    return seed, float(np.percentile(near[near >= np.median(near)], 75))


def _distance(shape: tuple[int, ...], middle: tuple[int, ...], spacing: FloatArray) -> FloatArray:
    """How far every voxel is from one of them, in mm."""
    squares = [
        ((np.arange(count) - at) * step) ** 2
        for count, at, step in zip(shape, middle, spacing.tolist(), strict=True)
    ]
    away: FloatArray = np.sqrt(
        squares[0][:, None, None] + squares[1][None, :, None] + squares[2][None, None, :]
    )
    return away


def _closed_lung(air: BoolArray, spacing: FloatArray) -> BoolArray:
    """Air, and the dents of its wall that the ball cannot enter."""
    from scipy import ndimage

    if not air.any():
        return np.ones_like(air)
    wide = ndimage.distance_transform_edt(~air, sampling=spacing) <= CLOSING_MM
    if wide.all():
        return wide
    closed: BoolArray = ndimage.distance_transform_edt(wide, sampling=spacing) > CLOSING_MM
    return closed | air


def _hanging_together(mask: BoolArray, at: tuple[int, ...]) -> BoolArray:
    from scipy import ndimage

    label, _ = ndimage.label(mask)
    together: BoolArray = label == label[at] if mask[at] else np.zeros_like(mask)
    together[at] = True
    return together


def _depth(mask: BoolArray, spacing: FloatArray) -> FloatArray:
    """How deep every voxel lies in the mask, in mm; outside of the cube nothing belongs to it."""
    from scipy import ndimage

    deep: FloatArray = ndimage.distance_transform_edt(np.pad(mask, 1), sampling=spacing)
    return deep[1:-1, 1:-1, 1:-1]


def _deepest_near(
    depth: FloatArray, start: tuple[int, ...], spacing: FloatArray
) -> tuple[int, ...]:
    """Where one comes from a voxel by going deeper, step by step."""
    reach = np.maximum(1, np.ceil(1.0 / spacing)).astype(int).tolist()
    here = start
    while True:
        low = [max(0, at - step) for at, step in zip(here, reach, strict=True)]
        around = depth[
            tuple(slice(a, at + step + 1) for a, at, step in zip(low, here, reach, strict=True))
        ]
        best = np.unravel_index(int(around.argmax()), around.shape)
        there = tuple(int(one) + a for one, a in zip(best, low, strict=True))
        gone = np.linalg.norm((np.array(there) - start) * spacing)
        if depth[there] <= depth[here] or gone > LONGEST_CLIMB_MM:
            return here
        here = there


def _opened(
    thing: BoolArray,
    depth: FloatArray,
    middle: tuple[int, ...],
    thin_mm: float,
    spacing: FloatArray,
) -> BoolArray:
    """What is left where everything thin is taken away, and grows back."""
    from scipy import ndimage

    core = depth > thin_mm
    if thin_mm < spacing.min() or not core[middle]:
        return thing.copy()
    rest = _hanging_together(core, middle)
    away = ndimage.distance_transform_edt(~rest, sampling=spacing)
    opened: BoolArray = thing & (away <= DILATION_MM * thin_mm)
    return opened
