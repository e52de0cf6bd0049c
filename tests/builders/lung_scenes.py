"""Small chests for detectors: a lung of one density with balls and vessels in it."""

import numpy as np

from nodulebench.detection.scan import Chest, prepare_scan
from nodulebench.imaging.lungs import Lungs
from nodulebench.imaging.volume import make_volume

LUNG_HU = -850.0


def distance_from(center, shape=(64, 64, 64)):
    """Distance of every voxel from a place, in voxels."""
    grid = np.indices(shape, dtype=np.float64)
    return np.sqrt(sum((axis - at) ** 2 for axis, at in zip(grid, center, strict=True)))


def ball(center, radius, shape=(64, 64, 64), hu=0.0):
    """How much to add to the lung for a ball; voxels on its edge are partly filled."""
    share = np.clip(radius + 0.5 - distance_from(center, shape), 0.0, 1.0)
    return share * (hu - LUNG_HU)


def rod(center, radius, shape=(64, 64, 64), hu=0.0):
    """A vessel along the first axis through the whole volume."""
    rows, columns = np.indices(shape[1:], dtype=np.float64)
    away = np.hypot(rows - center[1], columns - center[2])
    share = np.clip(radius + 0.5 - away, 0.0, 1.0)
    return np.broadcast_to(share, shape) * (hu - LUNG_HU)


def lung_with(*bodies, shape=(64, 64, 64), margin=6, noise_hu=0.0, seed=0) -> Chest:
    """A chest of voxels of 1 mm; lung everywhere but in the margin, where there is tissue."""
    hu = np.full(shape, LUNG_HU)
    for body in bodies:
        hu = np.maximum(hu, LUNG_HU + body)
    hu += noise_hu * np.random.default_rng(seed).standard_normal(shape)
    label = np.zeros(shape, dtype=np.uint8)
    label[(slice(margin, -margin),) * 3] = 1
    hu[label == 0] = 40.0
    volume = make_volume(
        hu.astype(np.float32), spacing_mm=(1.0, 1.0, 1.0), origin_mm=(-10.0, 20.0, -300.0)
    )
    return prepare_scan(volume, lungs=Lungs(label, volume.geometry))


def world(*index):
    """Position of a voxel of such a chest: x, y, z in millimetres."""
    return np.array([-10.0 + index[2], 20.0 + index[1], -300.0 + index[0]])
