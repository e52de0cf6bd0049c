"""What ends in a classifier: how each finds candidates and how its classifier learns."""

from collections.abc import Callable
from dataclasses import dataclass

from nodulebench.algorithms.candidate import Candidates
from nodulebench.algorithms.chest import Chest
from nodulebench.algorithms.classify.measured import Measured
from nodulebench.algorithms.classify.training import Examples
from nodulebench.algorithms.classify.weight_files import Classifier
from nodulebench.registry import Registry


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
        **{
            name: f"nodulebench.algorithms.candidates.{name}:TRAINED"
            for name in ("etrocad", "m5l", "mot_m5lv1")
        },
        "second_look": "nodulebench.algorithms.classify.second_look:TRAINED",
    },
)
