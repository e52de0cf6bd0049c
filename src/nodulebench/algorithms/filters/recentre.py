"""Places in the lungs -> the centre of what is dense around each.

A region's own centre may lie on the rim of a nodule or beside it; its centre of mass within a ball,
taken again and again, moves to the middle of the thing.
"""

import numpy as np
import numpy.typing as npt

from nodulebench.model.arrays import BoolArray, Float32Array, FloatArray

LUNG_HU = -850.0
SETTLED_VOXELS = 0.1
"""A place that moves less has arrived."""


def recentred(
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
        lungs: what lies outside has no weight.
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


def _center_of_mass(
    weight: npt.NDArray[np.floating], place: FloatArray, radius: float
) -> FloatArray:
    """Of what lies within a ball; the place itself where nothing does."""
    shape = np.array(weight.shape)
    middle = np.clip(np.rint(place).astype(np.int64), 0, shape - 1)
    reach = int(np.ceil(radius))
    low, high = np.maximum(middle - reach, 0), np.minimum(middle + reach + 1, shape)
    axes = np.ogrid[tuple(slice(*bounds) for bounds in zip(low, high, strict=True))]
    part = weight[tuple(slice(*bounds) for bounds in zip(low, high, strict=True))]
    away = sum((axis - at) ** 2 for axis, at in zip(axes, place, strict=True))
    inside = part * (away <= radius**2)
    total = float(inside.sum())
    if total <= 0:
        return place
    return np.array([float((inside * axis).sum()) / total for axis in axes])
