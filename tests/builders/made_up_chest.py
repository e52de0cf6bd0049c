"""A small chest with bright balls in its lungs, and detectors whose faults are known."""

import numpy as np
from scipy import ndimage

from nodulebench.imaging.volume import make_volume
from nodulebench.runner.command import Marks

SPACING = np.array([2.0, 2.5, 2.0])
ORIGIN = np.array([-110.0, -80.0, -300.0])
BALLS = ((25, 24, 35, 5.0), (40, 30, 30, 6.0), (20, 40, 80, 5.0), (45, 24, 76, 6.5))
"""Slice, row, column and radius (mm)."""


def made_up_chest(noise_hu=5.0, spacing_mm=SPACING):
    """Two lungs of 62 x 90 x 100 mm in a body, with four balls; smaller on smaller pixels."""
    hu = np.full((60, 64, 112), -1000.0)
    hu[:, 6:60, 6:108] = 40.0
    for columns in (slice(16, 48), slice(64, 98)):
        hu[6:56, 14:54, columns] = -860.0
    index = np.indices(hu.shape)
    for k, j, i, radius in BALLS:
        step = spacing_mm[::-1, None, None, None]
        offset = (index - np.array([k, j, i])[:, None, None, None]) * step
        hu[np.sqrt((offset**2).sum(axis=0)) <= radius] = 30.0
    hu += np.random.default_rng(1).normal(0, noise_hu, hu.shape)
    return make_volume(np.rint(hu).astype(np.int16), spacing_mm=spacing_mm, origin_mm=ORIGIN)


def bright_index(volume, least_mm3=60.0, most_mm3=20_000.0):
    """Centres [column, row, slice] and volumes of bright regions of a nodule's size."""
    labels, _ = ndimage.label(volume.hu > -400)
    sizes = np.bincount(labels.ravel())[1:] * volume.voxel_mm3
    numbers = np.flatnonzero((sizes >= least_mm3) & (sizes <= most_mm3)) + 1
    centers = np.array(ndimage.center_of_mass(labels > 0, labels, numbers)).reshape(-1, 3)
    return centers[:, ::-1], sizes[numbers - 1]


def faithful(volume):
    """Bright regions where they are."""
    index, size = bright_index(volume)
    return Marks(volume.geometry.to_world(index), size)


def without_origin(volume):
    index, size = bright_index(volume)
    return Marks(index * volume.geometry.spacing_mm, size)


def without_direction(volume):
    index, size = bright_index(volume)
    return Marks(volume.geometry.origin_mm + index * volume.geometry.spacing_mm, size)


def left_for_right(volume):
    index, size = bright_index(volume)
    index[:, 0] = volume.hu.shape[2] - 1 - index[:, 0]
    return Marks(volume.geometry.to_world(index), size)


def blind_in_upper_rows(volume):
    """Reads only rows from the 20th on, wherever the patient is."""
    index, size = bright_index(volume)
    seen = index[:, 1] >= 20
    return Marks(volume.geometry.to_world(index[seen]), size[seen])


def at_most_four(volume):
    """Saturates: reports the four smallest regions."""
    checked = faithful(volume)
    order = np.argsort(checked.score)[:4]
    return Marks(checked.center_mm[order], checked.score[order])


def roughness(volume):
    """How much neighbouring voxels differ, in HU."""
    return float(np.median(np.abs(np.diff(volume.hu.astype(float), axis=2))))


def better_in_noise(volume):
    """Reports small regions in noisy images only."""
    index, size = bright_index(volume, least_mm3=60.0 if roughness(volume) > 6.5 else 300.0)
    return Marks(volume.geometry.to_world(index), size)


def lost_when_smooth(volume):
    """Reports nothing where slices are smooth."""
    checked = faithful(volume)
    return checked if roughness(volume) > 3 else checked.chosen(np.zeros(len(checked), dtype=bool))


def lost_when_dense(volume):
    """Reports nothing where lungs are dense."""
    lung = volume.hu[(volume.hu > -960) & (volume.hu < -500)]
    checked = faithful(volume)
    return checked if np.median(lung) < -800 else checked.chosen(np.zeros(len(checked), dtype=bool))


def drowned_in_noise(volume):
    """Reports thirty places of the body wall too, with low scores, where the image is noisy."""
    checked = faithful(volume)
    if roughness(volume) < 5.5:
        return checked
    wall = np.stack([np.full(30, 8.0), np.full(30, 8.0), np.arange(15.0, 45.0)], axis=1)
    place = np.concatenate([checked.center_mm, volume.geometry.to_world(wall)])
    return Marks(place, np.concatenate([checked.score, np.zeros(30)]))


def silent(_volume):
    """Marks nothing."""
    return Marks(np.empty((0, 3)), np.empty(0))
