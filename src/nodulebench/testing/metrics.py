"""What every metric must satisfy."""

from collections.abc import Callable
from functools import cache

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.config_model import parameters_of
from nodulebench.core.errors import UndefinedError
from nodulebench.core.protocol import TestProtocol
from nodulebench.metrics import METRICS, info_of, meaning_of, name_of
from nodulebench.metrics.metric import Ratio
from nodulebench.statistics.permutation import side_by_side
from nodulebench.testing.test_sets import (
    changed,
    cohort_of,
    expect,
    expect_all,
    random_test_set,
    repeated,
    rescored,
    set_of,
)

SEEDS = (1, 2)
_some = cache(random_test_set)


@cache
def _cohort(seed: int) -> LabelledCohort:
    return cohort_of(_some(seed))


def value(name: str, of: LabelledCohort) -> FloatArray:
    """The metric on all cases, NaN where it is undefined."""
    try:
        answer: FloatArray = METRICS[name](of, np.ones((1, of.case_count), dtype=np.int32))[0]
    except UndefinedError:
        return np.array(np.nan)
    return answer


def _same(name: str, values: FloatArray, wanted: FloatArray, what: str) -> None:
    np.testing.assert_allclose(values, wanted, rtol=1e-12, err_msg=f"{name}: {what}")


def it_says_what_it_is(name: str) -> None:
    """It has its registered name, one line of meaning, and settings that a protocol has."""
    metric = METRICS[name]
    expect(name_of(metric) == name, f"it is called {name_of(metric)}, not {name}")
    meaning = meaning_of(metric)
    expect(10 < len(meaning) <= 100, f"{name} says in {len(meaning)} letters what it means")
    expect(not meaning.endswith("."), f"the meaning of {name} ends with a full stop")
    asked = parameters_of(metric.sums if isinstance(metric, Ratio) else metric)
    strange = set(asked) - set(TestProtocol.model_fields)
    expect(not strange, f"{name} has settings that no protocol has: {sorted(strange)}")


def it_is_defined_on_cases_that_say_everything(name: str) -> None:
    expect(bool(np.isfinite(value(name, _cohort(1))).all()), f"{name} is undefined")


def without_nodules_or_marks_it_has_a_value_or_a_reason(name: str) -> None:
    """Where nothing is there, it is a number or undefined, never another error."""
    for made in (set_of("ab"), set_of("ab", marks=[_spot("a", 0.5)]), set_of("ab", [_spot("a")])):
        result = value(name, cohort_of(made))
        expect(not np.isinf(result).any(), f"{name} is infinite where something is missing")


def the_order_of_cases_nodules_and_marks_is_free(name: str) -> None:
    for seed in SEEDS:
        turned = cohort_of(changed(_some(seed), pl.DataFrame.reverse))
        _same(name, value(name, turned), value(name, _cohort(seed)), "order of the tables")


def a_weight_is_as_good_as_repeated_cases(name: str) -> None:
    for seed in SEEDS:
        times = np.random.default_rng(seed).integers(0, 4, _cohort(seed).case_count)
        weights = np.stack([np.ones_like(times), times]).astype(np.int32)
        weighted = METRICS[name](_cohort(seed), weights)
        _same(name, weighted[0], value(name, _cohort(seed)), "equal weights")
        copies = cohort_of(repeated(_some(seed), times.tolist()))
        _same(name, weighted[1], value(name, copies), "weights against repeated cases")


def halving_all_weights_changes_nothing(name: str) -> None:
    whole = np.random.default_rng(5).integers(0, 4, (3, _cohort(1).case_count))
    metric = METRICS[name]
    _same(name, metric(_cohort(1), whole / 2), metric(_cohort(1), whole), "halved weights")


def only_the_order_of_scores_matters(name: str) -> None:
    for seed in SEEDS:
        stretched = rescored(_some(seed), (pl.col("score") * 5).exp() - 40)
        _same(name, value(name, cohort_of(stretched)), value(name, _cohort(seed)), "other scores")


def a_replicate_without_cases_is_undefined(name: str) -> None:
    weights = np.zeros((2, _cohort(1).case_count), dtype=np.int32)
    weights[1] = 1
    answer = METRICS[name](_cohort(1), weights)
    expect(bool(np.isnan(answer[0]).all()), f"{name} of no cases is {answer[0]}, not NaN")
    expect(bool(np.isfinite(answer[1]).all()), f"{name} is undefined if another replicate is empty")


def many_replicates_give_the_same_as_one_by_one(name: str) -> None:
    weights = np.random.default_rng(3).integers(0, 3, (6, _cohort(2).case_count))
    metric = METRICS[name]
    separately = np.concatenate([metric(_cohort(2), row[np.newaxis]) for row in weights])
    _same(name, metric(_cohort(2), weights), separately, "replicates together")


def weights_pick_one_cohort_out_of_two(name: str) -> None:
    """Two cohorts side by side can be read apart; permutation tests rest on it."""
    first, second = _cohort(1), _cohort(2)
    for is_common in (True, False):
        joined = side_by_side(first, second, is_on_common_scale=is_common)
        weights = np.zeros((2, joined.case_count), dtype=np.int32)
        weights[0, : first.case_count] = 1
        weights[1, first.case_count :] = 1
        wanted = np.stack([value(name, first), value(name, second)])
        _same(name, METRICS[name](joined, weights), wanted, "two cohorts side by side")


def the_points_at_which_it_is_read_are_named(name: str) -> None:
    weight = np.ones((2, _cohort(1).case_count))
    columns = info_of(name).columns
    answer = METRICS[name](_cohort(1), weight)
    expect(
        answer.ndim == (2 if columns else 1),
        f"{name} gives values of the shape {answer.shape[1:]}, but its facts name "
        f"{columns or 'no points'}",
    )
    points = (0.25, 0.5, 1.0)
    if isinstance(columns, str) and columns:
        answer = METRICS[name](_cohort(1), weight, **{columns: points})
    count = len(points) if isinstance(columns, str) else len(columns)
    expect(not columns or answer.shape == (2, count), f"{name} is not read at {count} points")


METRIC_CHECKS: tuple[Callable[[str], None], ...] = (
    it_says_what_it_is,
    it_is_defined_on_cases_that_say_everything,
    without_nodules_or_marks_it_has_a_value_or_a_reason,
    the_order_of_cases_nodules_and_marks_is_free,
    a_weight_is_as_good_as_repeated_cases,
    halving_all_weights_changes_nothing,
    only_the_order_of_scores_matters,
    a_replicate_without_cases_is_undefined,
    many_replicates_give_the_same_as_one_by_one,
    weights_pick_one_cohort_out_of_two,
    the_points_at_which_it_is_read_are_named,
)


def check_metric(name: str) -> None:
    """Run a registered metric through all checks; AssertionError says what it breaks."""
    expect_all(METRIC_CHECKS, name)


def _spot(name: str, score: float | None = None) -> dict[str, object]:
    return {"case_id": name, "x_mm": 0.0, "y_mm": 0.0, "z_mm": 0.0, "score": score}
