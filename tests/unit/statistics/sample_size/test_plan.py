import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodulebench.errors import InputError
from nodulebench.language import LANGUAGES, LanguageName, english, language
from nodulebench.language.notices import UNTOLD
from nodulebench.statistics.sample_size.acceptance import size_for_acceptance
from nodulebench.statistics.sample_size.auc import size_for_auc, size_for_auc_difference
from nodulebench.statistics.sample_size.false_positives import (
    size_for_false_positive_limit,
    size_for_false_positives,
)
from nodulebench.statistics.sample_size.paired import size_for_paired_detection
from nodulebench.statistics.sample_size.plan import Plan, curve_around, smallest_size
from nodulebench.statistics.sample_size.sensitivity import size_for_sensitivity


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
    assert all(english(one).endswith(".") for one in plan.assumptions)
    assert english(plan.question).endswith("?")
    if plan.curve_name == "power":
        assert value_at(plan, plan.answer) >= 0.8
        assert plan.curve[0].value < 0.8
    else:
        assert plan.curve[0].value > plan.curve[-1].value


@pytest.mark.parametrize("name", LANGUAGES)
def test_no_value_of_a_question_or_an_assumption_is_left_out(name: LanguageName) -> None:
    told = [one for plan in PLANS for one in (plan.question, *plan.assumptions)]
    said = [language(name).message(one) for one in told]
    assert [words for words in said if re.search(UNTOLD + r"|[][{}]", words)] == []
    assert [words[-1] for words in said if words[-1] not in ".?。？"] == []


@settings(max_examples=50)
@given(st.integers(2, 5000))
def test_the_search_finds_the_first_size_that_suffices(first: int) -> None:
    assert smallest_size(lambda size: size >= first) == first


def test_a_demand_that_no_size_meets_is_told() -> None:
    with pytest.raises(InputError, match="no size up to 1000000 suffices"):
        smallest_size(lambda _: False)


def test_a_curve_never_goes_below_its_smallest_size() -> None:
    assert [point.size for point in curve_around(3, float, smallest=2)] == [2, 3, 4, 5, 6]


def test_a_curve_leads_from_a_quarter_of_the_answer_to_its_double() -> None:
    sizes = [point.size for point in curve_around(80, float)]
    assert sizes == [20, 30, 40, 50, 60, 70, 80, 100, 120, 160]
