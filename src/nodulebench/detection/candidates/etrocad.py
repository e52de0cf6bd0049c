"""ETROCAD: dots by multiscale enhancement whose gradients meet in a centre -> candidates.

After Tan et al., Medical Physics 38:5630-5645, 2011, as the LUNA16 study describes it.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nodulebench.core.arrays import BoolArray, IntArray
from nodulebench.detection.classifiers.features import FEATURES, measure
from nodulebench.detection.classifiers.models import train_support_vectors
from nodulebench.detection.classifiers.weights import Measured, Trained, apply_classifier
from nodulebench.detection.regions import NEIGHBOURS, strongest_of_clusters
from nodulebench.detection.scale_space import DIAMETER_PER_SCALE, STEP_MM, Peaks, peaks_of_chest
from nodulebench.detection.scan import Candidates, Chest

NAMES = ("scale_mm", "dot_hu", "line_hu", "center", *FEATURES)
"""Features of the support-vector machine: invariants of the local image (the filters' outputs are
such, of its second derivatives and of the gradient's direction), form, density, surroundings."""

ISOLATED, JUXTAVASCULAR, JUXTAPLEURAL = 0, 1, 2


@dataclass(frozen=True)
class Settings:
    """Parameters; the paper gives their purposes and no values.

    Voxels of 1 mm (given) and the filters' scales (open) are those of ``scale_space``.
    """

    dot_hu: tuple[float, float, float] = (20.0, 25.0, 15.0)
    """Open: least output of the dot filter (isolated, juxtavascular, juxtapleural); an ideal ball
    of 65, 81 and 48 HU contrast."""
    center: tuple[float, float, float] = (2.2, 2.3, 2.1)
    """Open: least convergence of the normalised gradient; chosen above the 2 of a vessel's axis."""
    vessel_share: float = 0.5
    """Open: juxtavascular where the line filter's output is this share of the dot filter's."""
    pleura_mm: float = 2.0
    """Open: juxtapleural where a ball of that scale comes this near the lung's border."""
    merge_radii: float = 0.8
    """Open: peaks within this many radii of a stronger one are the same structure."""
    merge_mm: float = 3.0
    """Open: peaks this close are the same structure at any scale."""
    least_score: float = 0.0
    """Open: all candidates are reported, as in the study's table of candidate detectors."""
    weights: Path | None = None
    """File of weights; none: those of the package, trained on all ten folds of the blocks."""


DEFAULT = Settings()


def detect(chest: Chest, settings: Settings = DEFAULT) -> Candidates:
    """All candidates, with the support-vector machine's probability as score."""
    return apply_classifier(
        "etrocad", find(chest, settings), settings.weights, settings.least_score
    )


def find(chest: Chest, settings: Settings = DEFAULT) -> Measured:
    """The marks of all clusters, with the filters' outputs and their features."""
    peaks = _peaks(chest, settings)
    candidates = _marks(peaks, chest)
    outputs = np.stack([peaks.scale, peaks.dot, peaks.line, peaks.center], axis=1)
    measures = measure(chest, candidates.center_mm, candidates.diameter_mm)
    return Measured(candidates, np.concatenate([outputs, measures], axis=1), NAMES)


def propose(chest: Chest) -> Candidates:
    """The marks of all clusters, with the dot filter's output as score."""
    return _marks(_peaks(chest, DEFAULT), chest)


def _peaks(chest: Chest, settings: Settings) -> Peaks:
    return chosen_peaks(peaks_of_chest(chest), chest.resampled(STEP_MM).lungs.mask, settings)


def _marks(peaks: Peaks, chest: Chest) -> Candidates:
    center_mm = chest.resampled(STEP_MM).to_world(peaks.index)
    return Candidates(center_mm, peaks.dot, DIAMETER_PER_SCALE * STEP_MM * peaks.scale)


def chosen_peaks(peaks: Peaks, lungs: BoolArray, settings: Settings) -> Peaks:
    """Centres that pass the thresholds of their kind, one for each cluster."""
    centers = peaks.chosen(peaks.is_center_peak)
    kind = kinds(centers, lungs, settings)
    passes = centers.dot >= np.asarray(settings.dot_hu)[kind]
    passes &= centers.center >= np.asarray(settings.center)[kind]
    passed = centers.chosen(passes)
    reach = np.maximum(
        settings.merge_mm / STEP_MM, settings.merge_radii * passed.scale * DIAMETER_PER_SCALE / 2
    )
    return passed.chosen(strongest_of_clusters(passed.index, passed.dot, reach))


def kinds(peaks: Peaks, lungs: BoolArray, settings: Settings) -> IntArray:
    """Which of the three filter sets applies to each peak; the pleura goes before vessels."""
    kind = np.where(peaks.line >= settings.vessel_share * peaks.dot, JUXTAVASCULAR, ISOLATED)
    radius = peaks.scale * DIAMETER_PER_SCALE / 2 + settings.pleura_mm / STEP_MM
    directions = NEIGHBOURS / np.linalg.norm(NEIGHBOURS, axis=1, keepdims=True)
    points = np.rint(peaks.index[:, None] + radius[:, None, None] * directions).astype(np.int64)
    points = np.clip(points, 0, np.array(lungs.shape) - 1)
    is_inside = lungs[points[..., 0], points[..., 1], points[..., 2]].all(axis=1)
    kind[~is_inside] = JUXTAPLEURAL
    return kind


TRAINED = Trained(NAMES, find, train_support_vectors, DEFAULT.least_score, propose)
