"""Grow the voxels of the nodule at a position in a scan, without vessels and pleura.

Follows Kuhnigk et al., IEEE Transactions on Medical Imaging 25:417-434, 2006: a threshold between
the nodule and the lung around it; the wall is where closed lung ends; thin parts are opened away;
and voxels farther than a share of the nodule's own radius do not belong to it. The constants were
chosen on two tenths of the nodule blocks of LUNA16 and three whole scans against the mean diameter
of the readers; ``benchmarks/click_proposals.py`` measures on the other eight tenths.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray
from nodulebench.imaging.morphology import boxed
from nodulebench.imaging.volume import Volume

HALF_SIDE_MM = 22.0
"""Half the side of the cube that is examined."""
SEED_MM = 2.5
"""How far from the click the brightest voxel may be."""
LUNG_HU, SOFT_HU = -850.0, 100.0
"""Lung around a nodule; and the upper limit of nodule density for the threshold."""
SHARES, SHARE_MM = (0.42, 0.38), (5.0, 8.0)
"""Position of the edge between lung (0) and nodule (1) for these diameters. Readers draw
a little outside half-way; a small nodule is blurred by the voxels over nearly its whole width."""
LOWEST_HU = -750.0
"""Below this, noise of the lung would count as nodule."""
AIR_HU = -500.0
"""Upper limit of lung when the wall is located."""
CLOSING_MM = 12.0
"""Radius of the ball that cannot enter the dent of a nodule at the wall."""
THIN = 0.65
"""Parts thinner than this share of the radius are opened away."""
DILATION_MM = 1.5
"""How much farther than the opening radius the rest may grow back."""
FARTHEST, FARTHEST_MM = 1.7, 1.5
"""Largest distance from the middle, in radii plus mm; half a slice more for whole slices."""
STEP_HU, STEP = 50.0, 1.1
"""Change of the threshold and of the reach per turn of the mouse wheel."""
LONGEST_CLIMB_MM = 6.0


@dataclass(frozen=True, eq=False)
class GrownRegion:
    """Voxels of a nodule."""

    voxel: IntArray
    """Column, row and slice of each voxel, by slice; at least the position itself."""
    threshold_hu: float


def grow_nodule(volume: Volume, place_mm: FloatArray, level: int = 0) -> GrownRegion:
    """Grow the nodule at a position.

    The proposal of each wheel turn contains the previous one, or is contained in it: a larger
    proposal loses no voxel, a smaller one gains none.

    ``level``: turns of the wheel: above 0 larger, below 0 smaller than proposed.
    """
    from scipy import ndimage

    part, low, at = _cube(volume, place_mm)
    spacing = volume.spacing_mm
    seed, core_hu = _seed(part, at, spacing)
    is_lung = _closed_lung(part < AIR_HU, spacing)
    threshold = _threshold(core_hu, 0.0)
    region, middle = _dense_region(part, seed, is_lung, threshold, 0, spacing)
    diameter_mm = float(np.cbrt(6 / np.pi * region.sum() * spacing.prod()))
    wanted = _threshold(core_hu, diameter_mm)
    if wanted != threshold:
        threshold = wanted
        region, middle = _dense_region(part, seed, is_lung, threshold, 0, spacing)
    way = 1 if level > 0 else -1
    for turn in range(way, level + way, way) if level else ():
        turned, _ = _dense_region(part, seed, is_lung, threshold, turn, spacing)
        region = region | turned if level > 0 else region & turned
    if level:
        region = ndimage.binary_fill_holes(_component(region, middle))
    return GrownRegion((np.argwhere(region) + low)[:, ::-1], threshold - STEP_HU * level)


def _threshold(core_hu: float, diameter_mm: float) -> float:
    share = float(np.interp(diameter_mm, SHARE_MM, SHARES))
    return max(LUNG_HU + share * (min(core_hu, SOFT_HU) - LUNG_HU), LOWEST_HU)


def _dense_region(
    part: Float32Array,
    seed: tuple[int, ...],
    is_lung: BoolArray,
    threshold: float,
    level: int,
    spacing: FloatArray,
) -> tuple[BoolArray, tuple[int, ...]]:
    """The dense voxels around a seed, without vessels and wall, and their middle."""
    from scipy import ndimage

    dense = part >= threshold - STEP_HU * level
    dense[seed] = True
    if is_lung[seed]:
        dense &= is_lung
    whole = _component(dense, seed)
    # nothing outside of its box matters, and most of the cube is outside
    _, box = boxed(whole, np.zeros(3, dtype=np.int64))
    low = [side.start for side in box]
    region, here = whole[box], tuple(at - a for at, a in zip(seed, low, strict=True))
    inside = _depth(region, spacing)
    middle = _deepest_near(inside, here, spacing)
    radius = float(inside[middle])
    region = _opened(region, inside, middle, THIN * radius / STEP**level, spacing)
    reach = (FARTHEST * radius + FARTHEST_MM + spacing[0] / 2) * STEP**level
    region &= _distance(region.shape, middle, spacing) <= reach
    whole[box] = ndimage.binary_fill_holes(_component(region, middle))
    return whole, tuple(at + a for at, a in zip(middle, low, strict=True))


def _cube(volume: Volume, place_mm: FloatArray) -> tuple[Float32Array, IntArray, IntArray]:
    shape = np.array(volume.shape)
    index = volume.geometry.to_index(place_mm[None])[0][::-1]
    place = np.clip(np.rint(index).astype(np.int64), 0, shape - 1)
    reach = np.ceil(HALF_SIDE_MM / volume.spacing_mm).astype(np.int64)
    low, high = np.maximum(place - reach, 0), np.minimum(place + reach + 1, shape)
    box = tuple(slice(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True))
    return volume.hu[box].astype(np.float32), low, place - low


def _seed(part: Float32Array, at: IntArray, spacing: FloatArray) -> tuple[tuple[int, ...], float]:
    """The brightest voxel near the click after smoothing, and the nodule's density there."""
    from scipy import ndimage

    is_near = _distance(part.shape, tuple(at.tolist()), spacing) <= SEED_MM
    smooth = np.where(is_near, ndimage.gaussian_filter(part, 0.7 / spacing), -np.inf)
    seed = tuple(int(index) for index in np.unravel_index(int(smooth.argmax()), part.shape))
    near = part[is_near]
    return seed, float(np.percentile(near[near >= np.median(near)], 75))


