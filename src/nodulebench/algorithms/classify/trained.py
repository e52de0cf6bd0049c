"""Detectors that end in a classifier: how each finds candidates and how its classifier learns."""

from collections.abc import Callable
from dataclasses import dataclass

from nodulebench.algorithms.chest import Chest
from nodulebench.algorithms.classify.measured import Measured
from nodulebench.algorithms.classify.weight_files import Classifier
from nodulebench.model.arrays import BoolArray, FloatArray
from nodulebench.registry import Registry


@dataclass(frozen=True)
class Trained:
    """The two halves of a detector with a classifier."""

    names: tuple[str, ...]
    """Of the features."""
    find: Callable[[Chest], Measured]
    """Candidates before the classifier."""
    train: Callable[[FloatArray, BoolArray, int], Classifier]
    """Features, which of them are nodules, seed -> classifier."""


TRAINED: Registry[Trained] = Registry(
    "trained detector",
    "trained_detectors",
    {
        name: f"nodulebench.algorithms.candidates.{name}:TRAINED"
        for name in ("etrocad", "m5l", "mot_m5lv1")
    },
)
