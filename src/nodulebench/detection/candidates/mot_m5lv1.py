"""MOT_M5Lv1: several thresholds, each with an opening, fifteen features, a 15-31-1 network.

The candidates after Messay et al., Medical Image Analysis 14:390-406, 2010, with thresholds, radii
and merging changed, as the LUNA16 study says; their outlines after Kuhnigk 2006.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from nodulebench.core.arrays import BoolArray
from nodulebench.detection.classifiers.features import FEATURES, measure
from nodulebench.detection.classifiers.models import train_network
from nodulebench.detection.classifiers.weights import Measured, Trained, apply_classifier
from nodulebench.detection.regions import (
    ball_diameter,
    compactness,
    find_regions,
    strongest_of_clusters,
)
from nodulebench.detection.scale_space import STEP_MM, smoothed
from nodulebench.detection.scan import Candidates, Chest
from nodulebench.imaging.morphology import opening

HIDDEN_UNITS = 31
"""Paper: 15-31-1, 528 weights and biases."""


@dataclass(frozen=True)
class Settings:
    """Parameters; the paper says that it changed Messay's values, and gives none."""

    openings: tuple[tuple[float, float], ...] = (
        (-700.0, 1.5),
        (-600.0, 1.0),
        (-600.0, 2.5),
        (-450.0, 1.0),
        (-450.0, 2.5),
        (-300.0, 1.5),
        (-300.0, 4.0),
    )
    """Open: threshold (HU) and radius of the opening (mm): low thresholds for ground glass, high
    ones and wide openings for nodules on vessels and walls."""
    blur_mm: float = 0.6
    """Open: smoothing before the thresholds."""
    diameters_mm: tuple[float, float] = (2.5, 35.0)
    """Open: of the ball with the same volume."""
    compactness: float = 0.15
    """Open: least share of the ball around it that a region fills."""
    merge_mm: float = 4.0
    """Open: regions of several thresholds with centres this close, or within the radius of a more
    compact one, are the same."""
    least_score: float = 0.05
    """Open: candidates below are not reported; chosen to keep almost all nodules."""
    weights: Path | None = None
    """File of weights; none: those of the package, trained on all ten folds of the blocks."""


DEFAULT = Settings()


def detect(chest: Chest, settings: Settings = DEFAULT) -> Candidates:
    return apply_classifier(
        "mot_m5lv1", find(chest, settings), settings.weights, settings.least_score
    )


def find(chest: Chest, settings: Settings = DEFAULT) -> Measured:
    cubes = chest.resampled(STEP_MM)
    smooth = smoothed(cubes.hu.astype(np.float32, copy=False), settings.blur_mm / STEP_MM)
    lungs = cubes.lungs.mask
    parts = [
        compact_regions((smooth >= threshold) & lungs, radius_mm, settings)
        for threshold, radius_mm in settings.openings
    ]
    regions = Candidates.joined(*parts)
    reach = np.maximum(settings.merge_mm / STEP_MM, regions.diameter_mm / 2)
    strongest = regions.chosen(strongest_of_clusters(regions.center_mm, regions.score, reach))
    center_mm, diameter_mm = cubes.to_world(strongest.center_mm), strongest.diameter_mm * STEP_MM
    candidates = Candidates(center_mm, strongest.score, diameter_mm)
    return Measured(candidates, measure(chest, center_mm, diameter_mm), FEATURES)


def compact_regions(dense: BoolArray, radius_mm: float, settings: Settings = DEFAULT) -> Candidates:
    """Regions left by an opening, scored by compactness; places are voxels."""
    regions = find_regions(opening(dense, radius_mm / STEP_MM))
    voxels = np.pi / 6.0 * (np.asarray(settings.diameters_mm) / STEP_MM) ** 3
    regions = regions.chosen((regions.size >= voxels[0]) & (regions.size <= voxels[1]))
    share = compactness(regions)
    compact = regions.chosen(share >= settings.compactness)
    return Candidates(
        compact.center, share[share >= settings.compactness], ball_diameter(compact.size)
    )


TRAINED = Trained(FEATURES, find, partial(train_network, hidden=HIDDEN_UNITS), DEFAULT.least_score)
