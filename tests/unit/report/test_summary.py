"""The answer: one sentence that agrees with the numbers next to it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.evaluation import algorithm_result, evaluation
from builders.report import compared, difference, plan, typed
from nodulebench.core.documents.evaluation import Document, evaluation_document
from nodulebench.core.results import AlgorithmResult
from nodulebench.i18n.numbers import with_interval
from nodulebench.i18n.translator import translator
from nodulebench.report.summary import answer

ALPHA = algorithm_result("Alpha", (90, 66))
BETA = algorithm_result("Beta", (84, 70))
TRANSLATE = translator()
HALF_WIDTH = 0.02
"""Of the interval of every difference that `difference` builds."""


def summary(*algorithms: AlgorithmResult, **fields: Any) -> str:
    return " ".join(answer(evaluation_document(evaluation(*algorithms, **fields)), TRANSLATE))


def test_one_algorithm_is_summarised_with_its_test_set() -> None:
    assert summary(ALPHA) == (
        "Alpha reaches a CPM of 0.675 (0.645–0.705): its mean sensitivity at 1/8 to 8 false "
        "positives per case, on 120 nodules in 40 cases of phantoms."
    )


def test_without_scores_the_summary_is_recall_under_the_baseline_rule() -> None:
    plain = algorithm_result("Alpha", (90, 66), has_scores=False)
    assert summary(plain) == (
        "Alpha finds 90 of 120 nodules in 40 cases of phantoms: recall 0.750 (0.720–0.780) at "
        "2.500 false positives per case."
    )
    assert summary(plain, baseline_rule="area_overlap").startswith("Alpha finds 66 of 120 nodules")


def test_algorithms_that_were_not_compared_are_named_as_such() -> None:
    assert summary(ALPHA, BETA) == (
        "By CPM the highest of 2 algorithms is Alpha with 0.675 (0.645–0.705) and the lowest Beta "
        "with 0.630 (0.600–0.660). Whether this difference is larger than chance was not tested."
    )


def test_equal_algorithms_are_called_equal() -> None:
    assert summary(ALPHA, algorithm_result("Twin", (90, 66))) == (
        "All algorithms have the same CPM, 0.675."
    )


def test_algorithms_that_share_the_first_place_are_all_named() -> None:
    text = summary(ALPHA, algorithm_result("Twin", (90, 66)), BETA)
    assert "the highest of 3 algorithms is Alpha and Twin with 0.675" in text


@pytest.mark.parametrize(
    ("value", "p", "sentence"),
    [
        (0.094, 0.02, "Alpha finds more than Beta: CPM +0.094 (+0.074 … +0.114), P 0.0200."),
        (-0.094, 0.02, "Alpha finds fewer than Beta: CPM −0.094 (−0.114 … −0.074), P 0.0200."),
        (
            0.01,
            0.4,
            "No difference between Alpha and Beta was shown: CPM +0.010 (−0.010 … +0.030), "
            "P 0.4000.",
        ),
    ],
)
def test_two_compared_algorithms_are_summarised_by_their_difference(
    value: float, p: float, sentence: str
) -> None:
    assert answer(with_difference(value, p), TRANSLATE) == [sentence]


def with_difference(value: float, p: float) -> Document:
    row = difference("Alpha", value, p) | {"adjusted_p_value": {"holm": p}}
    document = evaluation_document(evaluation(ALPHA, BETA))
    return document.with_comparison(compared(baseline="Beta", differences=[row]))


@pytest.mark.slow
@given(st.floats(-1, 1).filter(bool), st.floats(0, 1))
def test_a_difference_is_claimed_only_where_the_interval_and_the_p_value_show_it(
    value: float, p: float
) -> None:
    (text,) = answer(with_difference(value, p), TRANSLATE)
    is_shown = abs(value) > HALF_WIDTH and p <= 1 - 0.95
    assert ("finds more than" in text) == (value > 0 and is_shown)
    assert ("finds fewer than" in text) == (value < 0 and is_shown)
    assert ("No difference" in text) == (not is_shown)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [("passed", "is met by"), ("failed", "is not met by"), ("undecided", "gives no verdict on")],
)
def test_the_verdict_comes_first(verdict: str, words: str) -> None:
    first, second = answer(with_verdict(verdict, ALPHA), TRANSLATE)
    assert first == f"The plan “pivotal test” {words} Alpha."
    assert second.startswith("Alpha reaches a CPM")


def test_algorithms_are_summarised_by_their_verdicts() -> None:
    verdicts = {"Alpha": "passed", "Beta": "failed"}
    assert answer(with_verdict("failed", ALPHA, BETA, verdicts=verdicts), TRANSLATE)[:2] == [
        "The plan “pivotal test” is met by Alpha.",
        "The plan “pivotal test” is not met by Beta.",
    ]


def with_verdict(verdict: str, *algorithms: AlgorithmResult, **changes: Any) -> Document:
    content = evaluation_document(evaluation(*algorithms)).to_json()
    return typed(content | {"plan": plan(verdict=verdict, **changes)})


HEIGHTS = st.lists(st.integers(1, 120), min_size=2, max_size=6)


@given(HEIGHTS)
def test_the_extremes_are_those_of_the_metrics(hits: list[int]) -> None:
    results = [algorithm_result(f"A{number}", (hit, hit)) for number, hit in enumerate(hits)]
    text = summary(*results)
    values = {result.name: result.rules["center_hit"].metrics["cpm"].value for result in results}
    high, low = max(values.values()), min(values.values())
    if high == low:
        assert text.startswith("All algorithms have the same CPM")
        return
    best, worst = text.split(" and the lowest ")
    metrics = {result.name: result.rules["center_hit"].metrics["cpm"] for result in results}
    for name, value in values.items():
        assert (f" {name}" in best.split(" with ")[0]) == (value == high)
        assert (name in worst.split(" with ")[0]) == (value == low)
    assert with_interval(metrics[max(values, key=lambda name: values[name])]) in best


def test_undefined_results_have_no_sentence() -> None:
    document = evaluation_document(evaluation(ALPHA))
    why = next(iter(document.algorithms[0].rules.values()))
    unfit = replace(why, undefined=ALPHA.rules["center_distance"].undefined)
    nothing = replace(document.algorithms[0], rules={"center_hit": unfit})
    assert answer(replace(document, algorithms=(nothing,)), TRANSLATE) == []
