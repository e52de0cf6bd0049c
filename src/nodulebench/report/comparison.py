"""Comparisons in a document -> differences, ranks, and nodules that only one algorithm found."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from nodulebench.core.documents.comparison import (
    ComparisonDocument,
    DifferenceSummary,
    RankingSummary,
    significance_mark,
)
from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.numbers import (
    PERCENT,
    UNDEFINED,
    decimals,
    interval,
    p_value,
    percent,
    rate,
    signed,
    signed_bounds,
    signed_interval,
    whole,
)
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import (
    Fold,
    Head,
    Notes,
    Paragraphs,
    Row,
    Side,
    Table,
    case,
    closed_if_long,
    code,
    count,
    head,
    short,
    undefined,
    words,
)
from nodulebench.report.charts import Bars, Chart, Value, row_chart
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.svg import Axis, few_ticks
from nodulebench.report.pages.templates import Block
from nodulebench.report.summary import differences_of, is_clear, leading_metric, leading_rule


def difference_chart(
    comparison: ComparisonDocument, rule: str, metric: str, translate: Translator
) -> Chart | None:
    """Differences from the baseline with their intervals, and the margin."""
    shown = differences_of(comparison, rule, metric)
    if not shown:
        return None
    rows, limits = [], []
    for summary in shown:
        difference, mark = summary.difference, significance_mark(summary.holm)
        text = f"{signed(difference.value)} {mark}"
        value = Value(difference.value or 0.0, difference.low, difference.high, text)
        rows.append(Bars(summary.algorithm, (value,)))
    if (test := shown[0].margin) is not None:  # a loss is negative if higher values are better
        loss = test.margin if shown[0].better == "lower" else -test.margin
        limits = [(loss, translate("compared.margin"))]
    ends = [
        end for row in rows for value in row.values for end in (value.low, value.high, value.value)
    ]
    reach = [end for end in ends if end is not None] + [value for value, _ in limits] + [0.0]
    pad = max((max(reach) - min(reach)) / 12, 0.002)
    low, high = min(reach) - pad, max(reach) + pad
    title = translate.metric(metric).title
    axis = Axis(translate("axis.difference", metric=title), low, high, few_ticks(low, high))
    heading = translate(
        "compared.chart", metric=title, baseline=comparison.baseline, rule=translate.word(rule)
    )
    remarks = (translate("compared.chart_remark", level=percent(comparison.level)),)
    return Chart(heading, row_chart(rows, axis, heading, base=0.0, limits=limits), remarks=remarks)


def rank_chart(
    comparison: ComparisonDocument, rule: str, metric: str, translate: Translator
) -> Chart | None:
    """Ranks with their bootstrap intervals; tie groups by their number."""
    ranking = ranking_of(comparison, rule, metric)
    if ranking is None or len(ranking.lines) < 3:
        return None
    lines = ranking.lines
    rows = []
    for line in lines:
        group = translate("rank.group_short", group=line.group)
        place = Value(line.rank, line.best_rank, line.worst_rank, group, kind=line.group - 1)
        rows.append(Bars(line.name, (place,)))
    count_ = len(lines)
    step = max(1, round(count_ / 10))
    ticks = tuple((float(rank), str(rank)) for rank in range(1, count_ + 1, step))
    axis = Axis(translate("axis.rank"), 0.6, count_ + 0.4, ticks)
    title = translate(
        "rank.chart", metric=translate.metric(metric).title, rule=translate.word(rule)
    )
    remarks = (translate("rank.remark", level=percent(comparison.level)),)
    return Chart(title, row_chart(rows, axis, title), remarks=remarks)


def ranking_of(comparison: ComparisonDocument, rule: str, metric: str) -> RankingSummary | None:
    fitting = (ranking for ranking in comparison.rankings if ranking.rule == rule)
    return next((ranking for ranking in fitting if ranking.name == metric), None)


SIDES = ("both", "algorithm_only", "baseline_only", "neither")
P = Cell("P")
MOST_MISSED = 20
"""The most nodules missed by one of two algorithms that are shown."""
MARGIN_ANSWERS = (
    ("is_superior", "superior"),
    ("is_equivalent", "equivalent"),
    ("is_non_inferior", "non_inferior"),
)


def comparison_blocks(document: Document, translate: Translator) -> list[Block | None]:
    blocks: list[Block | None] = []
    for comparison in document.comparisons:
        rule = leading_rule(document, comparison)
        metric = leading_metric(comparison, rule)
        method = translate(
            "compared.how",
            baseline=comparison.baseline,
            level=percent(comparison.level),
            count=whole(comparison.bootstraps),
            unit=translate.word(comparison.unit),
        )
        noticed = [translate.message(text) for text in comparison.notices]
        sentences = difference_sentences(document, comparison, translate)
        blocks.append(Paragraphs([method, *noticed, *sentences]))
        charts = [
            difference_chart(comparison, rule, metric, translate),
            rank_chart(comparison, rule, metric, translate),
        ]
        shown = [chart for chart in charts if chart is not None]
        blocks += [Side(shown)] if shown else []
        leading = [difference for difference in comparison.differences if difference.name == metric]
        title = translate("compared.leading", metric=translate.metric(metric).title)
        blocks.append(closed_if_long(_difference_table(title, leading, comparison, translate)))
        title = translate("compared.all", baseline=comparison.baseline)
        every = _difference_table(title, comparison.differences, comparison, translate)
        blocks.append(closed_if_long(every, most_rows=0, file="tables/differences.csv"))
        blocks.append(closed_if_long(_detection_table(comparison, translate)))
        blocks += _missed_by_one_blocks(comparison, rule, translate)
        blocks.append(_ranking_table(comparison, rule, metric, translate))
    return blocks


def difference_sentences(
    document: Document, comparison: ComparisonDocument, translate: Translator
) -> list[str]:
    """The differences in the leading metric under the leading rule, as sentences."""
    rule = leading_rule(document, comparison)
    metric = leading_metric(comparison, rule)
    defined = differences_of(comparison, rule, metric)
    title = translate.metric(metric).title
    if 0 < len(defined) <= 3:
        return [
            _difference_sentence(difference, comparison, title, translate) for difference in defined
        ]
    clear = {
        difference.algorithm: difference.difference.value
        for difference in defined
        if is_clear(difference, comparison)
    }
    higher = [name for name, value in clear.items() if value and value > 0]
    lower = [name for name, value in clear.items() if value and value < 0]
    if not defined:
        return []
    return [
        translate(
            "compared.many_differences",
            all=len(defined),
            metric=title,
            baseline=comparison.baseline,
            rule=translate.word(rule),
            higher=translate.listed(higher) or translate.word("none"),
            lower=translate.listed(lower) or translate.word("none"),
            alpha=percent(round(1 - comparison.level, 6)),
        )
    ]


def _difference_sentence(
    difference: DifferenceSummary, comparison: ComparisonDocument, title: str, translate: Translator
) -> str:
    sentence = translate(
        "compared.one_difference",
        algorithm=difference.algorithm,
        baseline=comparison.baseline,
        metric=title,
        rule=translate.word(difference.rule),
        difference=signed_interval(difference.difference),
        p=p_value(difference.p_value),
        adjusted=p_value(difference.holm),
    )
    answer = margin_answer(difference, translate)
    return sentence + (
        translate("compared.margin_result", margin=f"{comparison.margin:g}", answer=answer)
        if answer
        else ""
    )


def margin_answer(difference: DifferenceSummary, translate: Translator) -> str:
    """The result of a test against a margin as text; empty without a test."""
    test = difference.margin
    if not test:
        return ""
    if test.reason:
        return translate("compared.not_assessable")
    shown = next((name for key, name in MARGIN_ANSWERS if getattr(test, key)), "not_shown")
    return translate(f"compared.{shown}")


def _difference_table(
    title: str,
    differences: Sequence[DifferenceSummary],
    comparison: ComparisonDocument,
    translate: Translator,
) -> Table | None:
    notes = Notes(translate)
    further = {
        key: [getattr(difference, key) for difference in differences]
        for key in ("permutation", "delong")
        if any(getattr(difference, key) for difference in differences)
    }
    margins = []
    if any(difference.margin for difference in differences):
        title_of_margin = translate("compared.margin_of", margin=f"{comparison.margin:g}")
        margins.append(Cell(title_of_margin, kind="words"))
    baseline, dash = Cell(comparison.baseline), Cell("–")
    rows = []
    for number, summary in enumerate(differences):
        difference, test = summary.difference, summary.margin
        row: dict[Head, Cell] = {
            "head.algorithm": head(summary.algorithm),
            "head.rule": short(translate.word(summary.rule)),
            "metrics.metric": short(_metric_title(summary, translate)),
        }
        if difference.value is None:
            row |= {"metrics.value": dash, baseline: dash}
            row["compared.difference"] = undefined(difference.reason, notes)
            last: tuple[Head, ...] = (
                P,
                "compared.p_adjusted",
                *(f"compared.p_{key}" for key in further),
                *margins,
            )
            rows.append(row | dict.fromkeys(last, dash))
            continue
        row["metrics.value"] = Cell(decimals(summary.value))
        row[baseline] = Cell(decimals(summary.baseline_value))
        row["compared.difference"] = Cell(
            signed(difference.value),
            bounds=signed_bounds(difference),
            note=notes.letter(difference.reason) if difference.reason else "",
        )
        row[P] = Cell(p_value(summary.p_value))
        row["compared.p_adjusted"] = Cell(p_value(summary.holm))
        for key, tests in further.items():
            further_test = tests[number]
            row[f"compared.p_{key}"] = Cell(p_value(further_test.p_value)) if further_test else dash
        for margin in margins:
            note = notes.letter(test.reason) if test and test.reason else ""
            answer = margin_answer(summary, translate) or "–"
            row[margin] = Cell(answer, kind="words", note=note)
        rows.append(row)
    return Table.of(title, rows, translate, notes)


def _metric_title(difference: DifferenceSummary, translate: Translator) -> str:
    title = translate.metric(difference.metric).title
    return (
        translate(
            "metric.reading",
            title=title,
            point=translate.point(difference.metric, difference.point),
        )
        if difference.point
        else title
    )


def _detection_table(comparison: ComparisonDocument, translate: Translator) -> Table | None:
    """Which nodules one algorithm finds and the other does not, with McNemar's tests."""
    if not comparison.detection:
        return None
    notes, rows = Notes(translate), []
    for summary in comparison.detection:
        nodules, tests = summary.nodules, summary.tests
        row: dict[Head, Cell] = {
            "head.algorithm": head(summary.algorithm),
            "head.rule": short(translate.word(summary.rule)),
        }
        if tests:
            difference, holm = summary.difference, summary.adjusted_p_value["holm"]
            row |= {f"mcnemar.{side}": count(getattr(nodules, side)) for side in SIDES}
            row |= {
                "mcnemar.difference": Cell(
                    signed(difference.value), bounds=signed_bounds(difference)
                ),
                "mcnemar.p_clustered": Cell(p_value(tests["obuchowski"].p_value)),
                "compared.p_adjusted": Cell(p_value(holm)),
                "mcnemar.p_exact": Cell(p_value(tests["exact"].p_value)),
            }
        else:
            row["mcnemar.both"] = undefined(summary.difference.reason, notes, columns=8)
        rows.append(row)
    columns = ["head.algorithm", "head.rule", *(f"mcnemar.{side}" for side in SIDES)]
    columns += ["mcnemar.difference", "mcnemar.p_clustered"]
    columns += ["compared.p_adjusted", "mcnemar.p_exact"]
    title = translate("mcnemar.caption", baseline=comparison.baseline)
    return Table.of(title, rows, translate, notes, columns=columns)


