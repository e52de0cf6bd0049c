"""nodulebench.froc: plain arrays give the curve that the pipeline gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nodulebench as nb
from builders.random_cohorts import random_cases
from builders.tables import cohort
from nodulebench.metrics.froc import froc_curve


def test_by_hand() -> None:
    fp_rate, sensitivity, threshold = nb.froc(
        [0.9, 0.8, 0.8, 0.1], [True, False, True, False], nodules=4, cases=2
    )
    assert fp_rate.tolist() == [0.0, 0.0, 0.5, 1.0]
    assert sensitivity.tolist() == [0.0, 0.25, 0.5, 0.5]
    assert threshold.tolist() == [np.inf, 0.9, 0.8, 0.1]


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_the_pipelines_curve(seed: int) -> None:
    labelled = cohort(*random_cases(seed))
    wanted = froc_curve(labelled)
    scores = np.concatenate([labelled.hit_score[labelled.is_hit], labelled.false_score])
    is_hit = np.arange(len(scores)) < np.count_nonzero(labelled.is_hit)
    shuffled = np.random.default_rng(seed).permutation(len(scores))
    measured = nb.froc(
        scores[shuffled], is_hit[shuffled], nodules=labelled.nodule_count, cases=labelled.case_count
    )
    for ours, theirs in zip(measured, (wanted.x, wanted.y, wanted.threshold), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_against_counting_one_by_one() -> None:
    random = np.random.default_rng(3)
    scores, is_hit = random.integers(0, 9, 60) / 10, random.random(60) < 0.4
    froc_curve = nb.froc(scores, is_hit, nodules=40, cases=7)
    for rate, share, least in zip(*froc_curve, strict=True):
        assert rate == sum(s >= least and not h for s, h in zip(scores, is_hit, strict=True)) / 7
        assert share == sum(s >= least and h for s, h in zip(scores, is_hit, strict=True)) / 40


def test_no_mark_is_a_curve_of_its_beginning() -> None:
    assert [part.tolist() for part in nb.froc([], [], nodules=1, cases=1)] == [[0], [0], [np.inf]]


@pytest.mark.parametrize(
    ("scores", "is_hit", "nodules", "cases", "message"),
    [
        ([0.5, np.nan], [1, 0], 1, 1, "scores: are not all finite"),
        ([[0.5]], [[1]], 1, 1, "scores: are not a list of numbers"),
        (["high"], [1], 1, 1, "scores: are not a list of numbers"),
        ([0.5], [1, 0], 1, 1, r"is_hit: has the shape \(2,\), scores \(1,\)"),
        ([0.5], [2], 1, 1, "is_hit: has other values than true and false"),
        ([0.5, 0.6], [1, 1], 1, 1, "nodules: is 1, less than the 2 hits"),
        ([0.5], [0], 0, 1, "nodules: is 0"),
        ([0.5], [0], 1, 0, "cases: is 0"),
    ],
)
def test_an_error_names_its_argument(
    scores: list[float], is_hit: list[int], nodules: int, cases: int, message: str
) -> None:
    with pytest.raises(nb.InputError, match=message):
        nb.froc(scores, is_hit, nodules=nodules, cases=cases)
