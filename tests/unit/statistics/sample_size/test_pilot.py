from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from builders.tables import case, cohort, false_mark, mark, nodule
from builders.words import undefined
from nodulebench.core.arrays import BoolArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.i18n.translator import in_english
from nodulebench.metrics import Metric
from nodulebench.metrics.froc import cpm
from nodulebench.metrics.operating_point import precision, recall
from nodulebench.statistics.sample_size.comparisons import PilotOptions, size_from_pilot
from nodulebench.statistics.sample_size.result import Plan

PATIENTS = 60
EVERYTHING = cohort(
    *(case(f"{n}", nodule(), mark(0.5 + n / 200), false_mark(n / 100)) for n in range(PATIENTS))
)
UNITS = np.arange(PATIENTS)


def finding(is_hit: BoolArray) -> LabelledCohort:
    return replace(EVERYTHING, is_hit=is_hit, hit_mark=np.where(is_hit, EVERYTHING.hit_mark, -1))


NEW = finding(UNITS % 10 < 8)  # 48 of 60
OLD = finding((UNITS % 10 < 7) & (UNITS >= 3) | (UNITS % 20 == 8))  # 39 + 3, others than new


def planned(
    metric: Metric,
    algorithm: LabelledCohort,
    baseline: LabelledCohort,
    unit_of_case: IntArray = UNITS,
    **options: Any,
) -> Plan:
    return size_from_pilot(
        metric, algorithm, baseline, unit_of_case=unit_of_case, options=PilotOptions(**options)
    )


def test_power_follows_the_normal_law_of_the_difference() -> None:
    plan = planned(recall, NEW, OLD, sizes=(40, 80, 160), simulations=4000, seed=1)
    gain = NEW.is_hit.astype(float) - OLD.is_hit
    for point in plan.curve:
        error = gain.std() / np.sqrt(point.size)
        expected = stats.norm.cdf(gain.mean() / error - stats.norm.ppf(0.975))
        assert point.value == pytest.approx(expected, abs=0.05)
    assert plan.details["pilot_difference"] == pytest.approx(gain.mean())


def test_the_answer_is_the_first_size_with_the_power_wanted() -> None:
    plan = planned(recall, NEW, OLD, sizes=(20, 60, 200, 600), simulations=500, seed=1)
    reached = [point.size for point in plan.curve if point.value >= 0.8]
    assert plan.answer == reached[0]
    assert plan.unit == "patients"
    assert in_english(plan.assumptions[0]) == "Patients are like the 60 of the pilot set."


def test_no_size_tried_may_suffice() -> None:
    plan = planned(recall, NEW, OLD, sizes=(5,), simulations=200, seed=1)
    assert plan.answer is None


def test_a_margin_raises_the_power() -> None:
    superior, not_inferior = (
        planned(
            recall,
            NEW,
            OLD,
            sizes=(40,),
            simulations=500,
            seed=1,
            margin=margin,
        )
        for margin in (0.0, 0.1)
    )
    assert not_inferior.curve[0].value > superior.curve[0].value + 0.1
    assert (
        in_english(not_inferior.question)
        == "How many patients are needed to show that the algorithm loses less than 0.1?"
    )


def test_an_assumed_difference_replaces_that_of_the_pilot() -> None:
    plan = planned(
        recall,
        NEW,
        OLD,
        sizes=(60,),
        simulations=4000,
        seed=1,
        assumed_difference=0.0,
    )
    assert plan.curve[0].value == pytest.approx(0.025, abs=0.012)
    assert in_english(plan.assumptions[1]) == "The difference is 0, as assumed."


def test_any_metric_can_be_planned_for() -> None:
    plan = planned(cpm, NEW, OLD, sizes=(30, 120), simulations=200, seed=1)
    assert plan.curve[1].value >= plan.curve[0].value


def test_patients_are_drawn_whole() -> None:
    # two patients with 30 cases each: a test set of one patient has 30 cases
    sizes = []

    def counted(of: LabelledCohort, weight: np.ndarray) -> np.ndarray:
        sizes.append(set(weight.sum(axis=1).tolist()))
        return recall(of, weight)

    planned(
        counted, NEW, OLD, unit_of_case=np.repeat([0, 1], 30), sizes=(1,), simulations=100, seed=1
    )
    assert sizes == [{60}, {60}, {30}, {30}]


def test_the_same_seed_gives_the_same_plan() -> None:
    plans = [planned(recall, NEW, OLD, sizes=(50,), simulations=200, seed=9) for _ in range(2)]
    assert plans[0] == plans[1]