def _missed_by_one_blocks(
    comparison: ComparisonDocument, rule: str, translate: Translator
) -> list[Block]:
    """For each algorithm the nodules that it missed and the baseline found, and the reverse."""
    blocks: list[Block] = []
    for summary in comparison.detection:
        if summary.missed_by_one is None or summary.rule != rule:
            continue
        lists = (
            (summary.algorithm, comparison.baseline, summary.missed_by_one.algorithm),
            (comparison.baseline, summary.algorithm, summary.missed_by_one.baseline),
        )
        tables = []
        for who, other, missed in lists:
            rows: list[Row] = [
                {
                    "head.case": case(nodule.case_id),
                    "head.nodule": code(nodule.nodule_id),
                    "head.diameter_mm": Cell(decimals(nodule.diameter_mm, 1)),
                }
                for nodule in missed[:MOST_MISSED]
            ]
            left = len(missed) - len(rows)
            remark = translate("misses.more", count=left, file="comparison.json") if left else ""
            caption = translate("single_misses.caption", missed=who, found=other)
            tables.append(Table.of(caption, rows, translate, remark=remark))
        shown = [table for table in tables if table is not None]
        if shown:
            title = translate(
                "single_misses.fold", algorithm=summary.algorithm, baseline=comparison.baseline
            )
            blocks.append(Fold(title, [Side(shown)], is_open=False, file="comparison.json"))
    return blocks


