"""VBNA: dots in the parenchyma, and places where the pleura's normals meet -> candidates.

After Torres et al., Medical Physics 42:1477-1489, 2015. A nodule on the pleura bulges into the
air, so that lines drawn from the air's surface into the tissue cross inside it.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray
from nodulebench.detection.regions import strongest_of_clusters
from nodulebench.detection.scale_space import (
    DIAMETER_PER_SCALE,
    REACH,
    STEP_MM,
    peaks_of_chest,
    smoothed,
)
from nodulebench.detection.scan import Candidates, Chest
from nodulebench.imaging.morphology import block_mean, eroded, grown_into, repeated

SPREAD = 1.0
"""Voxels over which counts of normals are smoothed."""


@dataclass(frozen=True)
class Settings:
    """Parameters; the paper names the methods and no values."""

    dot_hu: float = 40.0
    """Open: least output of the dot filter in the parenchyma."""
    merge_mm: float = 5.0
    """Open: dots this close, or within the radius of a stronger one, are the same."""
    air_hu: float = -500.0
    """Open: smoothed density of the surface between air and tissue."""
    blur_mm: float = 1.5
    """Open: smoothing of the scan before its surface and normals are taken."""
    depth_mm: float = 8.0
    """Open: how deep a normal reaches into the tissue; nodules up to twice this wide."""
    pleura_mm: float = 10.0
    """Open: the surface counts this near the border of the lung."""
    crossings: float = 1.5
    """Open: least normals through a voxel, smoothed; next to a flat wall about one passes."""


DEFAULT = Settings()


def detect(chest: Chest, settings: Settings = DEFAULT) -> tuple[Candidates, Candidates]:
    """Candidates of the parenchyma, scored by the dot filter, and of the pleura, by crossings."""
    on_pleura = find_on_pleura(chest, settings)
    return find_in_parenchyma(chest, settings), on_pleura


def find_in_parenchyma(chest: Chest, settings: Settings = DEFAULT) -> Candidates:
    """Local maxima of the dot filter over all scales."""
    peaks = peaks_of_chest(chest)
    dots = peaks.chosen(peaks.is_dot_peak & (peaks.dot >= settings.dot_hu))
    radius = dots.scale * DIAMETER_PER_SCALE / 2
    reach = np.maximum(settings.merge_mm / STEP_MM, radius)
    strongest = dots.chosen(strongest_of_clusters(dots.index, dots.dot, reach))
    diameter_mm = strongest.scale * DIAMETER_PER_SCALE * STEP_MM
    return Candidates(
        chest.resampled(STEP_MM).to_world(strongest.index), strongest.dot, diameter_mm
    )


def find_on_pleura(chest: Chest, settings: Settings = DEFAULT) -> Candidates:
    """Local maxima of the number of normals that pass through a voxel of the lung."""
    cubes = chest.resampled(STEP_MM)
    lungs = cubes.lungs.mask
    smooth = smoothed(cubes.hu.astype(np.float32, copy=False), settings.blur_mm / STEP_MM)
    surface = _surface(smooth, lungs, settings)
    count, depth = count_normals(surface, _slopes(smooth, surface), lungs, settings)
    place = _maxima(count, settings.crossings)
    strength = count[tuple(place.T)].astype(np.float64)
    reach = np.full(len(place), settings.merge_mm / STEP_MM)
    is_strongest = strongest_of_clusters(place.astype(np.float64), strength, reach)
    diameter_mm = 2.0 * mean_depth(depth, strength[is_strongest], place[is_strongest]) * STEP_MM
    center_mm = cubes.to_world(place[is_strongest].astype(np.float64))
    return Candidates(center_mm, strength[is_strongest], np.maximum(diameter_mm, 2.0 * STEP_MM))


def count_normals(
    surface: IntArray, normal: FloatArray, lungs: BoolArray, settings: Settings
) -> tuple[Float32Array, Float32Array]:
    """How many normals pass through each voxel, smoothed over neighbours, and their depths' sum.

    Normals start at the voxels of ``surface`` as unit vectors into the tissue; only lungs count.
    """
    limit = np.array(lungs.shape) - 1
    steps = np.arange(1, int(settings.depth_mm / STEP_MM) + 1)
    place = np.rint(surface + steps[:, None, None] * normal).astype(np.int64).reshape(-1, 3)
    flat = np.ravel_multi_index(tuple(np.clip(place, 0, limit).T), lungs.shape)
    inside = lungs.ravel()[flat]
    flat, step = flat[inside], np.repeat(steps, len(surface))[inside]
    count = np.bincount(flat, minlength=lungs.size).astype(np.float32).reshape(lungs.shape)
    depth = np.bincount(flat, step, lungs.size).astype(np.float32).reshape(lungs.shape)
    return smoothed(count, SPREAD), depth


def mean_depth(depth: Float32Array, count: FloatArray, place: IntArray) -> FloatArray:
    """How deep the normals are that pass through some voxels, from sums of depths and counts."""
    reach = np.arange(-round(REACH * SPREAD), round(REACH * SPREAD) + 1)
    weight = np.exp(-0.5 * (reach / SPREAD) ** 2)
    weight /= weight.sum()
    z, y, x = (
        np.clip(place[:, axis, None] + reach, 0, length - 1)
        for axis, length in enumerate(depth.shape)
    )
    around = depth[z[:, :, None, None], y[:, None, :, None], x[:, None, None, :]]
    deep = np.einsum("nzyx,z,y,x->n", around, weight, weight, weight)
    mean: FloatArray = deep / np.maximum(count, 1e-3)
    return mean


def _surface(smooth: Float32Array, lungs: BoolArray, settings: Settings) -> IntArray:
    factors = np.array([2, 2, 2])
    coarse = block_mean(lungs, factors) > 0
    inner = eroded(coarse, settings.pleura_mm, 2.0 * np.full(3, STEP_MM))
    rim = ~repeated(inner, factors, lungs.shape)
    air = smooth < settings.air_hu
    return np.argwhere(air & grown_into(~air, air) & rim & lungs)


def _slopes(smooth: Float32Array, place: IntArray) -> FloatArray:
    slope = np.empty(place.shape)
    for axis in range(3):
        ahead, behind = place.copy(), place.copy()
        ahead[:, axis] = np.minimum(place[:, axis] + 1, smooth.shape[axis] - 1)
        behind[:, axis] = np.maximum(place[:, axis] - 1, 0)
        slope[:, axis] = smooth[tuple(ahead.T)] - smooth[tuple(behind.T)]
    length = np.linalg.norm(slope, axis=1, keepdims=True)
    unit: FloatArray = slope / np.maximum(length, 1e-6)
    return unit


def _maxima(count: Float32Array, least: float) -> IntArray:
    from scipy import ndimage

    place = np.argwhere(count >= least)
    if not len(place):
        return place
    low, high = np.maximum(place.min(axis=0) - 1, 0), place.max(axis=0) + 2
    box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
    highest = ndimage.maximum_filter(count[box], 3)
    is_highest: BoolArray = count[tuple(place.T)] >= highest[tuple((place - low).T)]
    return place[is_highest]
