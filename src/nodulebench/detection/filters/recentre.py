"""Places in the lungs -> the centre of the dense voxels around each, and their roundness.

A region's own centre may be on the rim of a nodule or next to it; its centre of mass within a ball,
taken repeatedly, moves to the middle of the nodule.
"""

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray

LUNG_HU = -850.0
SETTLED_VOXELS = 0.1
"""A place that moves less has arrived."""


def move_to_centres(
    hu: Float32Array,
    lungs: BoolArray,
    place: FloatArray,
    radius: FloatArray,
    *,
    densest_hu: float,
    steps: int,
) -> FloatArray:
    """Move each place to the centre of mass of the lung's dense parts within its ball.

    Args:
        hu: on cubic voxels.
        lungs: voxels outside have no weight.
        place: n x 3, slice, row, column.
        radius: of the ball around each place, in voxels.
        densest_hu: more than this weighs no more, so that soft tissue draws no place away.
        steps: how often each place moves at most.
    """
    weight = np.where(lungs, np.clip(hu, LUNG_HU, densest_hu) - np.float32(LUNG_HU), 0.0)
    moved = place.astype(np.float64, copy=True)
    for number, reach in enumerate(radius.tolist()):
        for _ in range(steps):
            there = _center_of_mass(weight, moved[number], reach)
            distance = float(np.linalg.norm(there - moved[number]))
            moved[number] = there
            if distance < SETTLED_VOXELS:
                break
    return moved


def roundness(
    hu: Float32Array,
    lungs: BoolArray,
    place: FloatArray,
    radius: FloatArray,
    *,
    densities_hu: tuple[float, float],
) -> FloatArray:
    """Roundness of the dense voxels in a ball around each place: shortest by longest axis.

    Axes are those of the ellipsoid with the same second moments: 1 for a ball, less for a vessel
    that runs through. Where nothing is dense it is 1.

    Args:
        hu: on cubic voxels.
        lungs: voxels outside have no weight.
        place: n x 3, slice, row, column.
        radius: of the ball around each place, in voxels.
        densities_hu: weight rises from nothing at the first to all at the second.
    """
    lowest, densest = (np.float32(density_hu) for density_hu in densities_hu)
    roundnesses = np.ones(len(place))
    for number, (at, reach) in enumerate(zip(place, radius.tolist(), strict=True)):
        axes, box = _around(at, reach, hu.shape)
        weight = np.where(lungs[box], np.clip(hu[box], lowest, densest) - lowest, 0.0)
        inside = _within(weight, axes, at, reach)
        total = float(inside.sum())
        if total > 0:
            away = np.stack(np.broadcast_arrays(*axes)).reshape(3, -1).astype(np.float64)
            share = inside.ravel() / total
            away -= (away @ share)[:, None]
            moments = np.linalg.eigvalsh((away * share) @ away.T)
            roundnesses[number] = (
                np.sqrt(max(moments[0], 0.0) / moments[2]) if moments[2] > 0 else 1.0
            )
    return roundnesses


def _center_of_mass(
    weight: npt.NDArray[np.floating], place: FloatArray, radius: float
) -> FloatArray:
    """Of the weight within a ball; the position itself where there is none."""
    axes, box = _around(place, radius, weight.shape)
    inside = _within(weight[box], axes, place, radius)
    total = float(inside.sum())
    if total <= 0:
        return place
    return np.array([float((inside * axis).sum()) / total for axis in axes])


def _around(
    place: FloatArray, radius: float, shape: tuple[int, ...]
) -> tuple[tuple[IntArray, ...], tuple[slice, ...]]:
    """The box around a ball, cut at the image's border: its axes' indices and its slices."""
    middle = np.clip(np.rint(place).astype(np.int64), 0, np.array(shape) - 1)
    reach = int(np.ceil(radius))
    low, high = np.maximum(middle - reach, 0), np.minimum(middle + reach + 1, shape)
    box = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
    return tuple(np.ogrid[box]), box


def _within(
    weight: npt.NDArray[np.floating], axes: tuple[IntArray, ...], place: FloatArray, radius: float
) -> npt.NDArray[np.floating]:
    away = sum((axis - at) ** 2 for axis, at in zip(axes, place, strict=True))
    inside: npt.NDArray[np.floating] = weight * (away <= radius**2)
    return inside
