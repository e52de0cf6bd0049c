"""Several networks and their calibration."""

from dataclasses import replace

import numpy as np
import pytest

from nodulebench.detection.classifiers.models import (
    FARTHEST,
    NODULES_PER_SCAN,
    Ensemble,
    Examples,
    calibration,
    train_ensemble,
)


def examples(count=2000, *, is_whole=True, seed=0, rate=0.1):
    """Features of which the first three tell; some candidates of each case lie on its nodule."""
    random = np.random.default_rng(seed)
    is_nodule = random.random(count) < rate
    features = random.standard_normal((count, 6))
    features[:, :3] += 1.2 * is_nodule[:, None]
    case = np.arange(count) // 20
    return Examples(
        features,
        np.where(is_nodule, case, -1),
        case,
        case % 10,
        np.full(count, is_whole),
    )


def test_an_ensemble_by_hand():
    two = Ensemble(
        mean=np.array([1.0, 0.0]),
        spread=np.array([2.0, 1.0]),
        hidden_weight=np.array([[[1.0], [0.5]], [[0.0], [1.0]]]),
        hidden_bias=np.array([[0.25], [0.0]]),
        output_weight=np.array([[[2.0]], [[3.0]]]),
        output_bias=np.array([[-1.0], [0.5]]),
        slope=np.array([0.5, -2.0]),
    )
    # (3 - 1) / 2 = 1; 40 counts as FARTHEST spreads
    first = 2 * np.tanh(1 + 0.5 * FARTHEST + 0.25) - 1
    second = 3 * np.tanh(FARTHEST) + 0.5
    rows = np.array([[3.0, 40.0]])
    assert two.log_odds(rows) == pytest.approx(np.array([[first], [second]]))
    logit = 0.5 * (first + second) / 2 - 2.0
    assert two.score(rows) == pytest.approx(1 / (1 + np.exp(-logit)))


def test_probabilities_hold_where_nodules_are_as_frequent_as_on_scans():
    # blocks have many nodules, scans few: probabilities trained on both must hold on scans
    blocks = examples(1500, is_whole=False, rate=0.3)
    whole = examples(2000, seed=1, rate=0.0).numbered(0, 0)
    whole = replace(whole, case=1000 + np.arange(2000) // 100)
    both = Examples.joined(blocks, whole)
    classifier = train_ensemble(both, 0)
    unseen = examples(20000, seed=2, rate=0.3)
    nodules = unseen.features[unseen.is_nodule]
    others = unseen.features[~unseen.is_nodule]
    # rows on nodules for each nodule, as in the blocks; others for each scan, as in the scans
    share = (blocks.is_nodule.sum() / 75) * NODULES_PER_SCAN
    per_scan = 100
    p = np.concatenate([classifier.score(nodules), classifier.score(others)])
    weight = np.concatenate(
        [np.full(len(nodules), share / len(nodules)), np.full(len(others), per_scan / len(others))]
    )
    expected = share / (share + per_scan)
    assert np.average(p, weights=weight) == pytest.approx(expected, rel=0.15)
    is_nodule = np.arange(len(p)) < len(nodules)
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 1.0)):
        inside = (p >= low) & (p < high)
        observed = np.average(is_nodule[inside], weights=weight[inside])
        mean = np.average(p[inside], weights=weight[inside])
        assert observed == pytest.approx(mean, abs=0.12)


def test_without_scans_the_examples_count_as_they_are():
    blocks = examples(4000, is_whole=False, rate=0.25)
    odds = np.where(blocks.is_nodule, 1.0, -1.0)
    # a fifth of all labels are wrong: log odds of 4 among the positive ones
    wrong = np.arange(4000) % 5 == 0
    slope, intercept = calibration(np.where(wrong, -odds, odds), blocks)
    mean = 1 / (1 + np.exp(-(slope + intercept)))
    flagged = np.where(wrong, -odds, odds) > 0
    assert mean == pytest.approx(blocks.is_nodule[flagged].mean(), abs=1e-3)


def test_a_network_never_learns_from_the_cases_that_calibrate_it():
    # every case has its own feature that marks its nodules: memorised it would be sure
    given = examples(600, rate=0.3)
    random = np.random.default_rng(5)
    flat = replace(given, features=random.standard_normal((600, 30)))
    classifier = train_ensemble(flat, 0)
    assert abs(classifier.slope[0]) < 0.35, "memorised cases are no evidence for others"
