"""Features -> probability by a network with one hidden layer (15-31-1 in MOT_M5Lv1)."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from nodulebench.core.arrays import BoolArray, Columns, FloatArray, IntArray
from nodulebench.core.errors import InputError
from nodulebench.core.optional_packages import needs

TRAINING = "training a classifier"
"""The purpose of scikit-learn, for messages."""


@dataclass(frozen=True, eq=False)
class Examples(Columns):
    """Candidates to learn from, one entry of each array per candidate."""

    features: FloatArray
    """candidates x features."""
    nodule: IntArray
    """Number of the nodule that it hits, -1: none."""
    case: IntArray
    """Number of the block or scan."""
    fold: IntArray
    is_whole: BoolArray
    """Whether the case is a whole scan, not a block around a nodule."""

    @property
    def is_nodule(self) -> BoolArray:
        is_nodule: BoolArray = self.nodule >= 0
        return is_nodule

    def numbered(self, case: int, nodules: int) -> "Examples":
        """The same of one case, numbered on from the cases and nodules before it."""
        nodule = np.where(self.is_nodule, self.nodule + nodules, -1)
        return replace(self, nodule=nodule, case=np.full(len(self), case))

    def of_folds(self, folds: Iterable[int]) -> "Examples":
        return self.chosen(np.isin(self.fold, list(folds)))


def standardisation(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each feature; 1 where a feature never changes."""
    spread = features.std(axis=0)
    return features.mean(axis=0), np.where(spread > 0, spread, 1.0)


def logistic(values: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0)))


def balanced(examples: Examples, seed: int, most: int | None = None) -> IntArray:
    """Rows to train on, shuffled: nodules are repeated until they are as many as the others.

    ``most``: so many others are drawn where there are more; None: all are taken.
    """
    is_nodule = examples.is_nodule
    nodules, others = np.flatnonzero(is_nodule), np.flatnonzero(~is_nodule)
    if not len(nodules) or not len(others):
        what = f"{len(nodules)} candidates are nodules and {len(others)} are not."
        raise InputError.at("training", what, "Give blocks with both.")
    chance = np.random.default_rng(seed)
    if most is not None and len(others) > most:
        others = chance.choice(others, most, replace=False)
    count = max(len(nodules), len(others))
    rows = np.concatenate([np.resize(nodules, count), np.resize(others, count)])
    return chance.permutation(rows)


WEIGHT_PENALTY = 0.5
"""Open: of the squared weights; chosen large, for some hundred nodules train 528 weights."""

MOST_OTHERS = 8000
"""Open: candidates off nodules to train on, drawn from all."""


@dataclass(frozen=True, eq=False)
class Network:
    """Weights of a feed-forward network on standardised features."""

    mean: FloatArray
    spread: FloatArray
    hidden_weight: FloatArray
    """features x hidden units."""
    hidden_bias: FloatArray
    output_weight: FloatArray
    output_bias: FloatArray

    @property
    def parameters(self) -> int:
        """Weights and biases, without the standardisation of the features."""
        layers = (self.hidden_weight, self.hidden_bias, self.output_weight, self.output_bias)
        return sum(layer.size for layer in layers)

    def score(self, features: FloatArray) -> FloatArray:
        standard = (features - self.mean) / self.spread
        hidden = np.tanh(standard @ self.hidden_weight + self.hidden_bias)
        output = (hidden @ self.output_weight + self.output_bias)[:, 0]
        return logistic(output)


def train_network(examples: Examples, seed: int, *, hidden: int) -> Network:
    """Train a network by gradient descent (Adam); both classes weigh the same."""
    mean, spread = standardisation(examples.features)
    standard = (examples.features - mean) / spread
    rows = balanced(examples, seed, MOST_OTHERS)
    return Network(mean, spread, *fitted(standard[rows], examples.is_nodule[rows], seed, hidden))


