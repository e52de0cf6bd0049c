import math
import re
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodulebench.core.errors import InputError
from nodulebench.i18n.translator import LANGUAGES, UNDISCLOSED, LanguageName, in_english, translator
from nodulebench.statistics.delong import hanley_mcneil_standard_error
from nodulebench.statistics.sample_size.auc import size_for_auc, size_for_auc_difference
from nodulebench.statistics.sample_size.comparisons import size_for_paired_detection
from nodulebench.statistics.sample_size.false_positives import (
    size_for_false_positive_limit,
    size_for_false_positives,
)
from nodulebench.statistics.sample_size.proportions import size_for_acceptance, size_for_sensitivity
from nodulebench.statistics.sample_size.result import (
    Plan,
    check_between,
    check_range,
    curve_around,
    smallest_size,
)


def value_at(plan: Plan, size: int | None) -> float:
    return next(point.value for point in plan.curve if point.size == size)


PLANS = (
    size_for_sensitivity(sensitivity=0.85, half_width=0.05),
    size_for_acceptance(unacceptable=0.8, expected=0.9),
    size_for_false_positives(rate=2.0, half_width=0.2),
    size_for_false_positive_limit(unacceptable=2.0, expected=1.0),
    size_for_paired_detection(difference=0.1, discordance=0.2),
    size_for_auc(auc=0.9, half_width=0.05),
    size_for_auc_difference(baseline=0.7, expected=0.75, correlation=0.3),
)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.method.code)
def test_every_plan_has_its_answer_on_the_curve_and_its_assumptions_in_words(plan: Plan) -> None:
    sizes = [point.size for point in plan.curve]
    assert sizes == sorted(set(sizes))
    assert plan.answer in sizes
    assert all(in_english(assumption).endswith(".") for assumption in plan.assumptions)
    assert in_english(plan.question).endswith("?")
    if plan.curve_name == "power":
        assert value_at(plan, plan.answer) >= 0.8
        assert plan.curve[0].value < 0.8
    else:
        assert plan.curve[0].value > plan.curve[-1].value


@pytest.mark.parametrize("name", LANGUAGES)
def test_no_value_of_a_question_or_an_assumption_is_left_out(name: LanguageName) -> None:
    notices = [assumption for plan in PLANS for assumption in (plan.question, *plan.assumptions)]
    texts = [translator(name).message(notice) for notice in notices]
    assert [words for words in texts if re.search(UNDISCLOSED + r"|[][{}]", words)] == []
    assert [words[-1] for words in texts if words[-1] not in ".?。？"] == []


@settings(max_examples=50)
@given(st.integers(2, 5000))
def test_the_search_finds_the_first_size_that_suffices(first: int) -> None:
    assert smallest_size(lambda size: size >= first) == first


def test_a_demand_that_no_size_meets_is_refused() -> None:
    with pytest.raises(InputError, match="no size up to 1000000 suffices"):
        smallest_size(lambda _: False)


def test_a_curve_never_goes_below_its_smallest_size() -> None:
    assert [point.size for point in curve_around(3, float, smallest=2)] == [2, 3, 4, 5, 6]


def test_a_curve_leads_from_a_quarter_of_the_answer_to_its_double() -> None:
    sizes = [point.size for point in curve_around(80, float)]
    assert sizes == [20, 30, 40, 50, 60, 70, 80, 100, 120, 160]


OPEN = "is not above 0 and below 1."
ABOVE_0 = "is not above 0 and below inf."
AREA = "is not above 0.5 and below 1."
RIGHT: dict[Callable[..., Plan], dict[str, float]] = {
    size_for_sensitivity: {"sensitivity": 0.85, "half_width": 0.05},
    size_for_acceptance: {"unacceptable": 0.8, "expected": 0.9},
    size_for_false_positives: {"rate": 2.0, "half_width": 0.2},
    size_for_false_positive_limit: {"unacceptable": 2.0, "expected": 1.0},
    size_for_paired_detection: {"difference": 0.1, "discordance": 0.2},
    size_for_auc: {"auc": 0.9, "half_width": 0.05},
    size_for_auc_difference: {"baseline": 0.7, "expected": 0.75, "correlation": 0.3},
}


