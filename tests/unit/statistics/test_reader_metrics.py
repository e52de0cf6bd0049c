"""Covariance of readers' metrics by leaving out one case after the other."""

import numpy as np
import pytest

from builders.words import undefined
from nodulebench.statistics.mrmc import metrics_from_jackknife, metrics_from_ratings


def test_covariance_of_left_out_values_by_plain_loops() -> None:
    left_out = np.random.default_rng(0).normal(size=(2, 3, 7))
    covariance = metrics_from_jackknife(left_out.mean(axis=-1), left_out).covariance
    for i, j, k, m in np.ndindex(2, 3, 2, 3):
        first, second = left_out[i, j], left_out[k, m]
        together = sum(
            (a - first.mean()) * (b - second.mean()) for a, b in zip(first, second, strict=True)
        )
        assert covariance[i, j, k, m] == pytest.approx(6 / 7 * together)


def test_two_cases_of_each_kind_are_enough_to_leave_one_out() -> None:
    rating = np.array([[[1.0, 3.0, 2.0, 4.0]]])
    is_abnormal = np.array([False, True, False, True])
    assert metrics_from_ratings(rating, is_abnormal).value.tolist() == [[1.0]]
    with undefined(match="two"):
        metrics_from_ratings(rating[..., 1:], is_abnormal[1:])
