"""Candidates with their features -> candidates with a classifier's score."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.arrays import FloatArray
from nodulebench.core.registry import Registry
from nodulebench.detection.classifiers.models import Examples
from nodulebench.detection.classifiers.weights import Classifier, classifier_of
from nodulebench.detection.scan import Candidates, Chest


@dataclass(frozen=True, eq=False)
class Measured:
    """Candidates as a detector found them, before a classifier."""

    candidates: Candidates
    features: FloatArray
    """A row per candidate."""
    names: tuple[str, ...]
    """Of the columns."""


def apply_classifier(
    name: str,
    measured: Measured,
    weights: Path | None,
    least_score: float,
    fold: int | None = None,
) -> Candidates:
    """The candidates whose probability is at least ``least_score``, with it as their score.

    ``fold``: of the packaged weights, those that never saw it.
    """
    candidates = measured.candidates
    if not len(candidates):
        return candidates
    score = classifier_of(name, weights, measured.names, fold).score(measured.features)
    is_likely = score >= least_score
    return Candidates(
        candidates.center_mm[is_likely], score[is_likely], candidates.diameter_mm[is_likely]
    )


@dataclass(frozen=True)
class Trained:
    """A detector with a classifier: how its candidates are found and its classifier is trained."""

    names: tuple[str, ...]
    """Of the features."""
    find: Callable[[Chest], Measured]
    """Candidates before the classifier."""
    train: Callable[[Examples, int], Classifier]
    """Examples, seed -> classifier."""
    least_score: float = 0.0
    """Candidates below are not reported."""
    propose: Callable[[Chest], Candidates] | None = None
    """The same candidates without features, where all are reported; None: found with them."""


TRAINED: Registry[Trained] = Registry(
    "trained detector",
    "trained_detectors",
    {
        "etrocad": "nodulebench.detection.candidates.etrocad:TRAINED",
        "m5l": "nodulebench.detection.candidates.m5l:TRAINED",
        "mot_m5lv1": "nodulebench.detection.candidates.mot_m5lv1:TRAINED",
        "second_look": "nodulebench.detection.classifiers.false_positive_reduction:TRAINED",
    },
)
