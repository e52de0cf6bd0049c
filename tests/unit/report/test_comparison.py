"""Comparisons: what tells algorithms apart, with every number that belongs to it."""

import re

import pytest

from builders.evaluation import curves_of, evaluation
from builders.report import (
    compared,
    comparison,
    difference,
    group_document,
    margin_test,
    rule_effects,
)
from nodulebench.core.documents.comparison import significance_mark
from nodulebench.i18n.numbers import p_value, signed
from nodulebench.i18n.translator import translator
from nodulebench.report.blocks import Table
from nodulebench.report.comparison import (
    comparison_blocks,
    difference_chart,
    difference_sentences,
    leading_metric,
    margin_answer,
    rank_chart,
)
from nodulebench.report.html import render_html
from nodulebench.report.rules import rule_effect_blocks

TRANSLATE = translator()


def tables(blocks: list) -> dict[str, Table]:
    """The tables among blocks and below them, by their caption."""
    tables_by_caption: dict[str, Table] = {}
    for block in blocks:
        if isinstance(block, Table):
            tables_by_caption[block.caption] = block
        for inner in getattr(block, "blocks", ()):
            if isinstance(inner, Table):
                tables_by_caption[inner.caption or block.title] = inner
    return tables_by_caption


def texts(table: Table) -> list[list[str]]:
    return [
        [cell.text + (f" ({cell.bounds})" if cell.bounds else "") for cell in row]
        for row in table.rows
    ]


def document(**changes):
    return group_document(comparisons=[comparison(**changes)])


def test_difference_has_interval_p_values_and_margin() -> None:
    table = tables(comparison_blocks(document(), TRANSLATE))["Differences in CPM"]
    assert [cell.text for cell in table.heads] == [
        "Algorithm",
        "Rule",
        "Metric",
        "Value",
        "One",
        "Difference",
        "P",
        "P adjusted",
        "P permutation",
        "Margin 0.05",
    ]
    assert texts(table)[:2] == [
        ["Two", "center hit", "CPM", "0.630", "0.675", "−0.045 (−0.065 … −0.025)",
         "0.0004", "0.0008", "0.0021", "non-inferiority not shown"],
        ["Three", "center hit", "CPM", "0.663", "0.675", "−0.012 (−0.032 … +0.008)",
         "0.3000", "0.6000", "0.0021", "not inferior"],
    ]  # fmt: skip


def test_undefined_difference_is_a_dash_with_its_reason() -> None:
    table = tables(comparison_blocks(document(), TRANSLATE))["Differences in CPM"]
    assert texts(table)[2] == ["Two", "area overlap", "CPM", "–", "–", "–", "–", "–", "–", "–"]
    assert table.notes == [
        ("a", "the marks have no scores, so there is one operating point, no curve")
    ]


def test_nodules_found_by_one_only_have_mcnemars_tests() -> None:
    table = tables(comparison_blocks(document(), TRANSLATE))[
        "Nodules found by one of two: each algorithm and One"
    ]
    assert texts(table) == [
        ["Two", "center hit", "80", "4", "10", "26", "−0.050 (−0.110 … +0.010)",
         "0.1400", "0.2800", "0.1796"],
    ]  # fmt: skip


def test_leaderboard_shows_rank_intervals_and_groups() -> None:
    table = tables(comparison_blocks(document(), TRANSLATE))["Leaderboard by CPM, center hit"]
    assert texts(table) == [
        ["1", "One", "0.675", "1–1", "97.0\N{NO-BREAK SPACE}%", "1"],
        ["2", "Three", "0.663", "1–2", "3.0\N{NO-BREAK SPACE}%", "1"],
        ["3", "Two", "0.630", "3–3", "0.0\N{NO-BREAK SPACE}%", "2"],
    ]
    assert "Kendall's tau with the order in resamples: 0.910 (0.330–1.000)." in table.remark


def test_two_algorithms_have_a_sentence_each() -> None:
    assert difference_sentences(group_document(), compared(), TRANSLATE) == [
        "Against One, Two changes CPM by −0.045 (−0.065 … −0.025) under center hit (P 0.0004, "
        "adjusted 0.0008). With a margin of 0.05: non-inferiority not shown.",
        "Against One, Three changes CPM by −0.012 (−0.032 … +0.008) under center hit (P 0.3000, "
        "adjusted 0.6000). With a margin of 0.05: not inferior.",
    ]


