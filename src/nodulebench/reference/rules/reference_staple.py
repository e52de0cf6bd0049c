"""STAPLE: masks of several readers -> how likely each voxel is nodule, and how good each reader is.

Warfield, Zou and Wells, IEEE Transactions on Medical Imaging 23 (2004) 903-921, for binary masks.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.errors import UndefinedError

MOST_ROUNDS = 1000
_START = 0.99999
_SETTLED = 1e-8
_FALLIBLE = 2.0**-52
"""Keeps readers fallible, so that no pattern of decisions is impossible under both truths."""


@dataclass(frozen=True, slots=True)
class Staple:
    """The estimate after the last round."""

    probability: FloatArray
    """Of each voxel to be nodule."""
    sensitivity: FloatArray
    """Of each reader, per voxel."""
    specificity: FloatArray
    rounds: int


def estimate_truth(is_drawn: BoolArray) -> Staple:
    """Estimate truth and readers together by expectation-maximisation.

    The prior probability of nodule is the mean share that the readers drew. Voxels on which the
    readers decided alike are alike, so only the patterns of decisions are worked on.

    Args:
        is_drawn: readers x voxels; within a box around the nodule, as all masks agree beyond it.

    Raises:
        UndefinedError: if there is no voxel that some reader drew and none that some did not.
    """
    codes = np.left_shift(1, np.arange(len(is_drawn))) @ is_drawn.astype(np.int64)
    known, voxel_pattern, counts = np.unique(codes, return_inverse=True, return_counts=True)
    patterns = (known >> np.arange(len(is_drawn))[:, None]) % 2 == 1
    prior = float(is_drawn.mean())
    if not 0.0 < prior < 1.0:
        raise UndefinedError("staple_one_sided")
    sensitivity = np.full(len(is_drawn), _START)
    specificity = np.full(len(is_drawn), _START)
    probability = np.zeros(patterns.shape[1])
    rounds = 0
    for rounds in range(1, MOST_ROUNDS + 1):  # noqa: B007 - told in the result
        before = probability
        in_truth = np.where(patterns, sensitivity[:, None], 1 - sensitivity[:, None]).prod(axis=0)
        in_rest = np.where(patterns, 1 - specificity[:, None], specificity[:, None]).prod(axis=0)
        probability = prior * in_truth / (prior * in_truth + (1 - prior) * in_rest)
        weight, rest = probability * counts, (1 - probability) * counts
        sensitivity = np.clip(patterns @ weight / weight.sum(), _FALLIBLE, 1 - _FALLIBLE)
        specificity = np.clip(~patterns @ rest / rest.sum(), _FALLIBLE, 1 - _FALLIBLE)
        if np.abs(probability - before).max() < _SETTLED:
            break
    return Staple(probability[voxel_pattern], sensitivity, specificity, rounds)
