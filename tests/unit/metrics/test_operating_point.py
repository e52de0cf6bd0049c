from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from builders.tables import case, cohort, false_mark, ignored, mark, nodule
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics import METRICS


def value(name: str, of: LabelledCohort, **settings: float) -> float:
    return float(METRICS[name](of, np.ones((1, of.case_count)), **settings)[0])


def six_cases() -> LabelledCohort:
    """Three nodules hit, one missed; two false positives, one of them in a normal case."""
    return cohort(
        case("a", nodule(), mark(0.9), mark(0.8), nodule(10, (100, 0, 0)), mark(0.7, (100, 0, 0))),
        case("b", nodule(), mark(0.9), false_mark(0.6)),
        case("c", nodule()),
        case("d", false_mark(0.4)),
        case("e"),
        case("f", ignored(), mark(0.3)),
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recall", 3 / 4),
        ("miss_rate", 1 / 4),
        ("precision", 3 / 5),
        ("f_beta", 2 * 3 / (2 * 3 + 1 + 2)),
        ("fp_per_case", 2 / 6),
        ("fp_per_normal_case", 1 / 3),
        ("marks_per_case", 7 / 6),  # duplicates and ignored marks are candidates too
        ("case_sensitivity", 2 / 3),
        ("case_specificity", 2 / 3),  # a mark on an ignored finding calls no case
    ],
)
def test_counts_at_one_operating_point(name: str, expected: float) -> None:
    assert value(name, six_cases()) == pytest.approx(expected)


def test_f_beta_weighs_recall_by_beta() -> None:
    precision, recall, beta = 3 / 5, 3 / 4, 2.0
    expected = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    assert value("f_beta", six_cases(), beta=beta) == pytest.approx(expected)


def test_marks_on_cases_of_another_set_are_not_counted() -> None:
    whole = cohort(case("a", nodule(), mark(0.5)), case("b", false_mark(0.4)))
    marks = whole.submission.marks.with_columns(case_id=pl.Series(["a", "elsewhere"]))
    partly = replace(whole, submission=replace(whole.submission, marks=marks))
    assert value("marks_per_case", partly) == 0.5
