"""An outlined region -> its measures: form, density and surroundings, in a fixed order."""

from dataclasses import dataclass, replace

import numpy as np

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray
from nodulebench.detection.regions import Regions, ball_diameter, half_axes
from nodulebench.detection.scale_space import STEP_MM
from nodulebench.detection.scan import Chest
from nodulebench.imaging.morphology import boxed

REACH_MM = (7.0, 20.0)
"""Half the side of the cube that is looked at: the candidate's diameter and a half, within these
limits."""
LUNG_HU = -850.0
"""Lung around a nodule; the mean of a few scans, so that a vessel next to it changes nothing."""
LOWEST_THRESHOLD_HU = -780.0
"""Open: below this, noise of the lung would be taken for the region."""
HIGHEST_HU = 200.0
"""Calcium counts as soft tissue where the threshold is chosen."""


@dataclass(frozen=True, eq=False)
class Outlined:
    """A cube of voxels of 1 mm around a position, and the region there."""

    hu: Float32Array
    lungs: BoolArray
    inside: BoolArray
    """The region; never empty: at least the position itself."""
    threshold_hu: float


def outline(hu: Float32Array, lungs: BoolArray, index: FloatArray, diameter: float) -> Outlined:
    """Cut out the region at a voxel; ``diameter`` is the detector's estimate in voxels."""
    shape = np.array(hu.shape)
    place = np.clip(np.rint(index).astype(np.int64), 0, shape - 1)
    reach = int(np.clip(np.ceil(1.5 * diameter), *REACH_MM))
    low, high = np.maximum(place - reach, 0), np.minimum(place + reach + 1, shape)
    box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
    part = hu[box].astype(np.float32, copy=False)
    within = lungs[box]
    # the brightest of the 27 voxels
    first = np.maximum(place - low - 1, 0)
    near = part[tuple(slice(a, b) for a, b in zip(first, place - low + 2, strict=True))]
    z, y, x = (np.unravel_index(int(near.argmax()), near.shape) + first).tolist()
    seed = (z, y, x)
    threshold = max((min(float(part[seed]), HIGHEST_HU) + LUNG_HU) / 2.0, LOWEST_THRESHOLD_HU)
    return Outlined(part, within, _opened_region((part >= threshold) & within, seed), threshold)


def _opened_region(dense: BoolArray, seed: tuple[int, int, int]) -> BoolArray:
    """The opened region around the seed; unopened where opening leaves nothing there."""
    from scipy import ndimage

    whole = dense.copy()
    whole[seed] = True
    core = ndimage.binary_erosion(whole)
    label, _ = ndimage.label(core)
    if label[seed]:
        return ndimage.binary_dilation(label == label[seed]) & whole
    label, _ = ndimage.label(whole)
    connected: BoolArray = label == label[seed]
    return connected


FORM = ("radius_mm", "sphericity", "distance_skewness", "elongation", "flatness", "box_filling")
DENSITY = ("mean_hu", "sd_hu", "max_hu", "entropy_bits")
SURROUNDINGS = ("contrast_hu", "edge_hu_per_mm", "dense_shell", "outside_shell", "shell_sd_hu")

FEATURES = (*FORM, *DENSITY, *SURROUNDINGS)
"""MOT_M5Lv1's fifteen. The paper names radius, sphericity, skewness of the distance from the
centre, mean, SD, maximum and entropy of the density; the other eight are chosen."""

ENTROPY_BIN_HU = 50.0
SHELL = 2
"""Thickness of the surroundings in voxels."""


def measure(chest: Chest, center_mm: FloatArray, diameter_mm: FloatArray) -> FloatArray:
    """The features of candidates: a row each, columns as in ``FEATURES``."""
    cubes = chest.resampled(STEP_MM)
    hu, lungs = np.asarray(cubes.hu, dtype=np.float32), cubes.lungs.mask
    rows = [
        region_features(outline(hu, lungs, index, diameter / STEP_MM))
        for index, diameter in zip(cubes.to_index(center_mm), diameter_mm, strict=True)
    ]
    return np.array(rows).reshape(len(rows), len(FEATURES))


def region_features(outlined: Outlined) -> FloatArray:
    inside, box = boxed(outlined.inside, np.full(3, SHELL))
    near = replace(outlined, hu=outlined.hu[box], lungs=outlined.lungs[box], inside=inside)
    hu = near.hu[inside].astype(np.float64)
    density = (float(hu.mean()), float(hu.std()), float(hu.max()), entropy_bits(hu))
    return np.array([*_form(inside), *density, *_surroundings(near)])


def _form(inside: BoolArray) -> tuple[float, ...]:
    place = np.argwhere(inside)
    region = Regions(place, np.zeros(len(place), dtype=np.int64), 1)
    radius = float(ball_diameter(region.size)[0]) / 2.0
    distance = np.linalg.norm(place - region.center[0], axis=1)
    longest, middle, shortest = half_axes(region)[0]
    box = np.prod(place.max(axis=0) - place.min(axis=0) + 1)
    return (
        radius * STEP_MM,
        float(np.mean(distance <= radius)),
        skewness(distance),
        float(shortest / longest),
        float(middle / longest),
        float(len(place) / box),
    )


def _surroundings(outlined: Outlined) -> tuple[float, ...]:
    from scipy import ndimage

    wide = ndimage.binary_dilation(outlined.inside, iterations=SHELL)
    shell = wide & ~outlined.inside
    lung = shell & outlined.lungs
    if not lung.any():
        return 0.0, 0.0, 1.0, 1.0, 0.0
    around = outlined.hu[lung].astype(np.float64)
    edge = ndimage.binary_dilation(outlined.inside) & shell & outlined.lungs
    rim = outlined.inside & ~ndimage.binary_erosion(outlined.inside)
    step = float(outlined.hu[rim].mean() - outlined.hu[edge].mean()) if edge.any() else 0.0
    return (
        float(outlined.hu[outlined.inside].mean() - around.mean()),
        step / STEP_MM,
        float(np.mean(around >= outlined.threshold_hu)),
        float(1.0 - lung.sum() / shell.sum()),
        float(around.std()),
    )


def skewness(values: FloatArray) -> float:
    """Third standardised moment; 0 where all values are equal."""
    away = values - values.mean()
    spread = float(np.sqrt(np.mean(away**2)))
    return float(np.mean(away**3)) / spread**3 if spread > 1e-9 else 0.0


def entropy_bits(hu: FloatArray) -> float:
    _, count = np.unique(np.floor(hu / ENTROPY_BIN_HU), return_counts=True)
    share = count / count.sum()
    return float(-(share * np.log2(share)).sum()) + 0.0