@pytest.mark.parametrize(
    ("asked", "setting", "name", "limits"),
    [
        (size_for_sensitivity, "sensitivity", "sensitivity", OPEN),
        (size_for_sensitivity, "half_width", "half-width", OPEN),
        (size_for_sensitivity, "level", "level", OPEN),
        (size_for_acceptance, "unacceptable", "unacceptable sensitivity", OPEN),
        (size_for_acceptance, "expected", "expected sensitivity", OPEN),
        (size_for_acceptance, "alpha", "alpha", OPEN),
        (size_for_acceptance, "power", "power", OPEN),
        (size_for_false_positives, "rate", "rate", ABOVE_0),
        (size_for_false_positives, "half_width", "half-width", ABOVE_0),
        (size_for_false_positives, "dispersion", "dispersion", "is not between 0 and inf."),
        (size_for_false_positive_limit, "unacceptable", "unacceptable rate", ABOVE_0),
        (size_for_false_positive_limit, "expected", "expected rate", ABOVE_0),
        (size_for_false_positive_limit, "alpha", "alpha", OPEN),
        (size_for_false_positive_limit, "power", "power", OPEN),
        (size_for_false_positive_limit, "dispersion", "dispersion", "is not between 0 and inf."),
        (size_for_paired_detection, "discordance", "discordance", OPEN),
        (size_for_paired_detection, "alpha", "alpha", OPEN),
        (size_for_paired_detection, "power", "power", OPEN),
        (
            size_for_paired_detection,
            "nodules_per_patient",
            "nodules per patient",
            "is not between 1 and inf.",
        ),
        (
            size_for_paired_detection,
            "nodules_sd",
            "standard deviation of nodules per patient",
            "is not between 0 and inf.",
        ),
        (
            size_for_paired_detection,
            "correlation",
            "correlation within patients",
            "is not between 0 and 1.",
        ),
        (size_for_auc, "auc", "auc", AREA),
        (size_for_auc, "half_width", "half-width", OPEN),
        (size_for_auc, "negatives_per_positive", "negatives per positive", ABOVE_0),
        (size_for_auc_difference, "baseline", "baseline area", AREA),
        (size_for_auc_difference, "expected", "expected area", AREA),
        (size_for_auc_difference, "correlation", "correlation", "is not between 0 and 0.999."),
        (size_for_auc_difference, "negatives_per_positive", "negatives per positive", ABOVE_0),
        (size_for_auc_difference, "alpha", "alpha", OPEN),
        (size_for_auc_difference, "power", "power", OPEN),
    ],
)
def test_every_setting_has_its_limits_and_they_are_stated(
    asked: Callable[..., Plan], setting: str, name: str, limits: str
) -> None:
    with pytest.raises(InputError) as error:
        asked(**RIGHT[asked] | {setting: -7.0})
    assert str(error.value) == f"{name}: -7 {limits}"


def test_a_limit_belongs_to_a_range_and_not_to_an_open_interval() -> None:
    for value in (2.0, 3.0):
        check_range("x", value, 2, 3)
        with pytest.raises(InputError, match=rf"x: {value:g} is not above 2 and below 3\."):
            check_between("x", value, 2, 3)
    for value in (1.99, 3.01):
        with pytest.raises(InputError, match=rf"x: {value:g} is not between 2 and 3\."):
            check_range("x", value, 2, 3)


@pytest.mark.parametrize(
    ("asked", "defaults"),
    [
        (size_for_sensitivity, {"nodules_per_patient": 1.0, "level": 0.95}),
        (size_for_acceptance, {"alpha": 0.05, "power": 0.8}),
        (size_for_false_positives, {"dispersion": 0.0, "level": 0.95}),
        (size_for_false_positive_limit, {"dispersion": 0.0, "alpha": 0.05, "power": 0.8}),
        (
            size_for_paired_detection,
            {"margin": None, "nodules_per_patient": 1.0, "alpha": 0.05, "power": 0.8},
        ),
        (size_for_auc, {"negatives_per_positive": 1.0, "level": 0.95}),
        (
            size_for_auc_difference,
            {"negatives_per_positive": 1.0, "alpha": 0.05, "power": 0.8, "is_one_sided": False},
        ),
    ],
)
def test_defaults_are_the_usual_values(
    asked: Callable[..., Plan], defaults: dict[str, Any]
) -> None:
    assert asked(**RIGHT[asked]) == asked(**RIGHT[asked], **defaults)


