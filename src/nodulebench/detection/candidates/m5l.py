"""M5L: candidates of LungCAM's ants and VBNA's filters, merged and scored by a 13-25-1 network.

Torres et al., Medical Physics 42:1477-1489, 2015. The paper gives VBNA's candidates a network of
their own, on raw voxels; here one network with LungCAM's shape scores both, so that their scores
compare.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from nodulebench.detection.candidates import lungcam, vbna
from nodulebench.detection.classifiers.features import FEATURES, measure
from nodulebench.detection.classifiers.models import train_network
from nodulebench.detection.classifiers.weights import Measured, Trained, apply_classifier
from nodulebench.detection.regions import strongest_of_clusters
from nodulebench.detection.scan import Candidates, Chest

HIDDEN_UNITS = 25
"""Paper: 13-25-1, 376 weights and biases."""
NAMES = tuple(name for name in FEATURES if name not in ("flatness", "box_filling"))
"""Thirteen features: spatial, of intensity and of shape, as in the paper; which ones is open."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the merging and of the reported candidates."""

    ants: lungcam.Settings = lungcam.DEFAULT
    filters: vbna.Settings = vbna.DEFAULT
    merge_mm: float = 5.0
    """Open: candidates of the parts this close are one; LUNA16's own distance for combinations."""
    least_score: float = 0.3
    """Open: candidates below are not reported; chosen so that few are (M5L: 22 a scan)."""
    weights: Path | None = None
    """File of weights; none: those of the package, trained on all ten folds of the blocks."""


DEFAULT = Settings()


def detect(chest: Chest, settings: Settings = DEFAULT) -> Candidates:
    return apply_classifier("m5l", find(chest, settings), settings.weights, settings.least_score)


def find(chest: Chest, settings: Settings = DEFAULT) -> Measured:
    """The candidates of all parts, each place once, with their features."""
    ants = lungcam.detect(chest, settings.ants)  # first: another may be taking the dots by then
    parts = [*vbna.detect(chest, settings.filters), ants]
    together = Candidates.joined(*parts)
    # dots lie best in the middle of a nodule, then the pleura's, then the ants'
    rank = np.concatenate([np.full(len(part), -place) for place, part in enumerate(parts)])
    reach = np.full(len(together), settings.merge_mm)
    is_strongest = strongest_of_clusters(together.center_mm, rank.astype(np.float64), reach)
    candidates = together.chosen(is_strongest)
    columns = [FEATURES.index(name) for name in NAMES]
    features = measure(chest, candidates.center_mm, candidates.diameter_mm)[:, columns]
    return Measured(candidates, features, NAMES)


TRAINED = Trained(NAMES, find, partial(train_network, hidden=HIDDEN_UNITS), DEFAULT.least_score)
