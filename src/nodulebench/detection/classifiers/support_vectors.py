"""Features -> probability by a support-vector machine with a radial basis function (ETROCAD)."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.optional_packages import needs
from nodulebench.detection.classifiers.training import (
    TRAINING,
    Examples,
    balanced,
    logistic,
    standardisation,
)

PENALTY = 1.0
"""Open: C, what a candidate on the wrong side costs."""
WIDTH_PER_FEATURE = 0.5
"""Open: gamma x number of standardised features; half of scikit-learn's default, smoother."""
OTHERS_PER_NODULE = 2
"""Open: other candidates kept for training; more make the file large and change little."""
CALIBRATION_PARTS = 5


@dataclass(frozen=True, eq=False)
class SupportVectors:
    """A trained machine on standardised features."""

    mean: FloatArray
    spread: FloatArray
    vectors: FloatArray
    """support vectors x features, standardised."""
    weight: FloatArray
    bias: FloatArray
    """One number."""
    gamma: FloatArray
    """One number: exp(-gamma x squared distance)."""
    slope: FloatArray
    """Two numbers: the probability is the logistic function of slope x decision + intercept."""

    def score(self, features: FloatArray) -> FloatArray:
        """Probability of a nodule for each row, among as many nodules as others."""
        logit = self.slope[0] * self.decision(features) + self.slope[1]
        return logistic(logit)

    def decision(self, features: FloatArray) -> FloatArray:
        """Distance from the border between both classes, in the machine's own unit."""
        standard = (features - self.mean) / self.spread
        squared = (
            (standard**2).sum(axis=1)[:, None]
            + (self.vectors**2).sum(axis=1)
            - 2.0 * standard @ self.vectors.T
        )
        value: FloatArray = np.exp(-self.gamma[0] * squared) @ self.weight + self.bias[0]
        return value


def train_support_vectors(examples: Examples, seed: int) -> SupportVectors:
    """Train a machine; both classes weigh the same. Probabilities come from held-out decisions.

    Raises:
        InputError: if scikit-learn is not installed, or one of the classes is empty.
    """
    balanced(examples, seed)
    features, is_nodule = examples.features, examples.is_nodule
    random = np.random.default_rng(seed)
    others = random.permutation(np.flatnonzero(~is_nodule))
    rows = np.concatenate([np.flatnonzero(is_nodule), others])
    rows = np.sort(rows[: (1 + OTHERS_PER_NODULE) * int(is_nodule.sum())])
    mean, spread = standardisation(features[rows])
    standard, wanted = (features[rows] - mean) / spread, is_nodule[rows]
    gamma = WIDTH_PER_FEATURE / features.shape[1]
    with needs("algorithms", TRAINING):
        from sklearn import linear_model, model_selection, svm
    machine = svm.SVC(C=PENALTY, gamma=gamma, class_weight="balanced")
    parts = model_selection.StratifiedKFold(CALIBRATION_PARTS, shuffle=True, random_state=seed)
    held_out = model_selection.cross_val_predict(
        machine, standard, wanted, cv=parts, method="decision_function"
    )
    logistic = linear_model.LogisticRegression(class_weight="balanced")
    logistic.fit(held_out[:, None], wanted)
    machine.fit(standard, wanted)
    return SupportVectors(
        mean,
        spread,
        machine.support_vectors_,
        machine.dual_coef_[0],
        machine.intercept_,
        np.array([gamma]),
        np.array([logistic.coef_[0, 0], logistic.intercept_[0]]),
    )
