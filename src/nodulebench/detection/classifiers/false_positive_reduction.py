"""Candidates of any detector -> how likely each is a nodule, by one classifier for all of them.

Each detector of LUNA16 has its own score, and these scores do not compare. This stage is our own:
it describes each position, whichever detector proposed it, and estimates the probability that
it is a nodule, so that the candidates of several detectors can be ranked together.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.detection.candidates import DETECTORS
from nodulebench.detection.candidates import NAMES as OURS
from nodulebench.detection.classifiers.description import NAMES, describe_positions
from nodulebench.detection.classifiers.models import train_ensemble
from nodulebench.detection.classifiers.weights import TRAINED as WITH_CLASSIFIER
from nodulebench.detection.classifiers.weights import (
    Measured,
    Trained,
    apply_classifier,
    classifier_of,
)
from nodulebench.detection.scan import Candidates, Chest

NAME = "second_look"
"""Of its packaged weights, and in `train`."""
LEAST_PROBABILITY = 0.00001
"""Open: candidates that are less likely are dropped; no nodule of the blocks is."""


def is_used(name: str) -> bool:
    """Whether a detector's classifier decides what it proposes; the reduction always does."""
    return name == NAME or WITH_CLASSIFIER[name].least_score > 0


def proposals(
    name: str, chest: Chest, fold: int | None = None, weights: Path | None = None
) -> Candidates:
    """The proposals of a detector; if its classifier drops some, it is one that never saw the fold.

    ``fold``: that a packaged classifier never saw; None: those of all folds.
    """
    if name not in WITH_CLASSIFIER:
        return DETECTORS[name](chest)
    own = WITH_CLASSIFIER[name]
    if own.propose is not None:
        return own.propose(chest)
    measured = own.find(chest)
    if not is_used(name):
        return measured.candidates
    return apply_classifier(name, measured, weights, own.least_score, fold)


def candidates_to_score(
    proposed: Mapping[str, Candidates],
    chest: Chest,
    fold: int | None = None,
    weights: Path | None = None,
) -> dict[str, Candidates]:
    """The candidates of each detector with their probability as score, the most likely first.

    ``fold``: the weights are those that never saw it; None: those of all folds.
    """
    measured = describe_candidates(Candidates.joined(*proposed.values()), chest)
    ends = np.cumsum([len(candidates) for candidates in proposed.values()])
    parts = np.split(measured.features, ends[:-1])
    return {
        name: with_scores(candidates, features, fold, weights)
        for (name, candidates), features in zip(proposed.items(), parts, strict=True)
    }


def describe_candidates(candidates: Candidates, chest: Chest) -> Measured:
    return Measured(
        candidates, describe_positions(chest, candidates.center_mm).astype(np.float64), NAMES
    )


def with_scores(
    candidates: Candidates,
    features: FloatArray,
    fold: int | None = None,
    weights: Path | None = None,
) -> Candidates:
    """Candidates with their probability as score, the most likely first, the unlikely left out."""
    probability = classifier_of(NAME, weights, NAMES, fold).score(features)
    likely = Candidates(candidates.center_mm, probability, candidates.diameter_mm)
    return likely.chosen(probability >= LEAST_PROBABILITY).best(len(candidates))


def find(chest: Chest) -> Measured:
    """The candidates of all our detectors, with those that their classifiers would drop."""
    parts = [
        WITH_CLASSIFIER[name].find(chest).candidates
        if name in WITH_CLASSIFIER
        else DETECTORS[name](chest)
        for name in OURS
    ]
    return describe_candidates(Candidates.joined(*parts), chest)


TRAINED = Trained(NAMES, find, train_ensemble)
