"""Sentences: what the numbers say, and no more."""

from collections import Counter
from dataclasses import replace
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from builders.evaluation import algorithm_result, difference, evaluation, stratum
from builders.report import typed
from builders.sentences import sentence
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.protocol import IntervalChoice
from nodulebench.core.results import AlgorithmResult, RuleResult, Stratum
from nodulebench.i18n.translator import translator
from nodulebench.report.summary import about_intervals, hardest, paragraphs

ALPHA = algorithm_result("Alpha", (90, 66))
BETA = algorithm_result("Beta", (84, 70))
GAMMA = algorithm_result("Gamma", (40, 70))
RESULT = ALPHA.rules["center_hit"]


def summary(*algorithms: AlgorithmResult, **fields: Any) -> str:
    return "\n".join(
        paragraphs(evaluation_document(evaluation(*algorithms, **fields)), translator())
    )


def test_algorithm_that_no_rule_fits_is_named_with_the_reason() -> None:
    why = sentence("the marks are points")
    rules = {"center_hit": RuleResult("center_hit", {}, {}, {}, undefined=why)}
    text = summary(AlgorithmResult("Alpha", "", rules, pl.DataFrame()))
    assert "No rule could be applied to Alpha: the marks are points." in text


def test_highest_and_lowest_rule_are_named_with_their_difference() -> None:
    assert (
        "What counts as a hit matters for Alpha: recall is highest under center hit (0.750) and "
        "lowest under area overlap (0.550); measured against center hit, area overlap gives "
        "26.7\N{NO-BREAK SPACE}% fewer hits." in summary(ALPHA)
    )
    assert "area overlap gives 75.0\N{NO-BREAK SPACE}% more hits" in summary(GAMMA)


def test_rules_that_agree_are_named() -> None:
    text = summary(algorithm_result("Alpha", (90, 90)))
    assert "The number of hits of Alpha does not depend on the rule: recall is 0.750" in text


def test_algorithm_that_depends_most_on_the_rule_is_named() -> None:
    text = summary(ALPHA, BETA, GAMMA)
    assert (
        "The rule matters most for Gamma: area overlap gives 75.0\N{NO-BREAK SPACE}% more hits"
        in text
    )


def test_no_base_hits_leave_the_relative_difference_out() -> None:
    none = replace(ALPHA, rule_differences=[difference("center_hit", "area_overlap", 0, 66)])
    assert "measured against" not in summary(none)


def test_rules_that_tie_are_all_named() -> None:
    content = evaluation_document(evaluation(ALPHA)).to_json()
    rules = content["algorithms"][0]["rules"]
    rules["another"] = rules["center_hit"]
    text = "\n".join(paragraphs(typed(content), translator()))
    assert "recall is highest under center hit and another (0.750)" in text


def test_no_algorithm_depends_most_on_the_rule_where_two_do() -> None:
    assert "The rule matters most" not in summary(ALPHA, algorithm_result("Twin", (90, 66)), BETA)


def test_hardest_stratum_is_named_with_those_too_small_to_be_ranked() -> None:
    assert (
        "Nodules of type pure ground-glass are missed most often, 40 of 46: 0.870 (0.840–0.900) "
        "(too few to rank, below 10: calcified)." in summary(ALPHA)
    )


def test_hardest_stratum_over_several_algorithms_is_counted() -> None:
    assert (
        "Nodules of type pure ground-glass are missed most often by every algorithm (too few to "
        "rank, below 10: calcified)." in summary(ALPHA, BETA)
    )


STRATA = st.dictionaries(
    st.sampled_from(["<4 mm", "[4, 6) mm", "[6, 10) mm", "≥10 mm"]),
    st.integers(0, 12).flatmap(
        lambda nodules: st.integers(0, nodules).map(
            lambda missed: stratum(nodules, missed, is_too_few=nodules < 5)
        )
    ),
)


@given(st.lists(STRATA, min_size=1, max_size=5))
def test_the_hardest_stratum_is_the_hardest_of_each_counted_algorithm(
    drawn: list[dict[str, Stratum]],
) -> None:
    results = [
        replace(
            ALPHA, name=f"A{number}", rules={"center_hit": replace(RESULT, strata={"size": sizes})}
        )
        for number, sizes in enumerate(drawn)
    ]
    ranked = hardest(evaluation_document(evaluation(*results)), "size")
    by_name = {result.name: result.rules["center_hit"].strata["size"] for result in results}
    agreeing = Counter(worst for strata in by_name.values() if (worst := _strict_worst(strata)))
    if ranked is None:
        rankable = sum(_is_rankable(strata) for strata in by_name.values())
        assert all(2 * times <= rankable for times in agreeing.values())
        return
    assert agreeing[ranked.worst] == len(ranked.by) > ranked.ranked / 2
    assert all(_strict_worst(by_name[name]) == ranked.worst for name in ranked.by)
    small = {
        name
        for strata in by_name.values()
        for name, part in strata.items()
        if part.nodules and part.is_too_few
    }
    assert set(ranked.left_out) == small


def _is_rankable(strata: dict[str, Stratum]) -> bool:
    return sum(not stratum.is_too_few for stratum in strata.values()) > 1


def _strict_worst(strata: dict[str, Stratum]) -> str | None:
    """By whole numbers: a / b > c / d where a * d > c * b."""
    large = {name: stratum for name, stratum in strata.items() if not stratum.is_too_few}
    return next(
        (
            name
            for name, stratum in large.items()
            if len(large) > 1
            and all(
                stratum.missed * other.nodules > other.missed * stratum.nodules
                for key, other in large.items()
                if key != name
            )
        ),
        None,
    )


def test_meaning_of_an_interval_names_level_and_unit() -> None:
    document = evaluation_document(
        evaluation(ALPHA, interval=IntervalChoice(level=0.9, unit="case"))
    )
    text = about_intervals(document, translator())
    assert "Numbers in brackets are 90\N{NO-BREAK SPACE}% confidence intervals." in text
    assert "repeated on other cases drawn from the same population" in text


def test_missing_intervals_are_explained() -> None:
    content = evaluation_document(evaluation(ALPHA)).to_json()
    for result in content["algorithms"][0]["rules"].values():
        for metric in result.get("metrics", {}).values():
            metric.pop("low", None)
    text = about_intervals(typed(content), translator())
    assert text.startswith("The numbers have no confidence intervals")
