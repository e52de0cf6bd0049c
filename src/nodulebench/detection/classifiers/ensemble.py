"""Features -> calibrated probability by several small networks, each trained without other cases.

What a network says of the cases that it never saw tells how its answers become probabilities.
"""

from dataclasses import dataclass, replace

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.optional_packages import needs
from nodulebench.detection.classifiers.models import Descent, fitted
from nodulebench.detection.classifiers.training import (
    TRAINING,
    Examples,
    balanced,
    logistic,
    standardisation,
)

MEMBERS = 5
"""Open: networks, each of which leaves out a fifth of the cases."""
HIDDEN = 16
"""Open: units of each."""
DESCENT = Descent(epochs=30, at_once=1000, rate=0.006)
"""Open: larger steps than of a single network, for there are more examples."""
MOST_OTHERS = 16_000
"""Open: candidates off nodules that a network learns from, drawn anew for each; with more, training
takes longer and is no better."""
FARTHEST = 5.0
"""Features count as at most so many spreads from their mean: what no case had says nothing."""
NODULES_PER_SCAN = 1186 / 888
"""LUNA16's: how frequent nodules are where probabilities are to hold."""


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Networks on standardised features, whose mean log odds are calibrated."""

    mean: FloatArray
    spread: FloatArray
    hidden_weight: FloatArray
    """members x features x hidden units."""
    hidden_bias: FloatArray
    """members x hidden units."""
    output_weight: FloatArray
    """members x hidden units x 1."""
    output_bias: FloatArray
    """members x 1."""
    slope: FloatArray
    """Two numbers: the probability is the logistic function of slope x log odds + intercept."""

    def score(self, features: FloatArray) -> FloatArray:
        """Probability of a nodule for each row, where nodules are as frequent as on scans."""
        return logistic(self.slope[0] * self.log_odds(features).mean(axis=0) + self.slope[1])

    def log_odds(self, features: FloatArray) -> FloatArray:
        """Members x rows: what each network says, before it is calibrated."""
        standard = standardised(features, self.mean, self.spread)
        hidden = np.tanh(standard @ self.hidden_weight + self.hidden_bias[:, None])
        odds: FloatArray = (hidden @ self.output_weight)[..., 0] + self.output_bias
        return odds


def standardised(features: FloatArray, mean: FloatArray, spread: FloatArray) -> FloatArray:
    """Spreads from the mean, within limits."""
    return np.clip((features - mean) / spread, -FARTHEST, FARTHEST)


def train_ensemble(examples: Examples, seed: int) -> Ensemble:
    """Train the networks and calibrate them.

    Raises:
        InputError: if scikit-learn is not installed, or one of the classes is empty.
    """
    mean, spread = standardisation(examples.features)
    standard = standardised(examples.features, mean, spread)
    unseen_by = _unseen_by(examples.case, seed)
    members = []
    for member in range(MEMBERS):
        seen = np.flatnonzero(unseen_by != member)
        rows = seen[balanced(examples.chosen(seen), seed + member, MOST_OTHERS)]
        members.append(
            fitted(standard[rows], examples.is_nodule[rows], seed + member, HIDDEN, DESCENT)
        )
    hidden, bias, output, last = (np.stack(arrays) for arrays in zip(*members, strict=True))
    raw = Ensemble(mean, spread, hidden, bias, output, last, slope=np.array([1.0, 0.0]))
    odds = raw.log_odds(examples.features)[unseen_by, np.arange(len(examples))]
    return replace(raw, slope=calibration(odds, examples))


def calibration(odds: FloatArray, examples: Examples) -> FloatArray:
    """Slope and intercept that turn log odds of unseen candidates into those of whole scans.

    Where there are whole scans, false candidates are theirs alone, and every nodule counts so that
    there are as many on a scan as in LUNA16; else the examples count as they are.
    """
    with needs("algorithms", TRAINING):
        from sklearn import linear_model
    weight = np.ones(len(examples))
    is_nodule, is_whole = examples.is_nodule, examples.is_whole
    if (is_whole & ~is_nodule).any():
        scans = len(np.unique(examples.case[is_whole]))
        nodules = len(np.unique(examples.nodule[is_nodule]))
        weight = np.where(is_nodule, scans * NODULES_PER_SCAN / nodules, is_whole)
    regression = linear_model.LogisticRegression(C=1e6)
    regression.fit(odds[:, None], is_nodule, sample_weight=weight)
    return np.array([regression.coef_[0, 0], regression.intercept_[0]])


def _unseen_by(case: IntArray, seed: int) -> IntArray:
    """For each candidate the network that never sees its case."""
    name, number = np.unique(case, return_inverse=True)
    member = np.random.default_rng(seed).permutation(len(name)) % MEMBERS
    chosen: IntArray = member[number]
    return chosen