def _ranking_table(
    comparison: ComparisonDocument, rule: str, metric: str, translate: Translator
) -> Table | None:
    ranking = ranking_of(comparison, rule, metric)
    if ranking is None or len(ranking.lines) < 3:
        return None
    rows: list[Row] = [
        {
            "rank.rank": count(line.rank),
            "head.algorithm": head(line.name),
            "rank.value": Cell(decimals(line.value)),
            "rank.interval": Cell(f"{line.best_rank}–{line.worst_rank}"),
            "rank.first": Cell(decimals(100 * line.share_first, 1) + PERCENT),
            "rank.group": count(line.group),
        }
        for line in ranking.lines
    ]
    tau, remark = ranking.kendall_tau, translate("rank.ties")
    if tau.value is not None:
        remark += translate("rank.tau", tau=decimals(tau.value), bounds=interval(tau))
    title = translate(
        "rank.caption", metric=translate.metric(metric).title, rule=translate.word(rule)
    )
    return Table.of(title, rows, translate, remark=remark)


READING = "sensitivity_at_"
FORMATS: dict[str, Callable[[Any], Cell]] = {
    "hits": count,
    "sensitivity": lambda value: Cell(decimals(value)),
    "cpm": lambda value: Cell(decimals(value)),
    "best_single": lambda value: Cell(decimals(value)),
    "difference": lambda value: Cell(signed(value)),
    "candidates": count,
    "candidates_per_case": lambda value: Cell(decimals(value, 1)),
}
"""The columns of a table of combinations, and the cells of their values."""
MEMBER = "■"