def test_a_metric_undefined_on_the_pilot_is_undefined() -> None:
    silent = cohort(*(case(f"{n}", nodule()) for n in range(PATIENTS)))
    with pytest.raises(UndefinedError):
        planned(precision, silent, NEW, sizes=(5,), simulations=100)


def test_all_wrong_settings_are_reported_at_once() -> None:
    with pytest.raises(InputError) as error:
        planned(recall, NEW, OLD, sizes=(9, 3), simulations=10, margin=-1)
    assert str(error.value) == (
        "sizes: (9, 3) are not ascending positive numbers. "
        "Give whole numbers from 1 up, each once and in order.\n"
        "simulations: 10 is below 100. Give 100 or more.\n"
        "margin: -1 is negative. Give 0 or more."
    )


def test_a_metric_without_a_value_is_refused() -> None:
    def sometimes(of: LabelledCohort, weight: np.ndarray) -> np.ndarray:
        return recall(of, weight) if len(weight) == 1 else np.full(len(weight), np.nan)

    def never(_: LabelledCohort, weight: np.ndarray) -> np.ndarray:
        return np.full(len(weight), np.nan)

    for metric, reason in (
        (sometimes, "the metric is undefined in test sets of 5 patients"),
        (never, "undefined for one of the algorithms on the pilot set"),
    ):
        with undefined(match=reason):
            planned(metric, NEW, OLD, sizes=(5,), simulations=100)


def test_a_hundred_simulations_are_the_fewest_and_their_error_is_stated() -> None:
    with pytest.raises(InputError, match="simulations: 99 is below 100"):
        planned(recall, NEW, OLD, sizes=(40,), simulations=99)
    plan = planned(recall, NEW, OLD, sizes=(40,), simulations=100)
    simulated = next(
        assumption for assumption in plan.assumptions if assumption.code == "power_simulated"
    )
    assert simulated.values == {
        "error": pytest.approx(0.098),
        "simulations": 100,
    }  # 1.96 * 0.5 / 10


@pytest.mark.parametrize(("lost", "power"), [(0, 0.5), (2, 0.51)])
def test_the_standard_error_is_that_of_a_sample(lost: int, power: float) -> None:
    drawn = np.linspace(-1, 1, 100)
    sample, other = drawn.std(ddof=1), drawn.std(ddof=lost)
    margin = stats.norm.ppf(0.975) * (sample + other) / 2  # between the two, at a difference of 0

    def metric(of: LabelledCohort, weight: np.ndarray) -> np.ndarray:
        return drawn[: len(weight)] + 1 / 99 if of is NEW else np.zeros(len(weight))

    plan = planned(
        metric,
        NEW,
        OLD,
        sizes=(5,),
        simulations=100,
        margin=float(margin),
    )
    assert plan.curve[0].value == power


def test_a_size_of_nothing_is_none() -> None:
    for sizes in ((0, 5), (-1,), ()):
        with pytest.raises(InputError, match="are not ascending positive numbers"):
            planned(recall, NEW, OLD, sizes=sizes, simulations=100)


def test_two_test_sets_with_a_value_are_the_fewest() -> None:
    def defined_in(count: int) -> Callable[[LabelledCohort, np.ndarray], np.ndarray]:
        def metric(of: LabelledCohort, weight: np.ndarray) -> np.ndarray:
            rows = np.arange(len(weight))
            return np.where(rows < count, rows + float(of is NEW), np.nan)

        return metric

    for count in (2, 3):
        plan = planned(defined_in(count), NEW, OLD, sizes=(5,), simulations=100)
        assert plan.curve[0].value == 1.0
    with undefined(match="the metric is undefined in test sets of 5 patients"):
        planned(defined_in(1), NEW, OLD, sizes=(5,), simulations=100)


def test_a_difference_at_the_margin_fails_and_a_power_just_met_suffices() -> None:
    equal = planned(recall, NEW, NEW, sizes=(5,), simulations=100)
    assert equal.curve[0].value == 0.0  # never above 0

    def half(of: LabelledCohort, weight: np.ndarray) -> np.ndarray:
        # 1 in every other set: 1 - 1.96 * 0.5025 is above 0
        return np.arange(len(weight)) % 2 + 0.0 if of is NEW else np.zeros(len(weight))

    plan = planned(half, NEW, OLD, sizes=(5,), simulations=100, power=0.5)
    assert (plan.curve[0].value, plan.answer) == (0.5, 5)


def test_a_thousand_test_sets_are_drawn_by_default() -> None:
    plan = planned(recall, NEW, OLD, sizes=(5,))
    simulated = next(
        assumption for assumption in plan.assumptions if assumption.code == "power_simulated"
    )
    assert simulated.values["simulations"] == 1000
