from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.tables import Run, case, cohort, nodule, run
from builders.words import undefined
from nodulebench.core.cohort import LabelledCohort
from nodulebench.metrics import METRICS


def timed(*runs: Run) -> LabelledCohort:
    return cohort(*(case(f"c{number}", nodule(), run) for number, run in enumerate(runs)))


def value(name: str, of: LabelledCohort) -> float:
    return float(METRICS[name](of, np.ones((1, of.case_count)))[0])


FIVE = timed(run(4.0), run(1.0), run(2.0), run(60.0, "timed_out"), run(9.0))


def test_only_runs_that_ended_well_are_timed() -> None:
    assert value("median_seconds_per_case", FIVE) == 3.0  # of 1, 2, 4, 9
    assert value("mean_seconds_per_case", FIVE) == 4.0
    assert value("max_seconds_per_case", FIVE) == 9.0


def test_failed_runs_are_counted_over_all_runs() -> None:
    assert value("failed_run_rate", FIVE) == pytest.approx(1 / 5)


def test_where_lungs_were_implausible_a_run_has_a_time_and_counts_as_failed() -> None:
    doubtful = timed(run(4.0), run(60.0, "lungs_implausible"))
    assert value("max_seconds_per_case", doubtful) == 60.0
    assert value("failed_run_rate", doubtful) == 0.5


def test_a_case_without_a_run_is_not_counted() -> None:
    partly = cohort(case("a", nodule(), run(3.0)), case("b", nodule()))
    assert value("failed_run_rate", partly) == 0.0
    assert value("median_seconds_per_case", partly) == 3.0


SECONDS = np.array([4.0, 1.0, 2.0, 2.0, 9.0])
WELL = timed(*(run(float(seconds)) for seconds in SECONDS))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any))
def test_weighted_times_are_those_of_repeated_cases(weights: list[int]) -> None:
    repeated = np.repeat(SECONDS, weights)
    row = np.array([weights])
    assert METRICS["median_seconds_per_case"](WELL, row)[0] == np.median(repeated)
    assert METRICS["max_seconds_per_case"](WELL, row)[0] == np.max(repeated)
    assert METRICS["mean_seconds_per_case"](WELL, row)[0] == pytest.approx(np.mean(repeated))


@pytest.mark.parametrize("name", ["median_seconds_per_case", "mean_seconds_per_case"])
def test_without_times_there_is_none(name: str) -> None:
    with undefined(match="no run succeeded and has a time"):
        value(name, timed(run(5.0, "failed"), run(None)))
    with undefined(match="the submission has no table of runs"):
        value(name, cohort(case("a", nodule())))


def test_runs_of_other_cases_do_not_count_and_rows_without_a_run_have_no_time() -> None:
    whole = timed(run(4.0), run(1.0), run(9.0, "failed"))
    runs = whole.submission.runs
    assert runs is not None
    others = runs.with_columns(case_id=pl.Series(["c0", "elsewhere", "c2"]))
    partly = replace(whole, submission=replace(whole.submission, runs=others))
    assert value("max_seconds_per_case", partly) == value("mean_seconds_per_case", partly) == 4.0
    assert value("failed_run_rate", partly) == 0.5
    undrawn = np.array([[0, 1, 1], [1, 0, 0]])
    for name in ("median_seconds_per_case", "max_seconds_per_case"):
        assert METRICS[name](partly, undrawn) == pytest.approx([np.nan, 4.0], nan_ok=True)
