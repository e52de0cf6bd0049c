"""Intervals of other methods in addition to the main one."""

import numpy as np
import pytest

from builders.random_cohorts import random_cases
from builders.tables import case, cohort, false_mark, mark, nodule
from nodulebench.core.protocol import IntervalChoice
from nodulebench.evaluation.estimates import area_intervals, binomial_intervals
from nodulebench.metrics.malignancy import benign_and_malignant
from nodulebench.metrics.metric import CaseSums
from nodulebench.statistics.delong import auc_estimate

ASKED = IntervalChoice(others=("delong",))


def test_an_area_has_delongs_interval_where_it_is_asked_for() -> None:
    many = cohort(*random_cases(11, abnormal=30, normal=20))
    patient = many.reference.unit_of_case
    negative, positive = benign_and_malignant(many)
    expected = auc_estimate(
        positive.rating,
        negative.rating,
        positive_unit=patient[positive.case],
        negative_unit=patient[negative.case],
    )
    interval = area_intervals("malignancy_auc", many, ASKED)
    assert interval == {"delong": (expected.low, expected.high)}
    assert area_intervals("recall", many, ASKED) == {}


def test_cases_without_marks_tie_below_all_others() -> None:
    # abnormal rated .9, -inf; normal .5, -inf: 1 + 1 + 0 + 1/2 of 4 pairs
    four = cohort(
        case("a", nodule(), mark(0.9)), case("b", nodule()), case("c", false_mark(0.5)), case("d")
    )
    low, high = area_intervals("case_roc_area", four, ASKED)["delong"]
    plain = auc_estimate(np.array([2.0, 0.0]), np.array([1.0, 0.0]))
    assert (low, high) == pytest.approx((plain.low, plain.high))


def test_too_few_of_a_kind_have_no_variance() -> None:
    three = cohort(case("a", nodule(), mark(0.9)), case("c", false_mark(0.5)), case("d"))
    assert area_intervals("case_roc_area", three, ASKED) == {}


def test_units_with_a_trial_are_counted_once() -> None:
    five = cohort(*(case(name) for name in "abcde"))
    by_case = IntervalChoice(unit="case", others=())
    trials = np.array([1.0, 2.0, 0.0, 0.0, 0.5])
    of_case = CaseSums(np.zeros(5), trials)
    assert binomial_intervals("recall", of_case, five, by_case) == ({}, 3)
    assert binomial_intervals("f_beta", of_case, five, by_case) == ({}, 0)
    assert binomial_intervals("recall", None, five, by_case) == ({}, 0)