@dataclass(frozen=True)
class Descent:
    """The steps of gradient descent."""

    epochs: int = 40
    """Open: passes through the training candidates."""
    at_once: int = 200
    """Open: candidates of a step."""
    rate: float = 0.003
    """Open."""


DEFAULT = Descent()


def fitted(
    standard: FloatArray, is_nodule: BoolArray, seed: int, hidden: int, descent: Descent = DEFAULT
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Weights and bias of the hidden units, then of the output, for standardised features."""
    with needs("algorithms", TRAINING):
        from sklearn import neural_network
    network = neural_network.MLPClassifier(
        hidden_layer_sizes=(hidden,),
        activation="tanh",
        alpha=WEIGHT_PENALTY,
        batch_size=min(descent.at_once, len(standard)),
        learning_rate_init=descent.rate,
        max_iter=descent.epochs,
        n_iter_no_change=descent.epochs,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # the number of passes is chosen; it is not an error that the loss could still fall
        warnings.simplefilter("ignore")
        network.fit(standard, is_nodule)
    (hidden_weight, output_weight), (hidden_bias, output_bias) = network.coefs_, network.intercepts_
    return hidden_weight, hidden_bias, output_weight, output_bias


MEMBERS = 5
"""Open: networks, each of which leaves out a fifth of the cases."""
HIDDEN = 16
"""Open: units of each."""
DESCENT = Descent(epochs=30, at_once=1000, rate=0.006)
"""Open: larger steps than of a single network, for there are more examples."""
MOST_OTHERS_OF_ENSEMBLE = 16_000
"""Open: candidates off nodules that a network trains on, drawn again for each; more take longer
and give no better result."""
FARTHEST = 5.0
"""Limit of features, in spreads from their mean: values beyond all cases carry no meaning."""
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
        """Members x rows: the output of each network before calibration."""
        standard = standardise(features, self.mean, self.spread)
        hidden = np.tanh(standard @ self.hidden_weight + self.hidden_bias[:, None])
        odds: FloatArray = (hidden @ self.output_weight)[..., 0] + self.output_bias
        return odds


def standardise(features: FloatArray, mean: FloatArray, spread: FloatArray) -> FloatArray:
    return np.clip((features - mean) / spread, -FARTHEST, FARTHEST)


def train_ensemble(examples: Examples, seed: int) -> Ensemble:
    mean, spread = standardisation(examples.features)
    standard = standardise(examples.features, mean, spread)
    name, number = np.unique(examples.case, return_inverse=True)
    unseen_by = (np.random.default_rng(seed).permutation(len(name)) % MEMBERS)[number]
    members = []
    for member in range(MEMBERS):
        seen = np.flatnonzero(unseen_by != member)
        rows = seen[balanced(examples.chosen(seen), seed + member, MOST_OTHERS_OF_ENSEMBLE)]
        members.append(
            fitted(standard[rows], examples.is_nodule[rows], seed + member, HIDDEN, DESCENT)
        )
    hidden, bias, output, last = (np.stack(arrays) for arrays in zip(*members, strict=True))
    raw = Ensemble(mean, spread, hidden, bias, output, last, slope=np.array([1.0, 0.0]))
    odds = raw.log_odds(examples.features)[unseen_by, np.arange(len(examples))]
    return replace(raw, slope=calibration(odds, examples))


def calibration(odds: FloatArray, examples: Examples) -> FloatArray:
    """Slope and intercept that turn log odds of unseen candidates into those of whole scans.

    If there are whole scans, only theirs count as false candidates, and nodules are weighted so
    that there are as many on a scan as in LUNA16; otherwise the examples count as they are.
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


PENALTY = 1.0
"""Open: C, what a candidate on the wrong side costs."""
WIDTH_PER_FEATURE = 0.5
"""Open: gamma x number of standardised features; half of scikit-learn's default, smoother."""
OTHERS_PER_NODULE = 2
"""Open: other candidates for training; more make the file large and change little."""
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
    """Train a machine; both classes weigh the same. Probabilities come from held-out decisions."""
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
