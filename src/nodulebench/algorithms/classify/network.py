"""Features -> probability by a network with one hidden layer (15-31-1 in MOT_M5Lv1)."""

import warnings
from dataclasses import dataclass

import numpy as np

from nodulebench.algorithms.classify.training import TRAINING, balanced, logistic, standardisation
from nodulebench.model.arrays import BoolArray, FloatArray
from nodulebench.optional_package import needs

WEIGHT_PENALTY = 0.5
"""Open: of the squared weights; chosen large, for some hundred nodules train 528 weights."""
LEARNING_RATE = 0.003
"""Open."""
EPOCHS = 40
"""Open: passes through the training candidates."""


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


def train_network(features: FloatArray, is_nodule: BoolArray, seed: int, *, hidden: int) -> Network:
    """Train a network by gradient descent (Adam); both classes weigh the same.

    Raises:
        InputError: if scikit-learn is not installed, or one of the classes is empty.
    """
    mean, spread = standardisation(features)
    rows = balanced(is_nodule, seed)
    with needs("algorithms", TRAINING):
        from sklearn import neural_network
    network = neural_network.MLPClassifier(
        hidden_layer_sizes=(hidden,),
        activation="tanh",
        alpha=WEIGHT_PENALTY,
        learning_rate_init=LEARNING_RATE,
        max_iter=EPOCHS,
        n_iter_no_change=EPOCHS,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # the number of passes is chosen; that the loss could still fall is no fault
        warnings.simplefilter("ignore")
        network.fit(((features - mean) / spread)[rows], is_nodule[rows])
    (hidden_weight, output_weight), (hidden_bias, output_bias) = network.coefs_, network.intercepts_
    return Network(mean, spread, hidden_weight, hidden_bias, output_weight, output_bias)
