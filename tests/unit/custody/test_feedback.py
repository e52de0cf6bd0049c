"""Feedback: named metrics in steps, bounds rounded down, warnings from the second evaluation on."""

from typing import Any

import pytest

from builders.sentences import sentence
from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import AlgorithmSummary, ReferenceSummary, RuleSummary
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import load_protocol
from nodulebench.core.results import Estimate, GuardedInterval
from nodulebench.custody.adaptive_reuse import Answers
from nodulebench.custody.feedback import (
    BudgetStatus,
    budget_statement,
    corrected,
    corrected_metrics,
    feedback,
    metric_named,
)
from nodulebench.custody.policy import Reuse
from nodulebench.i18n.translator import in_english

VERDICT = Answers(2, stops_when_passed=True)


def document(**metrics: Estimate | dict[str, Estimate]) -> Document:
    return Document(
        version="0.1.0",
        digests={"protocol": "sha256:1", "reference": "sha256:2"},
        protocol=load_protocol("luna16"),
        reference=ReferenceSummary("set", 4),
        notices=(),
        algorithms=(
            AlgorithmSummary("a", "sha256:0", {}, (), {"luna16": RuleSummary(metrics=metrics)}),
        ),
    )


def interval(value: float, error: float) -> Estimate:
    half = 1.959964 * error
    return Estimate(value, value - half, value + half, 0.95)


def untold(code: str) -> dict[str, Any]:
    return {"value": None, "reason": {"code": code, "values": {}}}


def rounded_answer(step: float, used: int, metric: Estimate) -> dict[str, Any]:
    reuse = Reuse(
        feedback="rounded", metrics=("luna16.recall",), step=step, evaluations_per_developer=3
    )
    standing = BudgetStatus(used, 3, VERDICT)
    answer: dict[str, Any] = feedback(document(recall=metric), reuse, standing)
    shown: dict[str, Any] = answer["metrics"]["luna16.recall"]
    return shown


def test_a_value_is_rounded_and_its_bound_is_rounded_down() -> None:
    # 0.837 - 1.96 * 0.02 = 0.7978
    assert rounded_answer(0.05, 1, interval(0.837, 0.02)) == {"value": 0.85, "bound": 0.75}
    assert rounded_answer(0.01, 1, interval(0.837, 0.02)) == {"value": 0.84, "bound": 0.79}


def test_a_later_evaluation_has_a_lower_bound() -> None:
    # third evaluation, Bonferroni: z(1 - 0.025 / 3) = 2.3940; about 0.837 - 2.394 * 0.02 = 0.7891
    assert rounded_answer(0.001, 3, interval(0.837, 0.02)) == {"value": 0.837, "bound": 0.788}


def test_the_bound_of_a_first_evaluation_is_that_of_the_interval() -> None:
    """Half a symmetric width below the value it was 0.55, where the interval starts at 0.158."""
    assert rounded_answer(0.001, 1, Estimate(1.0, 0.158, 1.0, 0.95)) == {
        "value": 1.0,
        "bound": 0.158,
    }


def test_the_sound_interval_gives_the_bound_not_the_official_one() -> None:
    official = Estimate(1.0, 1.0, 1.0, 0.95, sound=GuardedInterval(0.25, 1.0))
    assert rounded_answer(0.05, 1, official) == {"value": 1.0, "bound": 0.25}


def test_a_metric_that_is_better_when_lower_has_an_upper_bound() -> None:
    """A miss rate of 0 to 0.842 had the bound -0.42."""
    reuse = Reuse(feedback="rounded", metrics=("luna16.miss_rate",), step=0.05)
    whole = document(miss_rate=Estimate(0.0, 0.0, 0.842, 0.95))
    standing = BudgetStatus(1, 1, VERDICT)
    answer = feedback(whole, reuse, standing, lambda metric: metric == "miss_rate")
    assert answer["metrics"]["luna16.miss_rate"] == {"value": 0.0, "bound": 0.85, "side": "upper"}
    for_lab = corrected_metrics(whole, standing, lambda metric: metric == "miss_rate")
    assert (for_lab["luna16.miss_rate"]["bound"], for_lab["luna16.miss_rate"]["side"]) == (
        0.842,
        "upper",
    )


def test_no_bound_of_a_share_is_negative() -> None:
    whole = document(recall=Estimate(0.3, 0.05, 0.6, 0.95))
    corrected_values = corrected_metrics(whole, BudgetStatus(5, 5, Answers(20)))
    assert 0 <= corrected_values["luna16.recall"]["bound"] < 0.001


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Estimate(None, reason=sentence("no nodule in scan7")), untold("undisclosed_undefined")),
        (Estimate(3.2), untold("not_a_share")),
        (Estimate(-0.4), untold("not_a_share")),
        (Estimate(0.5), {"value": 0.5}),
        (interval(0.01, 0.3), {"value": 0.0, "bound": 0.0}),
    ],
)
def test_no_other_answers_can_be_given(metric: Estimate, expected: dict[str, Any]) -> None:
    assert rounded_answer(0.05, 1, metric) == expected


def test_nothing_but_the_named_metrics_is_reported() -> None:
    reuse = Reuse(feedback="rounded", metrics=("luna16.recall",))
    whole = document(recall=Estimate(0.5), cpm=Estimate(0.123456))
    answer = feedback(whole, reuse, BudgetStatus(1, 1, VERDICT))
    assert set(answer["metrics"]) == {"luna16.recall"}
    assert "0.123456" not in str(answer)
    assert "sha256:2" not in str(answer)


