import numpy as np
import pytest

from nodulebench.core.errors import InputError
from nodulebench.detection.candidates import etrocad, m5l, mot_m5lv1
from nodulebench.detection.classifiers.models import (
    Examples,
    Network,
    SupportVectors,
    balanced,
    standardisation,
    train_ensemble,
    train_network,
    train_support_vectors,
)
from nodulebench.detection.classifiers.weights import (
    TRAINED,
    classifier_of,
    read_weights,
    write_weights,
)


def _examples(count=300, features=15, seed=1):
    random = np.random.default_rng(seed)
    is_nodule = random.random(count) < 0.2
    values = random.standard_normal((count, features))
    values[:, :3] += 2.0 * is_nodule[:, None]
    return _as_examples(values * 7.0 + 3.0, is_nodule)


def _as_examples(features, is_nodule, *, is_whole=False):
    """Each candidate is a separate case."""
    count = len(features)
    number = np.arange(count)
    nodule = np.where(is_nodule, number, -1)
    return Examples(features, nodule, number, number % 10, np.full(count, is_whole))


def test_a_network_by_hand():
    network = Network(
        mean=np.array([1.0, 0.0]),
        spread=np.array([2.0, 1.0]),
        hidden_weight=np.array([[1.0], [0.5]]),
        hidden_bias=np.array([0.25]),
        output_weight=np.array([[2.0]]),
        output_bias=np.array([-1.0]),
    )
    # standardised (3 - 1) / 2 = 1 and 4: hidden tanh(1 + 2 + 0.25)
    expected = 1 / (1 + np.exp(-(2 * np.tanh(3.25) - 1)))
    assert network.score(np.array([[3.0, 4.0]])) == pytest.approx(expected)
    assert network.parameters == 2 + 1 + 1 + 1


def test_support_vectors_by_hand():
    machine = SupportVectors(
        mean=np.array([0.0]),
        spread=np.array([2.0]),
        vectors=np.array([[0.0], [1.0]]),
        weight=np.array([3.0, -1.0]),
        bias=np.array([0.5]),
        gamma=np.array([0.1]),
        slope=np.array([2.0, -1.0]),
    )
    # 4 is 2 when standardised: distances 2 and 1
    decision = 3 * np.exp(-0.4) - np.exp(-0.1) + 0.5
    assert machine.decision(np.array([[4.0]])) == pytest.approx(decision)
    assert machine.score(np.array([[4.0]])) == pytest.approx(1 / (1 + np.exp(1 - 2 * decision)))


def test_the_networks_have_the_papers_number_of_weights():
    assert mot_m5lv1.TRAINED.train(_examples(), 0).parameters == 15 * 31 + 31 + 31 + 1 == 528
    fewer = _examples(features=13)
    assert m5l.TRAINED.train(fewer, 0).parameters == 13 * 25 + 25 + 25 + 1 == 376
    assert (len(mot_m5lv1.FEATURES), len(m5l.NAMES), len(etrocad.NAMES)) == (15, 13, 19)


def test_numpy_scores_as_scikit_learn_does():
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    # at least two others for each nodule: all are trained on
    examples = _examples().chosen(np.flatnonzero(np.arange(300) < 60))
    examples = _as_examples(examples.features, np.arange(60) % 3 == 0)
    features, is_nodule = examples.features, examples.is_nodule
    machine = train_support_vectors(examples, seed=0)
    mean, spread = standardisation(features)
    theirs = SVC(C=1.0, gamma=0.5 / 15, class_weight="balanced")
    theirs.fit((features - mean) / spread, is_nodule)
    expected = theirs.decision_function((features - mean) / spread)
    assert machine.decision(features) == pytest.approx(expected, abs=1e-9)
    small = MLPClassifier((4,), activation="tanh", max_iter=400, random_state=0, tol=0.1)
    small.fit((features - mean) / spread, is_nodule)
    (first, second), (bias, last) = small.coefs_, small.intercepts_
    network = Network(mean, spread, first, bias, second, last)
    theirs_too = small.predict_proba((features - mean) / spread)[:, 1]
    assert network.score(features) == pytest.approx(theirs_too)


def test_training_learns_and_gives_the_same_weights_for_a_seed():
    from sklearn.metrics import roc_auc_score

    examples, others = _examples(), _examples(seed=2)
    unseen, is_unseen_nodule = others.features, others.is_nodule
    for train in (
        lambda seed: train_network(examples, hidden=5, seed=seed),
        lambda seed: train_support_vectors(examples, seed=seed),
        lambda seed: train_ensemble(examples, seed=seed),
    ):
        first, again = train(0), train(0)
        assert np.array_equal(first.score(unseen), again.score(unseen))
        assert roc_auc_score(is_unseen_nodule, first.score(unseen)) > 0.9
    other, first = (train_network(examples, hidden=5, seed=seed) for seed in (1, 0))
    assert not np.array_equal(other.score(unseen), first.score(unseen))


