"""A position in a chest -> a description in numbers, the same for candidates of any detector.

Cubes of voxels around all places are weighed at once, near (voxels of 1 mm) and far (of 2 mm): by
Gaussians and their derivatives at several scales (how dense, how steep, how much like a ball, tube
or plate), by shells (how density falls off, how restless it is, how much is lung), and along rays
that leave the candidate into the lung or the wall.
"""

from functools import cache
from itertools import pairwise

import numpy as np

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray
from nodulebench.detection.scale_space import (
    DENSITIES_HU,
    OUTSIDE_HU,
    STEP_MM,
    dot_strength,
    eigenvalues,
    halved,
    line_strength,
)
from nodulebench.detection.scan import Chest

REACH = 8
"""Voxels from a place to the faces of its cube."""
SCALES = (0.8, 1.3, 2.1)
"""Standard deviations of the Gaussians in voxels."""
SHELLS = (0.0, 1.1, 2.2, 3.5, 5.0, 6.5, 8.5)
"""Radii of the shells in voxels."""
RAY_STEP = 0.5
"""Voxels."""
RAYS = 26
"""Directions on half a sphere; each has an opposite."""
CORE = 1.1
"""Radius in voxels within which density is that of the candidate."""
LONG = 1.8
"""A width this many times the median one leads along a vessel or a wall."""
AT_ONCE = 256
"""Places whose cubes are held in memory together."""

_JET = ("density", "slope", "steepest", "middle", "flattest", "dot", "line")
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
_SEEN = (
    *(f"{name}_{scale:g}" for scale in SCALES for name in _JET),
    *(f"{name}_{edge:g}" for name in ("shell", "unrest", "lung") for edge in SHELLS[1:]),
    *(f"{name}_{share:g}" for name in ("ray", "width") for share in _QUANTILES),
    *("wall", "long", "roundness", "level", "around"),
)
NAMES = tuple(f"{view}_{name}" for view in ("near", "far") for name in _SEEN)
"""Of the columns of a description."""


def describe_positions(chest: Chest, center_mm: FloatArray) -> Float32Array:
    """A row of numbers for each place, columns as in ``NAMES``."""
    cubes = chest.resampled(STEP_MM)
    hu = np.asarray(cubes.hu, dtype=np.float32)
    return describe_voxels(hu, cubes.lungs.mask, cubes.to_index(center_mm))


def describe_voxels(hu: Float32Array, lungs: BoolArray, index: FloatArray) -> Float32Array:
    """The same of fractional voxels [slice, row, column] on cubes of ``STEP_MM``."""
    if not len(index):
        return np.empty((0, len(NAMES)), np.float32)
    image = np.clip(hu, *DENSITIES_HU)
    near = _views(image, lungs, index)
    far = _views(halved(image), halved(lungs) >= 0.5, (index - 0.5) / 2.0)
    return np.concatenate([near, far], axis=1)


def _views(image: Float32Array, lungs: BoolArray, index: FloatArray) -> Float32Array:
    even = np.round(index, 6)  # half-way stays half-way, wherever the patient is
    # equal cubes are seen once: elsewhere in a matrix product their last digits would differ
    place, which = np.unique(np.rint(even).astype(np.int64), axis=0, return_inverse=True)
    reach = np.arange(-REACH, REACH + 1)
    rows = []
    for start in range(0, len(place), AT_ONCE):
        near = place[start : start + AT_ONCE]
        z, y, x = (
            np.clip(near[:, axis, None] + reach, 0, length - 1)
            for axis, length in enumerate(image.shape)
        )
        at = (z[:, :, None, None], y[:, None, :, None], x[:, None, None, :])
        rows.append(_seen(image[at].reshape(len(near), -1), lungs[at].reshape(len(near), -1)))
    return np.concatenate(rows)[which.reshape(-1)]


def _seen(hu: Float32Array, lungs: BoolArray) -> Float32Array:
    """Cubes of voxels, a row each -> columns as in ``_SEEN``."""
    # sums of thousands of voxels keep their digits in double precision on every processor
    derived = np.where(lungs, hu, OUTSIDE_HU).astype(np.float64) @ _gaussians()
    jets = [_jet(derivatives) for derivatives in np.split(derived, len(SCALES), axis=1)]
    shells = _shells()
    above = hu - np.float64(OUTSIDE_HU)  # small numbers keep their digits when they are squared
    mean = above @ shells
    unrest = np.sqrt(np.maximum((above * above) @ shells - mean**2, 0.0))
    lung = lungs.astype(np.float64) @ shells
    return np.concatenate(
        [*jets, mean + OUTSIDE_HU, unrest, lung, _rays(hu, lungs)], axis=1, dtype=np.float32
    )