def test_many_algorithms_are_summarised_by_clear_differences() -> None:
    many = compared(
        differences=[
            difference("A", 0.05, 0.001),
            difference("B", -0.05, 0.001),
            difference("C", 0.05, 0.03),  # adjusted 0.06
            difference("D", 0.0, 0.9),
        ]
    )
    assert difference_sentences(group_document(), many, TRANSLATE) == [
        "Of 4 algorithms, these have a higher CPM than One under center hit: A. These have a lower "
        "one: B (adjusted P ≤ 5\N{NO-BREAK SPACE}%)."
    ]


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        (None, ""),
        (margin_test(), "non-inferiority not shown"),
        (margin_test(is_non_inferior=True), "not inferior"),
        (margin_test(is_non_inferior=True, is_equivalent=True), "equivalent"),
        (margin_test(is_non_inferior=True, is_superior=True), "superior"),
    ],
)
def test_margin_is_answered_by_the_strongest_that_holds(test, answer: str) -> None:
    row = compared(differences=[difference("Two", 0.1, 0.5, margin=test)]).differences[0]
    assert margin_answer(row, TRANSLATE) == answer


def test_difference_chart_draws_intervals_and_the_margin_on_the_losing_side() -> None:
    chart = difference_chart(compared(), "center_hit", "cpm", TRANSLATE)
    assert chart is not None
    assert chart.title == "Difference in CPM from One, center hit"
    assert ">−0.045 **<" in chart.svg
    assert ">−0.012 ns<" in chart.svg
    limit, base = (
        float(re.search(rf'class="{kind}" d="M([\d.]+)', chart.svg)[1])  # type: ignore[index]
        for kind in ("limit", "base")
    )
    assert limit < base


def test_margin_is_above_zero_where_lower_is_better() -> None:
    worse = difference("Two", 0.5, 0.2, metric="fp_per_case", margin=margin_test())
    chart = difference_chart(
        compared(differences=[worse | {"better": "lower"}]), "center_hit", "fp_per_case", TRANSLATE
    )
    assert chart is not None
    limit, base = (
        float(re.search(rf'class="{kind}" d="M([\d.]+)', chart.svg)[1])  # type: ignore[index]
        for kind in ("limit", "base")
    )
    assert limit > base


def test_rank_chart_needs_three_algorithms() -> None:
    chart = rank_chart(compared(), "center_hit", "cpm", TRANSLATE)
    assert chart is not None
    assert chart.svg.count(">group 1<") == 2
    few = comparison()["rankings"]
    few[0]["lines"] = few[0]["lines"][:2]
    assert rank_chart(compared(rankings=few), "center_hit", "cpm", TRANSLATE) is None


def test_leading_metric_without_cpm_is_recall() -> None:
    recall_only = compared(differences=[difference("Two", 0.1, 0.5, metric="recall")])
    assert leading_metric(recall_only, "center_hit") == "recall"


def test_rule_effects_have_published_and_paired_tests() -> None:
    shown = tables(rule_effect_blocks(document(rule_effects=rule_effects()), TRANSLATE))
    percent = "\N{NO-BREAK SPACE}%"
    assert texts(shown["Effect of the rule on all algorithms"]) == [
        ["Recall", f"54.7 ± 8.7{percent}", f"40.4 ± 12.3{percent}", "0.0033", "0.0021", "–"]
    ]
    assert texts(shown["Pairs of rules"]) == [
        ["Recall", "center hit – area overlap", "+14.33", "0.0075", "0.0012", "0.0024", "–", "–"]
    ]


def test_box_plots_carry_the_published_marks() -> None:
    side = rule_effect_blocks(document(rule_effects=rule_effects()), TRANSLATE)[0]
    assert ">**</text>" in side.blocks[0].svg  # P = 0.0075
    assert "unpaired t-tests" in side.remark


def test_box_plots_have_no_marks_before_a_comparison() -> None:
    (side,) = rule_effect_blocks(group_document(), TRANSLATE)
    assert "bracket" not in side.blocks[0].svg
    assert "t-tests" not in side.remark


def test_report_has_the_comparison_before_the_curves() -> None:
    html = render_html(document(rule_effects=rule_effects()), curves_of(evaluation()))
    assert html.index('id="compared"') < html.index('id="curves"') < html.index('id="details"')
    assert "Whether this difference is larger than chance was not tested" not in html


def test_numbers_of_tests_are_written_as_the_field_does() -> None:
    assert [p_value(0.00004), p_value(0.0033), p_value(0.5)] == ["<0.0001", "0.0033", "0.5000"]
    assert [signed(0.0123), signed(-0.0123), signed(0.0001)] == ["+0.012", "−0.012", "0.000"]
    assert [significance_mark(p) for p in (0.01, 0.05, 0.051)] == ["**", "*", "ns"]
