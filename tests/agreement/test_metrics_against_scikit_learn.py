"""Metrics against scikit-learn and scipy on random data, weights as sample weights."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    cohen_kappa_score,
    f1_score,
    fbeta_score,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

from builders.random_cohorts import random_cases
from builders.tables import cohort
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics import METRICS
from nodulebench.metrics.characterisation import Penalty, kappa
from nodulebench.metrics.classes import density_pairs
from nodulebench.metrics.malignancy import malignancy_roc_curve, rated_nodules
from nodulebench.metrics.ratings import highest_false, highest_hit, is_abnormal

SEEDS = (11, 12, 13)


@pytest.fixture(scope="module", params=SEEDS)
def many(request: pytest.FixtureRequest) -> LabelledCohort:
    return cohort(*random_cases(request.param, abnormal=30, normal=20))


def weights_of(of: LabelledCohort) -> np.ndarray:
    """All cases once, and one bootstrap replicate."""
    drawn = np.random.default_rng(7).multinomial(
        of.case_count, np.full(of.case_count, 1 / of.case_count)
    )
    return np.stack([np.ones_like(drawn), drawn])


@pytest.mark.parametrize("fraction", [0.05, 0.2])
def test_partial_areas_and_readings_are_those_of_scikit_learn(
    many: LabelledCohort, fraction: float
) -> None:
    nodules, weights = rated_nodules(many), weights_of(many)
    for row in weights:
        given = (nodules.is_malignant, nodules.probability)
        mcclish = roc_auc_score(*given, sample_weight=row[nodules.case], max_fpr=fraction)
        least = fraction**2 / 2  # McClish 1989 puts chance at 1/2 and the whole width at 1
        partial = (2 * mcclish - 1) * (fraction - least) + least
        x, y, _ = roc_curve(*given, sample_weight=row[nodules.case], drop_intermediate=False)
        top = np.maximum.accumulate(y)
        within = x <= fraction
        before, after = np.flatnonzero(within)[-1], np.flatnonzero(~within)[0]
        share = (fraction - x[before]) / (x[after] - x[before])
        expected = top[before] + share * (top[after] - top[before])
        settings = {"fpf_points": (fraction,)}
        values = METRICS["malignancy_auc_until_fpf"](many, row[np.newaxis], **settings)
        assert values[0, 0] == pytest.approx(partial / fraction, rel=1e-10)
        read = METRICS["malignancy_sensitivity_at_fpf"](many, row[np.newaxis], **settings)
        assert read[0, 0] == pytest.approx(expected, rel=1e-10)


def test_malignancy_auc_is_roc_auc_score(many: LabelledCohort) -> None:
    nodules, weights = rated_nodules(many), weights_of(many)
    expected = [
        roc_auc_score(nodules.is_malignant, nodules.probability, sample_weight=row[nodules.case])
        for row in weights
    ]
    np.testing.assert_allclose(METRICS["malignancy_auc"](many, weights), expected, rtol=1e-12)


def test_malignancy_auc_is_mann_whitney(many: LabelledCohort) -> None:
    nodules = rated_nodules(many)
    malignant, benign = (
        nodules.probability[nodules.is_malignant],
        nodules.probability[~nodules.is_malignant],
    )
    statistic = mannwhitneyu(malignant, benign).statistic
    values = METRICS["malignancy_auc"](many, np.ones((1, many.case_count)))
    assert values[0] == pytest.approx(statistic / (len(malignant) * len(benign)), rel=1e-12)


def test_malignancy_roc_curve_is_roc_curve(many: LabelledCohort) -> None:
    nodules, curve = rated_nodules(many), malignancy_roc_curve(many)
    x, y, threshold = roc_curve(nodules.is_malignant, nodules.probability, drop_intermediate=False)
    np.testing.assert_allclose(curve.x, x, rtol=1e-12)
    np.testing.assert_allclose(curve.y, y, rtol=1e-12)
    np.testing.assert_array_equal(curve.threshold, threshold)


def test_case_roc_area_is_roc_auc_score_of_the_highest_marks(many: LabelledCohort) -> None:
    highest = np.maximum(highest_false(many), highest_hit(many))
    rating = np.where(np.isfinite(highest), highest, -1e9)  # scikit-learn knows no infinity
    weights = weights_of(many)
    expected = [roc_auc_score(is_abnormal(many), rating, sample_weight=row) for row in weights]
    np.testing.assert_allclose(METRICS["case_roc_area"](many, weights), expected, rtol=1e-12)


def test_afroc_area_is_mann_whitney_of_nodules_and_normal_cases(many: LabelledCohort) -> None:
    noise = highest_false(many)[~is_abnormal(many)]
    signal = np.where(many.is_hit, many.hit_score, -np.inf)
    statistic = mannwhitneyu(signal, noise).statistic
    values = METRICS["afroc_area"](many, np.ones((1, many.case_count)))
    assert values[0] == pytest.approx(statistic / (len(noise) * len(signal)), rel=1e-12)


def test_average_precision_is_that_of_the_marks_times_recall(many: LabelledCohort) -> None:
    case = np.concatenate([many.nodule_case[many.is_hit], many.false_case])
    score = np.concatenate([many.hit_score[many.is_hit], many.false_score])
    is_hit = np.arange(len(case)) < np.count_nonzero(many.is_hit)
    for row in weights_of(many):
        recall = METRICS["recall"](many, row[np.newaxis])[0]
        expected = recall * average_precision_score(is_hit, score, sample_weight=row[case])
        values = METRICS["average_precision"](many, row[np.newaxis])[0]
        assert values == pytest.approx(expected, rel=1e-12)


def test_brier_score_is_brier_score_loss(many: LabelledCohort) -> None:
    nodules, weights = rated_nodules(many), weights_of(many)
    expected = [
        brier_score_loss(nodules.is_malignant, nodules.probability, sample_weight=row[nodules.case])
        for row in weights
    ]
    np.testing.assert_allclose(METRICS["brier_score"](many, weights), expected, rtol=1e-12)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.6])
def test_malignancy_at_a_threshold_is_that_of_scikit_learn(
    many: LabelledCohort, threshold: float
) -> None:
    nodules, weights = rated_nodules(many), weights_of(many)
    called = nodules.probability >= threshold
    for row in weights:
        weight = {"sample_weight": row[nodules.case]}
        expected = {
            "malignancy_sensitivity": recall_score(nodules.is_malignant, called, **weight),
            "malignancy_specificity": recall_score(~nodules.is_malignant, ~called, **weight),
            "malignancy_precision": precision_score(nodules.is_malignant, called, **weight),
            "malignancy_f_beta": f1_score(nodules.is_malignant, called, **weight),
            "malignancy_accuracy": np.average(
                called == nodules.is_malignant, weights=row[nodules.case]
            ),
        }
        for name, number in expected.items():
            values = METRICS[name](many, row[np.newaxis], malignancy_threshold=threshold)[0]
            assert values == pytest.approx(number, rel=1e-12), name


def test_malignancy_f_beta_follows_beta(many: LabelledCohort) -> None:
    nodules = rated_nodules(many)
    expected = fbeta_score(nodules.is_malignant, nodules.probability >= 0.5, beta=2)
    values = METRICS["malignancy_f_beta"](many, np.ones((1, many.case_count)), beta=2.0)
    assert values[0] == pytest.approx(expected, rel=1e-12)


def test_density_kappa_is_cohen_kappa_score(many: LabelledCohort) -> None:
    pairs, weights = density_pairs(many), weights_of(many)
    used = pairs.is_paired
    expected = [
        cohen_kappa_score(
            pairs.truth[used], pairs.stated[used], sample_weight=row[many.nodule_case[used]]
        )
        for row in weights
    ]
    np.testing.assert_allclose(METRICS["density_kappa"](many, weights), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("penalty", "weights"), [("plain", None), ("linear", "linear"), ("quadratic", "quadratic")]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_kappa_is_cohen_kappa_score(penalty: Penalty, weights: str | None, seed: int) -> None:
    random = np.random.default_rng(seed)
    first, other = random.integers(0, 5, (2, 60))
    counts = np.zeros((5, 5))
    np.add.at(counts, (first, other), 1)
    expected = cohen_kappa_score(first, other, labels=range(5), weights=weights)
    assert kappa(counts, penalty=penalty) == pytest.approx(expected, rel=1e-12)
