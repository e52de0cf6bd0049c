"""What ends in a classifier: how each finds candidates and how its classifier learns."""

from collections.abc import Callable
from dataclasses import dataclass

from nodulebench.core.registry import Registry
from nodulebench.detection.candidate import Candidates
from nodulebench.detection.classifiers.scoring import Measured
from nodulebench.detection.classifiers.training import Examples
from nodulebench.detection.classifiers.weights import Classifier
from nodulebench.detection.scan import Chest


@dataclass(frozen=True)
class Trained:
    """The two halves of what ends in a classifier."""

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