def assumptions_of(plan: Plan) -> dict[str, dict[str, Any]]:
    return {assumption.code: dict(assumption.values) for assumption in plan.assumptions}


def test_the_planned_test_is_stated_with_its_sides() -> None:
    apart = {"difference": 0.1, "discordance": 0.2}
    assert assumptions_of(size_for_paired_detection(**apart))["test_sided"] == {
        "sides": 2,
        "alpha": 0.05,
    }
    assert size_for_paired_detection(**apart).method.code == "mcnemar_connor"
    close = size_for_paired_detection(**apart, margin=0.05, alpha=0.1)
    assert assumptions_of(close)["test_sided"] == {"sides": 1, "alpha": 0.05}
    assert close.method.code == "paired_non_inferiority"
    areas = RIGHT[size_for_auc_difference]
    for is_one_sided, sides in ((True, 1), (False, 2)):
        plan = size_for_auc_difference(**areas, is_one_sided=is_one_sided)
        assert assumptions_of(plan)["test_sided"] == {"sides": sides, "alpha": 0.05}


def test_half_an_alpha_on_one_side_is_an_alpha_on_two() -> None:
    areas = RIGHT[size_for_auc_difference]
    two = size_for_auc_difference(**areas, alpha=0.1)
    plan = size_for_auc_difference(**areas, alpha=0.05, is_one_sided=True)
    assert two.curve == plan.curve


def test_a_whole_number_is_not_rounded_up() -> None:
    # d = z sqrt(p (1 - p) / 100): 100 nodules, not 101; and 120 on 1.2 a patient are 100 patients
    for share in (0.1, 0.2, 0.3, 0.4):
        wanted = NormalDist().inv_cdf(0.975) * math.sqrt(share * (1 - share) / 120)
        plan = size_for_sensitivity(
            sensitivity=share,
            half_width=wanted,
            nodules_per_patient=1.2,
            nodules_sd=0,
            correlation=0,
        )
        assert plan.answer == plan.details["independent_nodules"] == 120
        assert plan.details["patients"] == 100
    single = size_for_paired_detection(difference=0.1, discordance=0.2)
    assert single.details["patients"] == single.answer == 155
    ratio = size_for_auc(auc=0.9, half_width=0.05, negatives_per_positive=3)
    assert ratio.details["negatives"] == 3 * (ratio.answer or 0)
    wanted = NormalDist().inv_cdf(0.975) * math.sqrt(2 / 90)
    assert size_for_false_positives(rate=2.0, half_width=wanted).answer == 90


@pytest.mark.parametrize("asked", RIGHT, ids=lambda function: function.__name__)
def test_who_asks_for_exactly_what_a_size_gives_gets_that_size(asked: Callable[..., Plan]) -> None:
    plan = asked(**RIGHT[asked])
    given = value_at(plan, plan.answer)
    again = asked(**RIGHT[asked] | {plan.curve_name: given})
    assert again.answer == plan.answer


def test_curves_of_half_widths_are_those_of_the_normal_law() -> None:
    z = NormalDist().inv_cdf(0.975)
    clustered = size_for_sensitivity(
        sensitivity=0.8, half_width=0.05, nodules_per_patient=2, nodules_sd=0, correlation=0.5
    )
    for point in clustered.curve:  # design effect 1.5
        assert point.value == pytest.approx(z * math.sqrt(0.16 * 1.5 / point.size))
    for point in size_for_auc(auc=0.9, half_width=0.05).curve:
        error = hanley_mcneil_standard_error(0.9, point.size, point.size)
        assert point.value == pytest.approx(z * error)


def test_two_are_the_fewest_that_are_tried_and_drawn() -> None:
    tried: list[int] = []
    assert smallest_size(lambda size: tried.append(size) is None) == 2
    assert min(tried) == 2
    assert [point.size for point in curve_around(2, float)] == [2, 3, 4]
    assert [point.size for point in curve_around(2, float, smallest=1)] == [1, 2, 3, 4]
