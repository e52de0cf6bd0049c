"""What classifiers share: standardised features, balanced classes, probabilities."""

import numpy as np

from nodulebench.errors import InputError
from nodulebench.model.arrays import BoolArray, FloatArray, IntArray

TRAINING = "training a classifier"
"""What scikit-learn is needed for."""


def standardisation(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each feature; 1 where a feature never changes."""
    spread = features.std(axis=0)
    return features.mean(axis=0), np.where(spread > 0, spread, 1.0)


def logistic(values: FloatArray) -> FloatArray:
    """Probabilities of log odds."""
    return 1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0)))


def balanced(is_nodule: BoolArray, seed: int) -> IntArray:
    """Rows to train on, shuffled: nodules are repeated until they are as many as the others.

    Raises:
        InputError: if there are no nodules or nothing else.
    """
    nodules, others = np.flatnonzero(is_nodule), np.flatnonzero(~is_nodule)
    if not len(nodules) or not len(others):
        raise InputError.at(
            "training",
            f"{len(nodules)} candidates are nodules and {len(others)} are not.",
            "Give blocks with both.",
        )
    count = max(len(nodules), len(others))
    rows = np.concatenate([np.resize(nodules, count), np.resize(others, count)])
    return np.random.default_rng(seed).permutation(rows)