def test_both_classes_are_as_many():
    five = _as_examples(np.zeros((5, 1)), np.array([True, False, False, False, False]))
    assert np.bincount(balanced(five, 0)).tolist() == [4, 1, 1, 1, 1]
    drawn = np.bincount(balanced(five, 0, most=2), minlength=5)
    assert drawn[0] == 2
    assert sorted(drawn[1:]) == [0, 0, 1, 1]


def test_training_on_one_class_is_refused():
    with pytest.raises(InputError, match="0 candidates are nodules and 3 are not"):
        train_network(_as_examples(np.zeros((3, 2)), np.zeros(3, bool)), hidden=2, seed=0)


def test_weights_survive_their_file(tmp_path):
    examples = _examples()
    features = examples.features
    for classifier, exact in (
        (train_network(examples, hidden=5, seed=0), 1e-4),
        (train_support_vectors(examples, seed=0), 1e-4),
        (train_ensemble(examples, seed=0), 2e-3),
    ):
        names = tuple(f"f{number}" for number in range(15))
        write_weights(tmp_path / "w.npz", classifier, names)
        again = read_weights(tmp_path / "w.npz", names)
        assert type(again) is type(classifier)
        assert again.score(features) == pytest.approx(classifier.score(features), abs=exact)
        before = (tmp_path / "w.npz").read_bytes()
        write_weights(tmp_path / "w.npz", classifier, names)
        assert (tmp_path / "w.npz").read_bytes() == before


def test_a_file_of_other_features_is_refused(tmp_path):
    network = train_network(_examples(features=2 + 1), hidden=2, seed=0)
    write_weights(tmp_path / "w.npz", network, ("a", "b", "c"))
    with pytest.raises(InputError, match="trained on the features a, b, c, not on a, b, d"):
        read_weights(tmp_path / "w.npz", ("a", "b", "d"))


def test_other_files_are_refused(tmp_path):
    (tmp_path / "w.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="is not a file of weights"):
        read_weights(tmp_path / "w.npz", ())
    with pytest.raises(InputError, match="is not a file of weights"):
        read_weights(tmp_path / "absent.npz", ())
    np.savez(tmp_path / "w.npz", kind="tree")
    with pytest.raises(InputError, match="holds no classifier of this package"):
        read_weights(tmp_path / "w.npz", ())
    np.savez(tmp_path / "w.npz", kind=np.array({"a": 1}, dtype=object))
    with pytest.raises(InputError, match="is not a file of weights"):
        read_weights(tmp_path / "w.npz", ())


NODULE = {
    "radius_mm": 4.0,
    "sphericity": 0.92,
    "distance_skewness": -0.7,
    "elongation": 0.85,
    "flatness": 0.9,
    "box_filling": 0.5,
    "mean_hu": -100.0,
    "sd_hu": 150.0,
    "max_hu": 80.0,
    "entropy_bits": 3.2,
    "contrast_hu": 600.0,
    "edge_hu_per_mm": 350.0,
    "dense_shell": 0.05,
    "outside_shell": 0.0,
    "shell_sd_hu": 120.0,
    "scale_mm": 2.2,
    "dot_hu": 150.0,
    "line_hu": 20.0,
    "center": 2.8,
}
"""A round solid nodule of 8 mm."""
VESSEL = NODULE | {
    "radius_mm": 2.0,
    "sphericity": 0.6,
    "distance_skewness": 0.3,
    "elongation": 0.3,
    "flatness": 0.4,
    "box_filling": 0.25,
    "dense_shell": 0.35,
    "scale_mm": 1.0,
    "dot_hu": 25.0,
    "line_hu": 60.0,
    "center": 2.3,
}


@pytest.mark.parametrize(
    ("name", "of_nodule", "of_vessel"),
    [
        ("etrocad", 0.99991785, 0.04941269),
        ("m5l", 0.99379060, 0.25594945),
        ("mot_m5lv1", 0.99921308, 0.93917817),
    ],
)
def test_packaged_weights_score_a_fixed_example_as_ever(name, of_nodule, of_vessel):
    # the values were printed when the weights were trained: another value is another classifier
    names = TRAINED[name].names
    rows = np.array([[row[feature] for feature in names] for row in (NODULE, VESSEL)])
    score = classifier_of(name, None, names).score(rows)
    assert score == pytest.approx([of_nodule, of_vessel], abs=1e-7)
    assert score[0] > score[1]
