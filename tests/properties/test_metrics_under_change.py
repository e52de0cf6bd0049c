"""What must happen to detection metrics when a submission gets better or worse."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.random_cohorts import SCORES, random_cases
from builders.tables import Case, cohort, false_mark, mark
from nodulebench.core.arrays import FloatArray
from nodulebench.metrics import METRICS

DETECTION = (
    "precision",
    "f_beta",
    "sensitivity_at_fp_rate",
    "cpm",
    "average_precision",
    "afroc_area",
    "wafroc_area",
    "afroc1_area",
    "wafroc1_area",
    "efroc_area",
    "lroc_area",
    "pcl_at_fpf",
)
"""Metrics that no false positive may raise and no further hit may lower."""

SEED = st.integers(0, 10_000)
SCORE = st.sampled_from([0.0, *SCORES, 1.0])
ROUNDING = 1e-12


def values(cases: list[Case]) -> dict[str, FloatArray]:
    labelled = cohort(*cases)
    everyone = np.ones((1, labelled.case_count), dtype=np.int32)
    return {name: METRICS[name](labelled, everyone)[0] for name in DETECTION}


def with_mark(case_: Case, added: object) -> Case:
    return replace(case_, marks=(*case_.marks, added))


@settings(max_examples=25, deadline=None)
@given(seed=SEED, score=SCORE, where=st.integers(0, 6))
def test_a_further_false_positive_never_raises_a_metric(
    seed: int, score: float, where: int
) -> None:
    cases = list(random_cases(seed, abnormal=4, normal=3))
    before = values(cases)
    cases[where] = with_mark(cases[where], false_mark(score, 9))
    for name, after in values(cases).items():
        assert np.all(after <= before[name] + ROUNDING), name


@settings(max_examples=25, deadline=None)
@given(seed=SEED, score=SCORE, where=st.integers(0, 3))
def test_a_further_hit_never_lowers_a_metric(seed: int, score: float, where: int) -> None:
    cases = list(random_cases(seed, abnormal=4, normal=3))
    before = values(cases)
    # on the first nodule: found now, or found with a higher score, or a duplicate
    cases[where] = with_mark(cases[where], mark(score, cases[where].nodules[0].at))
    for name, after in values(cases).items():
        if name != "average_precision":  # a hit that rises joins its new group's precision
            assert np.all(after >= before[name] - ROUNDING), name


@settings(max_examples=15, deadline=None)
@given(seed=SEED)
def test_every_area_is_between_zero_and_one(seed: int) -> None:
    for name, value in values(list(random_cases(seed, abnormal=3, normal=2))).items():
        assert np.all((value >= 0) & (value <= 1 + ROUNDING)), name
