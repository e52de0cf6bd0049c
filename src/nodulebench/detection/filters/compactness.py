"""Regions -> how compact they are: axes of the ellipsoid like them, share of a ball they fill."""

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.detection.filters.regions import Regions


def half_axes(regions: Regions) -> FloatArray:
    """Half axes (n x 3, longest first, in voxels) of the ellipsoids with equal second moments."""
    away = regions.place - regions.center[regions.number]
    moments = np.empty((regions.count, 3, 3))
    for one in range(3):
        for other in range(one, 3):
            mean = regions.mean(away[:, one] * away[:, other])
            moments[:, one, other] = moments[:, other, one] = mean
    # a voxel is a cube, not a point: its own second moment is 1/12 along each axis
    variance = np.linalg.eigvalsh(moments + np.eye(3) / 12.0)[:, ::-1]
    axes: FloatArray = np.sqrt(5.0 * variance)
    return axes


def compactness(regions: Regions) -> FloatArray:
    """Share of the ball around its longest axis that a region fills: 1 for a ball."""
    around = 4.0 / 3.0 * np.pi * half_axes(regions)[:, 0] ** 3
    return np.minimum(regions.size / around, 1.0)


def ball_diameter(voxels: FloatArray) -> FloatArray:
    """Diameter of the ball with as many voxels."""
    return np.cbrt(6.0 * voxels / np.pi)