def test_a_metric_at_a_point_is_named_with_it() -> None:
    whole = document(sensitivity_at_fp_rate={"0.125": Estimate(0.4), "1": Estimate(0.7)})
    assert metric_named(whole, "luna16.sensitivity_at_fp_rate@1") == Estimate(0.7)
    with pytest.raises(InputError, match=r"policy metric 'luna16.f1': is not in the evaluation\."):
        metric_named(whole, "luna16.f1")


def test_a_first_evaluation_carries_no_warning() -> None:
    assert budget_statement(BudgetStatus(1, 3, VERDICT)) == {"used": 1, "allowed": 3}


def test_a_third_evaluation_says_what_it_does_to_a_claim() -> None:
    statement = budget_statement(BudgetStatus(3, 3, VERDICT))
    assert in_english(statement["warning"]) == (
        "This is evaluation 3 of the same cases. On average, the best of 3 equally good "
        "submissions is up to 0.85 standard errors too good. A lower bound therefore needs 2.39 "
        "standard errors instead of 1.96."
    )


def test_the_lab_sees_every_corrected_metric() -> None:
    whole = document(recall=interval(0.8, 0.03), cpm=Estimate(0.5), f1=Estimate(None))
    corrected_values = corrected_metrics(whole, BudgetStatus(2, 3, Answers(None)))
    assert set(corrected_values) == {"luna16.recall"}
    recall = corrected_values["luna16.recall"]
    assert recall["standard_error"] == pytest.approx(0.03, rel=1e-6)
    assert recall["optimism"] == pytest.approx(0.03 * 0.56419, rel=1e-4)
    assert recall["bound"] is None
    assert "no bound is valid" in in_english(recall["reason"])


def test_a_first_evaluation_after_a_failure_says_what_that_does_to_a_claim() -> None:
    answers = Answers(2, stops_when_passed=True, has_failed=True)
    statement = budget_statement(BudgetStatus(1, 2, answers))
    # two hypotheses at one-sided 97.5 %: 0.0125 in the tail
    assert statement["bound_standard_errors"] == 2.2414
    assert "which also gives information" in in_english(statement["warning"])
    assert budget_statement(BudgetStatus(1, 2, VERDICT)) == {"used": 1, "allowed": 2}


def test_bounds_at_0_count_as_they_are() -> None:
    low = corrected(Estimate(0.3, 0.0, 0.6, 0.95), BudgetStatus(1, 1, VERDICT))
    assert low["standard_error"] == pytest.approx(0.6 / (2 * 1.959964), rel=1e-6)
    assert low["bound"] == 0.0
    high = corrected(Estimate(-0.3, -0.6, 0.0, 0.95), BudgetStatus(1, 1, VERDICT), is_upper=True)
    assert high["standard_error"] == pytest.approx(0.6 / (2 * 1.959964), rel=1e-6)
    assert (high["value"], high["bound"], high["side"]) == (-0.3, 0.0, "upper")
    none = corrected(Estimate(0.0, -0.1, 0.1, 0.95), BudgetStatus(1, 1, VERDICT))
    assert (none["value"], none["bound"]) == (0.0, -0.1)


def test_the_standard_error_is_that_of_the_interval_s_own_level() -> None:
    corrected_values = corrected(Estimate(0.5, 0.4, 0.6, 0.9), BudgetStatus(1, 1, VERDICT))
    assert corrected_values["standard_error"] == pytest.approx(0.1 / 1.644854, rel=1e-6)


def test_a_later_bound_of_a_metric_that_is_never_negative_is_none_either() -> None:
    assert corrected(Estimate(0.3, 0.0, 0.6, 0.95), BudgetStatus(3, 3, VERDICT))["bound"] == 0.0
    signed = corrected(Estimate(0.3, -0.2, 0.8, 0.95), BudgetStatus(3, 3, VERDICT))
    # z(1 - 0.025 / 3) / z(1 - 0.025) = 2.3940 / 1.9600
    assert signed["bound"] == pytest.approx(0.3 - 0.5 * 2.393980 / 1.959964, abs=1e-5)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-0.25, 0.0), (-0.2501, None), (1.25, 1.0), (1.2501, None), (0.0, 0.0), (1.0, 1.0)],
)
def test_what_rounds_to_a_share_is_reported_as_one(value: float, shown: float | None) -> None:
    answer = rounded_answer(0.5, 1, Estimate(value))
    assert answer == ({"value": shown} if shown is not None else untold("not_a_share"))


def test_an_upper_bound_is_rounded_up_and_never_above_1() -> None:
    for step, high, bound in ((0.3, 0.95, 1.0), (0.3, 0.55, 0.6), (0.25, 0.75, 0.75)):
        reuse = Reuse(feedback="rounded", metrics=("luna16.miss_rate",), step=step)
        whole = document(miss_rate=Estimate(0.3, 0.1, high, 0.95))
        answer = feedback(whole, reuse, BudgetStatus(1, 1, VERDICT), lambda _: True)
        assert answer["metrics"]["luna16.miss_rate"]["bound"] == bound


def test_a_warning_compares_with_the_usual_bound() -> None:
    answers = Answers(2, stops_when_passed=True, has_failed=True)
    for standing in (BudgetStatus(1, 2, answers), BudgetStatus(3, 3, VERDICT)):
        values = budget_statement(standing)["warning"]["values"]
        assert values["usual"] == pytest.approx(1.959964, abs=1e-6)


def test_what_a_later_evaluation_needs_is_reported_to_four_digits() -> None:
    statement = budget_statement(BudgetStatus(3, 3, VERDICT))
    assert statement["bound_standard_errors"] == 2.394  # z(1 - 0.025 / 3) = 2.39398
    assert statement["optimism_standard_errors"] == 0.8463  # 3 / (2 sqrt pi) = 0.84628