def _distance(shape: tuple[int, ...], middle: tuple[int, ...], spacing: FloatArray) -> FloatArray:
    squares = [
        ((np.arange(count) - at) * step) ** 2
        for count, at, step in zip(shape, middle, spacing.tolist(), strict=True)
    ]
    away: FloatArray = np.sqrt(
        squares[0][:, None, None] + squares[1][None, :, None] + squares[2][None, None, :]
    )
    return away


def _closed_lung(air: BoolArray, spacing: FloatArray) -> BoolArray:
    """Air, and the dents in its wall that the ball cannot enter."""
    from scipy import ndimage

    if not air.any():
        return np.ones_like(air)
    wide = ndimage.distance_transform_edt(~air, sampling=spacing) <= CLOSING_MM
    if wide.all():
        return wide
    closed: BoolArray = ndimage.distance_transform_edt(wide, sampling=spacing) > CLOSING_MM
    return closed | air


def _component(mask: BoolArray, at: tuple[int, ...]) -> BoolArray:
    from scipy import ndimage

    label, _ = ndimage.label(mask)
    together: BoolArray = label == label[at] if mask[at] else np.zeros_like(mask)
    together[at] = True
    return together


def _depth(mask: BoolArray, spacing: FloatArray) -> FloatArray:
    """The depth of every voxel in the mask, mm; nothing outside the cube belongs to the mask."""
    from scipy import ndimage

    deep: FloatArray = ndimage.distance_transform_edt(np.pad(mask, 1), sampling=spacing)
    return deep[1:-1, 1:-1, 1:-1]


def _deepest_near(
    depth: FloatArray, start: tuple[int, ...], spacing: FloatArray
) -> tuple[int, ...]:
    """The voxel that is reached from a start by going deeper, step by step."""
    reach = np.maximum(1, np.ceil(1.0 / spacing)).astype(int).tolist()
    here = start
    while True:
        low = [max(0, at - step) for at, step in zip(here, reach, strict=True)]
        around = depth[
            tuple(slice(a, at + step + 1) for a, at, step in zip(low, here, reach, strict=True))
        ]
        best = np.unravel_index(int(around.argmax()), around.shape)
        there = tuple(int(index) + a for index, a in zip(best, low, strict=True))
        gone = np.linalg.norm((np.array(there) - start) * spacing)
        if depth[there] <= depth[here] or gone > LONGEST_CLIMB_MM:
            return here
        here = there


def _opened(
    region: BoolArray,
    depth: FloatArray,
    middle: tuple[int, ...],
    thin_mm: float,
    spacing: FloatArray,
) -> BoolArray:
    """The mask after thin parts are removed and the rest has grown back."""
    from scipy import ndimage

    core = depth > thin_mm
    if thin_mm < spacing.min() or not core[middle]:
        return region.copy()
    rest = _component(core, middle)
    away = ndimage.distance_transform_edt(~rest, sampling=spacing)
    opened: BoolArray = region & (away <= DILATION_MM * thin_mm)
    return opened
