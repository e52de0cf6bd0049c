"""Sentences: what the numbers say, and no more."""

from dataclasses import replace
from typing import Any

import polars as pl

from builders.evaluation import algorithm_result, difference, evaluation
from builders.report import typed
from nodulebench.language import language
from nodulebench.model.documents.evaluation import evaluation_document
from nodulebench.model.notice import read_notice
from nodulebench.model.protocol import IntervalChoice
from nodulebench.model.results import AlgorithmResult, RuleResult
from nodulebench.report.sections.head.narrative import paragraphs

ALPHA = algorithm_result("Alpha", (90, 66))
BETA = algorithm_result("Beta", (84, 70))
GAMMA = algorithm_result("Gamma", (40, 70))


def told(*algorithms: AlgorithmResult, **fields: Any) -> str:
    return "\n".join(paragraphs(evaluation_document(evaluation(*algorithms, **fields)), language()))


def test_performance_is_told_with_counts_and_intervals() -> None:
    assert told(ALPHA).startswith(
        "With all its marks counted, Alpha hit 90 of 120 nodules in 40 cases under the rule center "
        "hit: recall 0.750 (0.720–0.780) at 2.500 false positives per case. Over the operating "
        "points from 1/8 to 8 false positives per case its mean sensitivity (CPM) is 0.675 "
        "(0.645–0.705); at 1 false positive per case it is 0.473 (0.443–0.503)."
    )


def test_baseline_rule_leads() -> None:
    assert "Alpha hit 66 of 120 nodules in 40 cases under the rule area overlap" in told(
        ALPHA, baseline_rule="area_overlap"
    )


def test_without_scores_no_mean_sensitivity_is_told() -> None:
    text = told(algorithm_result("Alpha", (90, 66), has_scores=False))
    assert "CPM" not in text
    assert "recall 0.750" in text


def test_algorithm_that_no_rule_fits_is_told_with_the_reason() -> None:
    why = read_notice("the marks are points")
    rules = {"center_hit": RuleResult("center_hit", {}, {}, {}, undefined=why)}
    text = told(AlgorithmResult("Alpha", "", rules, pl.DataFrame()))
    assert "No rule could be applied to Alpha: the marks are points." in text


def test_highest_and_lowest_rule_are_named_with_their_difference() -> None:
    assert (
        "What counts as a hit matters for Alpha: recall is highest under center hit (0.750) and "
        "lowest under area overlap (0.550); measured against center hit, area overlap gives "
        "26.7\N{NO-BREAK SPACE}% fewer hits." in told(ALPHA)
    )
    assert "area overlap gives 75.0\N{NO-BREAK SPACE}% more hits" in told(GAMMA)


def test_rules_that_agree_are_said_to_agree() -> None:
    text = told(algorithm_result("Alpha", (90, 90)))
    assert "The number of hits of Alpha does not depend on the rule: recall is 0.750" in text


def test_overlapping_intervals_are_no_ranking() -> None:
    text = told(ALPHA, BETA)
    assert "By CPM the highest is Alpha with 0.675 (0.645–0.705) and the lowest Beta" in text
    assert "Their intervals overlap." in text
    assert "Their intervals overlap." not in told(ALPHA, GAMMA)


def test_equal_algorithms_are_said_to_be_equal() -> None:
    twin = algorithm_result("Twin", (90, 66))
    assert "All algorithms have the same CPM, 0.675." in told(ALPHA, twin)


def test_algorithm_that_depends_most_on_the_rule_is_named() -> None:
    text = told(ALPHA, BETA, GAMMA)
    assert (
        "The rule matters most for Gamma: area overlap gives 75.0\N{NO-BREAK SPACE}% more hits"
        in text
    )


def test_no_base_hits_leave_the_relative_difference_out() -> None:
    none = replace(ALPHA, rule_differences=[difference("center_hit", "area_overlap", 0, 66)])
    assert "measured against" not in told(none)


def test_hardest_and_easiest_strata_are_named_without_those_too_small() -> None:
    text = told(ALPHA)
    assert (
        "It missed nodules of type pure ground-glass most often, 40 of 46: 0.870 (0.840–0.900), "
        "and of type solid least often, 20 of 70: 0.286 (0.256–0.316)." in text
    )
    assert "calcified" not in text
    assert "These two intervals overlap." not in text


def test_hardest_stratum_over_several_algorithms_is_counted() -> None:
    assert "Nodules of type pure ground-glass are those missed most often by every algorithm." in (
        told(ALPHA, BETA)
    )


def test_many_algorithms_are_told_by_their_extremes() -> None:
    many = [algorithm_result(f"A{number}", (60 + number, 50)) for number in range(6)]
    text = told(*many)
    assert "With all its marks counted" not in text
    assert "the highest is A5" in text
    assert "the lowest A0" in text


def test_meaning_of_an_interval_names_level_and_unit() -> None:
    text = told(ALPHA, interval=IntervalChoice(level=0.9, unit="case"))
    assert "Numbers in brackets are 90\N{NO-BREAK SPACE}% intervals." in text
    assert "repeated on other cases drawn from the same population" in text


def test_missing_intervals_are_said_to_be_missing() -> None:
    content = evaluation_document(evaluation(ALPHA)).to_json()
    for result in content["algorithms"][0]["rules"].values():
        for figure in result.get("figures", {}).values():
            figure.pop("low", None)
    assert paragraphs(typed(content), language())[-1].startswith(
        "The numbers stand without intervals"
    )