def _jet(values: FloatArray) -> FloatArray:
    """Density, three first and six second derivatives -> values that do not change by rotation."""
    slope = np.sqrt((values[:, 1:4] ** 2).sum(axis=1))
    curved = eigenvalues(values[:, 4:].T)
    return np.stack(
        [values[:, 0], slope, *curved, dot_strength(curved), line_strength(curved)], axis=1
    )


def _rays(hu: Float32Array, lungs: BoolArray) -> Float32Array:
    """Distances at which the density falls half-way to that of the surrounding lung."""
    core = hu[:, np.flatnonzero(_distance() <= CORE)].mean(axis=1)
    around = _lower_quartile(np.where(lungs, hu, np.float32(np.nan)))
    level = (core + around) / 2.0
    along = _ray_voxels()
    is_out = hu[:, along] < level[:, None, None]
    steps = np.where(is_out.any(axis=2), is_out.argmax(axis=2), along.shape[1])
    length = steps * RAY_STEP
    is_before = np.arange(along.shape[1]) < steps[:, :, None]
    wall = (~lungs[:, along] & is_before).any(axis=2).mean(axis=1)
    width = length[:, :RAYS] + length[:, RAYS:]
    long = (width > LONG * np.median(width, axis=1, keepdims=True)).mean(axis=1)
    roundness = (width.min(axis=1) + 1.0) / (width.max(axis=1) + 1.0)
    return np.concatenate(
        [
            np.quantile(length, _QUANTILES, axis=1).T,
            np.quantile(width, _QUANTILES, axis=1).T,
            np.stack([wall, long, roundness, level, around], axis=1),
        ],
        axis=1,
    )


def _lower_quartile(values: Float32Array) -> Float32Array:
    """Of each row, without its NaN; the density of lung where nothing is left."""
    count = np.isfinite(values).sum(axis=1)
    low = np.sort(values, axis=1)[np.arange(len(values)), count // 4]
    return np.where(count > 0, low, np.float32(OUTSIDE_HU))


@cache
def _offsets() -> IntArray:
    axis = np.arange(-REACH, REACH + 1)
    return np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)


@cache
def _distance() -> FloatArray:
    distance: FloatArray = np.linalg.norm(_offsets(), axis=1)
    return distance


@cache
def _gaussians() -> FloatArray:
    """Ten columns a scale: a Gaussian, its first and second derivatives, in units of the scale."""
    z, y, x = _offsets().T.astype(np.float64)
    columns = []
    for scale in SCALES:
        weight = np.exp(-(_distance() ** 2) / (2.0 * scale**2))
        weight /= weight.sum()
        first = [axis / scale * weight for axis in (z, y, x)]
        straight = [(axis**2 / scale**2 - 1.0) * weight for axis in (z, y, x)]
        mixed = [a * b / scale**2 * weight for a, b in ((z, y), (z, x), (y, x))]
        # the derivatives of a constant image are 0
        columns += [
            weight,
            *first,
            *(derivative - derivative.sum() * weight for derivative in (*straight, *mixed)),
        ]
    return np.stack(columns, axis=1)


@cache
def _shells() -> FloatArray:
    inside = [(_distance() >= low) & (_distance() < high) for low, high in pairwise(SHELLS)]
    return np.stack([shell / shell.sum() for shell in inside], axis=1)


@cache
def _ray_voxels() -> IntArray:
    """Rays x steps: voxels of the cube along each ray; the second half of the rays is opposite."""
    step = np.arange(RAYS) + 0.5
    height, angle = 1.0 - step / RAYS, np.pi * (1.0 + np.sqrt(5.0)) * step  # a spiral
    across = np.sqrt(1.0 - height**2)
    half = np.stack([height, across * np.cos(angle), across * np.sin(angle)], axis=1)
    along = np.arange(0.0, REACH + RAY_STEP / 2, RAY_STEP)
    points = np.concatenate([half, -half])[:, None] * along[:, None]
    side = 2 * REACH + 1
    voxel: IntArray = (np.rint(points).astype(np.int64) + REACH) @ np.array([side**2, side, 1])
    return voxel
