"""Comparisons in a document -> differences, ranks, and nodules that only one algorithm found."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from nodulebench.core.documents.comparison import (
    ComparisonDocument,
    DifferenceSummary,
    MissedNodule,
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
    Notes,
    Paragraphs,
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
from nodulebench.report.charts.bars import Row, Value, row_chart
from nodulebench.report.charts.interactive import Chart
from nodulebench.report.charts.svg import Axis, few_ticks
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.templates import Block
from nodulebench.report.summary import (
    differences_of,
    is_clear,
    leading_metric,
    leading_rule,
)


def difference_chart(
    comparison: ComparisonDocument, rule: str, metric: str, translate: Translator
) -> Chart | None:
    """Differences from the baseline with their intervals, and the margin."""
    shown = differences_of(comparison, rule, metric)
    if not shown:
        return None
    rows = [Row(difference.algorithm, (_difference_value(difference),)) for difference in shown]
    place = _margin_place(shown[0])
    limits = [] if place is None else [(place, translate("compared.margin"))]
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


def _difference_value(summary: DifferenceSummary) -> Value:
    difference, mark = summary.difference, significance_mark(summary.holm)
    text = f"{signed(difference.value)} {mark}"
    return Value(difference.value or 0.0, difference.low, difference.high, text)


def _margin_place(difference: DifferenceSummary) -> float | None:
    """The margin as a difference: negative if higher values are better."""
    if difference.margin is None:
        return None
    return difference.margin.margin if difference.better == "lower" else -difference.margin.margin


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
        text, ends = (
            translate("rank.group_short", group=line.group),
            (line.best_rank, line.worst_rank),
        )
        rows.append(Row(line.name, (Value(line.rank, *ends, text, kind=line.group - 1),)))
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
    """The ranking by a metric under a rule."""
    fitting = (ranking for ranking in comparison.rankings if ranking.rule == rule)
    return next((ranking for ranking in fitting if ranking.name == metric), None)


MOST_MISSED = 20
"""The most nodules missed by one of two algorithms that are shown."""
MARGIN_ANSWERS = (
    ("is_superior", "superior"),
    ("is_equivalent", "equivalent"),
    ("is_non_inferior", "non_inferior"),
)


def comparison_blocks(document: Document, translate: Translator) -> list[Block | None]:
    """Every comparison of the document, one after another."""
    blocks: list[Block | None] = []
    for comparison in document.comparisons:
        rule = leading_rule(document, comparison)
        metric = leading_metric(comparison, rule)
        blocks.append(
            Paragraphs(
                _introduction(comparison, translate)
                + difference_sentences(document, comparison, translate)
            )
        )
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
        blocks += _ranking_tables(comparison, rule, metric, translate)
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


def _introduction(comparison: ComparisonDocument, translate: Translator) -> list[str]:
    method = translate(
        "compared.how",
        baseline=comparison.baseline,
        level=percent(comparison.level),
        count=whole(comparison.bootstraps),
        unit=translate.word(comparison.unit),
    )
    return [method, *(translate.message(text) for text in comparison.notices)]


def _difference_table(
    title: str,
    differences: Sequence[DifferenceSummary],
    comparison: ComparisonDocument,
    translate: Translator,
) -> Table:
    notes = Notes(translate)
    has_margin = any(difference.margin for difference in differences)
    further = {
        key: [getattr(difference, key) for difference in differences]
        for key in ("permutation", "delong")
        if any(getattr(difference, key) for difference in differences)
    }
    rows = []
    for number, difference in enumerate(differences):
        lead = [
            head(difference.algorithm),
            short(translate.word(difference.rule)),
            short(_metric_title(difference, translate)),
        ]
        if difference.difference.value is None:
            rows.append(
                [*lead, Cell("–"), Cell("–"), undefined(difference.difference.reason, notes)]
            )
            rows[-1] += [Cell("–")] * (2 + len(further) + has_margin)
            continue
        rows.append(
            [
                *lead,
                Cell(decimals(difference.value)),
                Cell(decimals(difference.baseline_value)),
                Cell(
                    signed(difference.difference.value),
                    bounds=signed_bounds(difference.difference),
                    note=notes.letter(difference.difference.reason)
                    if difference.difference.reason
                    else "",
                ),
                Cell(p_value(difference.p_value)),
                Cell(p_value(difference.holm)),
                *(
                    Cell("–" if tests[number] is None else p_value(tests[number].p_value))
                    for tests in further.values()
                ),
                *([_margin_cell(difference, notes)] if has_margin else []),
            ]
        )
    heads = [
        *(words(translate(key)) for key in ("head.algorithm", "head.rule", "metrics.metric")),
        Cell(translate("metrics.value")),
        Cell(comparison.baseline),
        Cell(translate("compared.difference")),
        Cell("P"),
        Cell(translate("compared.p_adjusted"), hint=translate("compared.p_adjusted_hint")),
        *(Cell(translate(f"compared.p_{key}")) for key in further),
        *(
            [words(translate("compared.margin_of", margin=f"{comparison.margin:g}"))]
            if has_margin
            else []
        ),
    ]
    return Table(title, heads, rows, notes.all())


def _margin_cell(difference: DifferenceSummary, notes: Notes) -> Cell:
    """The result of a test against a margin, with the reason if it has none."""
    answer, reason = (
        margin_answer(difference, notes.translate),
        difference.margin.reason if difference.margin else None,
    )
    return Cell(answer or "–", kind="words", note=notes.letter(reason) if reason else "")


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
    sides = ("both", "algorithm_only", "baseline_only", "neither")
    for summary in comparison.detection:
        lead = [head(summary.algorithm), short(translate.word(summary.rule))]
        if not summary.tests:
            rows.append([*lead, undefined(summary.difference.reason, notes, columns=8)])
            continue
        nodules, tests = summary.nodules, summary.tests
        rows.append(
            [
                *lead,
                *(count(getattr(nodules, key)) for key in sides),
                Cell(signed(summary.difference.value), bounds=signed_bounds(summary.difference)),
                Cell(p_value(tests["obuchowski"].p_value)),
                Cell(p_value(summary.adjusted_p_value["holm"])),
                Cell(p_value(tests["exact"].p_value)),
            ]
        )
    keys = ("both", "algorithm_only", "baseline_only", "neither", "difference")
    heads = [
        words(translate("head.algorithm")),
        words(translate("head.rule")),
        *(Cell(translate(f"mcnemar.{key}")) for key in keys),
        Cell(translate("mcnemar.p_clustered"), hint=translate("mcnemar.p_clustered_hint")),
        Cell(translate("compared.p_adjusted"), hint=translate("compared.p_adjusted_hint")),
        Cell(translate("mcnemar.p_exact"), hint=translate("mcnemar.p_exact_hint")),
    ]
    title = translate("mcnemar.caption", baseline=comparison.baseline)
    return Table(title, heads, rows, notes.all())


def _missed_by_one_blocks(
    comparison: ComparisonDocument, rule: str, translate: Translator
) -> list[Block]:
    """For each algorithm the nodules that it missed and the baseline found, and the reverse."""
    blocks: list[Block] = []
    for summary in comparison.detection:
        if summary.missed_by_one is None or summary.rule != rule:
            continue
        tables = [
            _missed_table(
                translate("single_misses.caption", missed=who, found=other), missed, translate
            )
            for who, other, missed in (
                (summary.algorithm, comparison.baseline, summary.missed_by_one.algorithm),
                (comparison.baseline, summary.algorithm, summary.missed_by_one.baseline),
            )
            if missed
        ]
        if tables:
            title = translate(
                "single_misses.fold", algorithm=summary.algorithm, baseline=comparison.baseline
            )
            blocks.append(Fold(title, [Side(tables)], is_open=False, file="comparison.json"))
    return blocks


def _missed_table(caption: str, missed: Sequence[MissedNodule], translate: Translator) -> Table:
    shown = missed[:MOST_MISSED]
    rows = [
        [case(nodule.case_id), code(nodule.nodule_id), Cell(decimals(nodule.diameter_mm, 1))]
        for nodule in shown
    ]
    heads = [
        words(translate("head.case")),
        words(translate("head.nodule")),
        Cell(translate("head.diameter_mm")),
    ]
    left = len(missed) - len(shown)
    remark = translate("misses.more", count=left, file="comparison.json") if left else ""
    return Table(caption, heads, rows, remark=remark)


def _ranking_tables(
    comparison: ComparisonDocument, rule: str, metric: str, translate: Translator
) -> list[Block]:
    ranking = ranking_of(comparison, rule, metric)
    if ranking is None or len(ranking.lines) < 3:
        return []
    rows = [
        [
            count(line.rank),
            head(line.name),
            Cell(decimals(line.value)),
            Cell(f"{line.best_rank}–{line.worst_rank}"),
            Cell(decimals(100 * line.share_first, 1) + PERCENT),
            count(line.group),
        ]
        for line in ranking.lines
    ]
    heads = [
        Cell(translate("rank.rank")),
        words(translate("head.algorithm")),
        *(Cell(translate(f"rank.{key}")) for key in ("value", "interval", "first", "group")),
    ]
    tau = ranking.kendall_tau
    remark = translate("rank.ties")
    if tau.value is not None:
        remark += translate("rank.tau", tau=decimals(tau.value), bounds=interval(tau))
    title = translate(
        "rank.caption", metric=translate.metric(metric).title, rule=translate.word(rule)
    )
    return [Table(title, heads, rows, remark=remark)]


READING = "sensitivity_at_"
COLUMNS = (
    "hits",
    "sensitivity",
    "cpm",
    "best_single",
    "difference",
    "candidates",
    "candidates_per_case",
)
MEMBER = "■"


def combination_tables(tables: Sequence[pl.DataFrame], translate: Translator) -> list[Table]:
    """A table for each list of combinations."""
    return [_table(table, translate) for table in tables if table.height]


def _table(table: pl.DataFrame, translate: Translator) -> Table:
    members = [str(member).split("+") for member in table["members"]]
    names = list(dict.fromkeys(name for member in members for name in member))
    readings = [name for name in table.columns if name.startswith(READING)]
    columns = [name for name in COLUMNS if name in table.columns]
    leading = "cpm" if "cpm" in columns else "sensitivity"
    best = max(table[leading])
    rows = [
        [
            *(words(MEMBER if name in within else "") for name in names),
            *(Cell(decimals(row[name])) for name in readings),
            *(
                _cell(name, row[name], is_best=name == leading and row[name] == best)
                for name in columns
            ),
        ]
        for within, row in zip(members, table.iter_rows(named=True), strict=True)
    ]
    heads = [
        *(words(name) for name in names),
        *(Cell(rate(float(name.removeprefix(READING)))) for name in readings),
        *(Cell(translate(f"combined.{name}")) for name in columns),
    ]
    title = translate("combined.by_scores" if leading == "cpm" else "combined.by_candidates")
    return Table(title, heads, rows, remark=translate("combined.remark"))


def _cell(name: str, value: Any, *, is_best: bool) -> Cell:
    if value is None:
        return Cell(UNDEFINED)
    match name:
        case "hits" | "candidates":
            return count(value)
        case "difference":
            return Cell(signed(value))
        case "candidates_per_case":
            return Cell(decimals(value, 1))
    return Cell(decimals(value), kind="number best" if is_best else "number")
