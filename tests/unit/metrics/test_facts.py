"""Which way of a metric is the good one: a comparison with a margin depends on it."""

import pytest

from nodulebench.metrics import METRICS, function_of, info_of, metric
from nodulebench.metrics.metric import METRIC_INFO, MetricInfo

WORSE = {
    "miss_rate",
    "fp_per_case",
    "fp_per_normal_case",
    "brier_score",
    "expected_calibration_error",
    "size_error_rate",
    "absolute_diameter_error_mm",
}
"""Metrics of which less is better, among those named here or like these."""


@pytest.mark.parametrize("name", sorted(WORSE))
def test_less_of_an_error_is_better(name: str) -> None:
    assert METRIC_INFO[name].is_higher_better is False


@pytest.mark.parametrize("name", ["recall", "precision", "cpm", "wafroc_area", "malignancy_auc"])
def test_more_of_a_merit_is_better(name: str) -> None:
    assert METRIC_INFO[name].is_higher_better is True


def test_a_signed_error_and_a_count_have_no_good_direction() -> None:
    for name in ("diameter_error_mm", "marks_per_case"):
        assert METRIC_INFO[name].is_higher_better is None


def test_shares_of_counts_are_proportions() -> None:
    shares = {name for name in METRICS if getattr(METRICS[name], "is_proportion", False)}
    assert shares == {
        "case_sensitivity",
        "case_specificity",
        "category_agreement",
        "density_accuracy",
        "density_accuracy_of_found",
        "failed_run_rate",
        "malignancy_accuracy",
        "malignancy_precision",
        "malignancy_sensitivity",
        "malignancy_specificity",
        "miss_rate",
        "precision",
        "recall",
    }


def test_every_function_that_the_table_names_exists() -> None:
    for name in METRICS:
        for kind in ("curve", "table", "ratings", "estimator"):
            assert (function_of(name, kind) is None) == (not getattr(info_of(name), kind))
    made = function_of("expected_calibration_error", "table")
    assert made is not None
    assert made.__name__ == "reliability"


def test_a_metric_that_is_worse_when_higher_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [info_of(name).is_higher_better for name in ("recall", "fp_per_case")] == [True, False]
    assert info_of("marks_per_case").is_higher_better is None
    plain, lower = (lambda: None), (lambda: None)
    lower.facts = MetricInfo(is_higher_better=False)  # type: ignore[attr-defined]
    monkeypatch.setattr(metric, "METRICS", {"plain": plain, "lower": lower})
    assert info_of("plain").is_higher_better is True
    assert info_of("lower").is_higher_better is False
