"""What classifiers share: examples, standardised features, balanced classes, probabilities."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from nodulebench.core.arrays import BoolArray, Columns, FloatArray, IntArray
from nodulebench.core.errors import InputError

TRAINING = "training a classifier"
"""What scikit-learn is needed for."""


@dataclass(frozen=True, eq=False)
class Examples(Columns):
    """Candidates to learn from, one entry of each array per candidate."""

    features: FloatArray
    """candidates x features."""
    nodule: IntArray
    """Number of the nodule on which it lies, -1: on none."""
    case: IntArray
    """Number of the block or scan."""
    fold: IntArray
    is_whole: BoolArray
    """Whether the case is a whole scan, not a block around a nodule."""

    @property
    def is_nodule(self) -> BoolArray:
        """Which candidates lie on a nodule."""
        is_nodule: BoolArray = self.nodule >= 0
        return is_nodule

    def numbered(self, case: int, nodules: int) -> "Examples":
        """The same of one case, numbered on from the cases and nodules before it."""
        nodule = np.where(self.is_nodule, self.nodule + nodules, -1)
        return replace(self, nodule=nodule, case=np.full(len(self), case))

    def of_folds(self, folds: Iterable[int]) -> "Examples":
        """Only the candidates of some folds."""
        return self.chosen(np.isin(self.fold, list(folds)))


def standardisation(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each feature; 1 where a feature never changes."""
    spread = features.std(axis=0)
    return features.mean(axis=0), np.where(spread > 0, spread, 1.0)


def logistic(values: FloatArray) -> FloatArray:
    """Probabilities of log odds."""
    return 1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0)))


def balanced(examples: Examples, seed: int, most: int | None = None) -> IntArray:
    """Rows to train on, shuffled: nodules are repeated until they are as many as the others.

    Args:
        examples: all there are.
        seed: of the order, and of what is drawn.
        most: so many others are drawn where there are more; None: all are taken.

    Raises:
        InputError: if there are no nodules or nothing else.
    """
    is_nodule = examples.is_nodule
    nodules, others = np.flatnonzero(is_nodule), np.flatnonzero(~is_nodule)
    if not len(nodules) or not len(others):
        raise InputError.at(
            "training",
            f"{len(nodules)} candidates are nodules and {len(others)} are not.",
            "Give blocks with both.",
        )
    chance = np.random.default_rng(seed)
    if most is not None and len(others) > most:
        others = chance.choice(others, most, replace=False)
    count = max(len(nodules), len(others))
    rows = np.concatenate([np.resize(nodules, count), np.resize(others, count)])
    return chance.permutation(rows)