def combination_tables(tables: Sequence[pl.DataFrame], translate: Translator) -> list[Table | None]:
    return [_combinations(table, translate) for table in tables]


def _combinations(table: pl.DataFrame, translate: Translator) -> Table | None:
    members = [str(member).split("+") for member in table["members"]]
    names = dict.fromkeys(name for member in members for name in member)
    leading = "cpm" if "cpm" in table.columns else "sensitivity"
    best = table[leading].max()
    rows = []
    for within, row in zip(members, table.iter_rows(named=True), strict=True):
        cells: dict[Head, Cell] = {
            Cell(name, kind="words"): words(MEMBER if name in within else "") for name in names
        }
        for name in (name for name in table.columns if name.startswith(READING)):
            cells[Cell(rate(float(name.removeprefix(READING))))] = Cell(decimals(row[name]))
        for name in (name for name in FORMATS if name in table.columns):
            cell = Cell(UNDEFINED) if row[name] is None else FORMATS[name](row[name])
            is_best = name == leading and row[name] == best
            cells[f"combined.{name}"] = replace(cell, kind="number best") if is_best else cell
        rows.append(cells)
    title = translate("combined.by_scores" if leading == "cpm" else "combined.by_candidates")
    return Table.of(title, rows, translate, remark=translate("combined.remark"))
