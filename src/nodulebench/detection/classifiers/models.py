"""Features -> probability by a network with one hidden layer (15-31-1 in MOT_M5Lv1)."""

import warnings
from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.optional_packages import needs
from nodulebench.detection.classifiers.training import (
    TRAINING,
    Examples,
    balanced,
    logistic,
    standardisation,
)

WEIGHT_PENALTY = 0.5
"""Open: of the squared weights; chosen large, for some hundred nodules train 528 weights."""

MOST_OTHERS = 8000
"""Open: candidates off nodules that are learnt from, drawn from all."""


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
        """Probability of a nodule for each row."""
        standard = (features - self.mean) / self.spread
        hidden = np.tanh(standard @ self.hidden_weight + self.hidden_bias)
        output = (hidden @ self.output_weight + self.output_bias)[:, 0]
        return logistic(output)


def train_network(examples: Examples, seed: int, *, hidden: int) -> Network:
    """Train a network by gradient descent (Adam); both classes weigh the same.

    Raises:
        InputError: if scikit-learn is not installed, or one of the classes is empty.
    """
    mean, spread = standardisation(examples.features)
    standard = (examples.features - mean) / spread
    rows = balanced(examples, seed, MOST_OTHERS)
    return Network(mean, spread, *fitted(standard[rows], examples.is_nodule[rows], seed, hidden))


@dataclass(frozen=True)
class Descent:
    """How a network learns."""

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
        # the number of passes is chosen; that the loss could still fall is no fault
        warnings.simplefilter("ignore")
        network.fit(standard, is_nodule)
    (hidden_weight, output_weight), (hidden_bias, output_bias) = network.coefs_, network.intercepts_
    return hidden_weight, hidden_bias, output_weight, output_bias
