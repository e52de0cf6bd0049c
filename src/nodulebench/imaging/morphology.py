"""Binary shapes in millimetres: ball-shaped dilation, erosion and closing, components, grids."""

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray

Spacing = FloatArray
Factors = IntArray


def block_mean(
    values: npt.NDArray[np.generic], factors: Factors, lead: Factors | None = None
) -> Float32Array:
    """Means over blocks of voxels; blocks at the ends are the means of the voxels they have.

    ``lead``: the voxels of the first block that are before the image, fewer than a block.
    """
    result = values
    ahead = [0] * len(factors) if lead is None else lead.tolist()
    for axis, (factor, before) in enumerate(zip(factors.tolist(), ahead, strict=True)):
        if factor == 1:
            continue
        length = result.shape[axis]
        count = -(-(before + length) // factor)
        other = (slice(None),) * axis
        total = np.zeros((*result.shape[:axis], count, *result.shape[axis + 1 :]), np.float32)
        for index in range(factor):
            first = (index - before) % factor
            at = (first + before) // factor
            part = result[(*other, slice(first, None, factor))]
            total[(*other, slice(at, at + part.shape[axis]))] += part
        ends = np.clip(np.arange(count + 1) * factor - before, 0, length)
        members = np.diff(ends).astype(np.float32)
        total /= members.reshape(-1, *[1] * (result.ndim - axis - 1))
        result = total
    return result.astype(np.float32, copy=False)


def repeated(
    mask: BoolArray, factors: Factors, shape: tuple[int, ...], lead: Factors | None = None
) -> BoolArray:
    """The inverse of :func:`block_mean` for a mask: each voxel becomes its block."""
    fine = mask
    ahead = [0] * len(factors) if lead is None else lead.tolist()
    for axis, (factor, length) in enumerate(zip(factors.tolist(), shape, strict=True)):
        if factor > 1:
            fine = np.repeat(fine, factor, axis=axis)
        seen = slice(ahead[axis], ahead[axis] + length)
        fine = fine[(slice(None),) * axis + (seen,)]
    return fine


def dilated(mask: BoolArray, radius_mm: float, spacing_mm: Spacing) -> BoolArray:
    """Everything at most ``radius_mm`` from the mask: the union of the mask shifted over a ball."""
    result = np.zeros_like(mask)
    if not mask.any():
        return result
    reach = np.floor(radius_mm / spacing_mm).astype(np.int64)
    part, box = boxed(mask, reach)
    widest = _widened(part, int(reach[2]))
    grown = np.zeros_like(part)
    for up in range(-reach[0], reach[0] + 1):
        layer = np.zeros_like(part)
        for over in range(-reach[1], reach[1] + 1):
            left_mm2 = radius_mm**2 - (up * spacing_mm[0]) ** 2 - (over * spacing_mm[1]) ** 2
            if left_mm2 >= 0:
                _join_shifted(layer, widest[int(np.sqrt(left_mm2) / spacing_mm[2])], over, axis=1)
        _join_shifted(grown, layer, up, axis=0)
    result[box] = grown
    return result


def eroded(mask: BoolArray, radius_mm: float, spacing_mm: Spacing) -> BoolArray:
    """Everything farther than ``radius_mm`` from every voxel outside the mask."""
    part, box = boxed(mask, np.ones(3, dtype=np.int64))
    result = np.zeros_like(mask)
    result[box] = ~dilated(~part, radius_mm, spacing_mm)
    return result


def opening(mask: BoolArray, radius: float) -> BoolArray:
    """Everything that a ball of ``radius`` voxels covers within the mask; voxels are cubes."""
    return dilated(eroded(mask, radius, np.ones(3)), radius, np.ones(3))


def closing(mask: BoolArray, radius_mm: float, spacing_mm: Spacing) -> BoolArray:
    """The mask with its holes, gaps and dents filled that a ball of ``radius_mm`` cannot enter."""
    from scipy import ndimage

    margin = np.ceil(radius_mm / spacing_mm).astype(np.int64) + 1
    part, box = boxed(mask, np.zeros(3, dtype=np.int64))
    padded = np.pad(part, [(width, width) for width in margin])
    wide = dilated(padded, radius_mm, spacing_mm)
    filled = ndimage.binary_fill_holes(eroded(wide, radius_mm, spacing_mm) | padded)
    result = np.zeros_like(mask)
    result[box] = filled[tuple(slice(width, -width) for width in margin)]
    return result


def grown_into(seed: BoolArray, allowed: BoolArray) -> BoolArray:
    """The seed grown by one voxel over its faces, only within ``allowed``."""
    grown = seed.copy()
    for axis in range(seed.ndim):
        for shift in (-1, 1):
            _join_shifted(grown, seed, shift, axis)
    grown &= allowed
    grown |= seed
    return grown


def _widened(mask: BoolArray, reach: int) -> list[BoolArray]:
    """The mask widened along columns by 0, 1, ... ``reach`` voxels to either side."""
    widened = [mask]
    for width in range(1, reach + 1):
        wider = widened[-1].copy()
        _join_shifted(wider, mask, width, axis=2)
        _join_shifted(wider, mask, -width, axis=2)
        widened.append(wider)
    return widened


def _join_shifted(target: BoolArray, mask: BoolArray, shift: int, axis: int) -> None:
    length = mask.shape[axis]
    if abs(shift) >= length:
        return
    lead = (slice(None),) * axis
    to = slice(max(0, shift), length + min(0, shift))
    source = slice(max(0, -shift), length + min(0, -shift))
    target[(*lead, to)] |= mask[(*lead, source)]


def boxed(mask: BoolArray, margin: IntArray) -> tuple[BoolArray, tuple[slice, ...]]:
    box = []
    for axis, extra in enumerate(margin.tolist()):
        others = tuple(other for other in range(mask.ndim) if other != axis)
        along = np.flatnonzero(mask.any(axis=others))
        low, high = (int(along[0]), int(along[-1])) if len(along) else (0, 0)
        box.append(slice(max(0, low - extra), min(mask.shape[axis], high + 1 + extra)))
    return mask[tuple(box)], tuple(box)
