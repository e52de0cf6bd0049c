"""Document and flips -> what the choice of the rule does: differences, and whose label changes."""

from typing import Any

import polars as pl

from nodulebench.core.documents.comparison import EffectSummary, Significance
from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.numbers import (
    UNDEFINED,
    decimals,
    p_value,
    percent_of,
    signed,
    signed_percent,
    significant,
    whole,
)
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Notes, Side, Table, code, count, head, short, undefined, words
from nodulebench.report.charts.svg import signed_bar
from nodulebench.report.groups import box_charts, group_metrics
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.templates import Block

FLIPS_SHOWN = 20
LEAST_BAR_END = 0.1
"""The least end of the scale of relative differences, so that small ones get short bars."""


def difference_table(document: Document, translate: Translator) -> Table | None:
    """How many hits a rule gives relative to another, the baseline rule first."""
    notes, base = Notes(translate), document.baseline_rule
    is_single = len(document.algorithms) == 1
    differences = [
        (algorithm.name, difference)
        for algorithm in document.algorithms
        for difference in algorithm.rule_differences
    ]
    if not differences:
        return None
    differences.sort(key=lambda item: item[1].base_rule != base)
    relatives = [abs(item.relative_difference or 0.0) for _, item in differences]
    largest = max(*relatives, LEAST_BAR_END)
    rows = []
    for algorithm, item in differences:
        relative = item.relative_difference
        rows.append(
            [
                *([] if is_single else [head(algorithm)]),
                short(f"{translate.word(item.base_rule)} → {translate.word(item.rule)}"),
                Cell(f"{whole(item.base_hit)} → {whole(item.hit)}"),
                count(item.gained),
                count(item.lost),
                undefined(item.reason, notes)
                if relative is None
                else Cell(signed_percent(relative), svg=signed_bar(relative, largest)),
                Cell(f"{whole(item.base_false_positive)} → {whole(item.false_positive)}"),
                count(item.marks_changed),
            ]
        )
    heads = [
        *([] if is_single else [words(translate("head.algorithm"))]),
        words(translate("difference.rules")),
        Cell(translate.count("hit")[0]),
        Cell(translate("difference.gained"), hint=translate("difference.gained_hint")),
        Cell(translate("difference.lost"), hint=translate("difference.lost_hint")),
        Cell(translate("difference.relative"), hint=translate("difference.relative_hint")),
        Cell(translate.count("false_positive")[0]),
        Cell(translate("difference.relabelled")),
    ]
    return Table(translate("difference.caption"), heads, rows, notes.all())


def uses_table(document: Document, translate: Translator) -> Table | None:
    """Which rule suits which intended use, where the report has several."""
    named = [rule.name for rule in document.protocol.rules]
    rows = [
        [head(translate.word(rule)), words(use)] for rule, use in translate.uses if rule in named
    ]
    if len(rows) < 2:
        return None
    heads = [words(translate("head.rule")), words(translate("uses.suits"))]
    return Table(translate("uses.caption"), heads, rows, remark=translate("uses.remark"))


def flip_table(flips: pl.DataFrame | None, translate: Translator) -> Table | None:
    """The first nodules and marks whose label depends on the rule; the rest are counted."""
    if flips is None or not flips.height:
        return None
    is_single = flips["algorithm"].n_unique() == 1
    rows = []
    for row in _chosen(flips).iter_rows(named=True):
        score = row.get("score")
        rows.append(
            [
                *([] if is_single else [head(row["algorithm"])]),
                short(f"{translate.word(row['base_rule'])} → {translate.word(row['rule'])}"),
                short(translate.word(row["kind"])),
                code(row["case_id"]),
                code(_text(row.get("nodule_id"))),
                code(_text(row.get("mark_id"))),
                Cell(UNDEFINED if score is None else significant(score)),
                short(f"{translate.word(row['base_label'])} → {translate.word(row['label'])}"),
                short(translate.word(_text(row.get("type")))),
                *(Cell(_text(row.get(key))) for key in ("diameter_mm", "distance_mm", "overlap")),
            ]
        )
    hidden = flips.height - len(rows)
    texts = ("flips.rules", "flips.what", "head.case", "head.nodule", "head.mark")
    heads = [
        *([] if is_single else [words(translate("head.algorithm"))]),
        *(words(translate(key)) for key in texts),
        Cell(translate("head.score")),
        words(translate("flips.change")),
        words(translate("head.type")),
        Cell(translate("head.diameter_mm")),
        Cell(translate("flips.distance"), hint=translate("flips.distance_hint")),
        Cell(translate("flips.overlap"), hint=translate("flips.overlap_hint")),
    ]
    remark = translate("flips.more", count=whole(hidden)) if hidden else ""
    return Table(translate("flips.caption"), heads, rows, remark=remark)


def _chosen(flips: pl.DataFrame) -> pl.DataFrame:
    """Rows taken in turn from each algorithm and pair of rules, ``FLIPS_SHOWN`` in all."""
    return (
        flips.with_row_index("row")
        .with_columns(turn=pl.int_range(pl.len()).over("algorithm", "base_rule", "rule"))
        .sort("turn", "row")
        .head(FLIPS_SHOWN)
        .sort("row")
    )


def _text(value: Any) -> str:
    if value is None:
        return UNDEFINED
    return decimals(value, 2) if isinstance(value, float) else str(value)


def rule_effect_blocks(document: Document, translate: Translator) -> list[Block]:
    """Box plots of the metrics by rule; with their tests where algorithms were compared."""
    effects = _effects(document)
    pairs = {name: effect.pairs for name, effect in effects.items()}
    charts = box_charts(document, pairs, translate)
    if not charts:
        return []
    remark = translate("group.boxes_remark" if effects else "group.boxes_plain")
    tables = [_tests_table(effects, translate), _pairs_table(effects, translate)] if effects else []
    return [Side(charts, remark=remark), *(table for table in tables if table is not None)]


def _effects(document: Document) -> dict[str, EffectSummary]:
    """The analysis of each metric that is drawn, by its name, from the latest comparison."""
    for comparison in reversed(document.comparisons):
        if comparison.rule_effects is not None:
            return {
                metric.metric: metric
                for metric in comparison.rule_effects.metrics
                if metric.metric in group_metrics(document) and not metric.point
            }
    return {}


def _p_of(test: Significance | None) -> float | None:
    return None if test is None else test.p_value


def _p_cell(value: float | None) -> Cell:
    return Cell(UNDEFINED if value is None else p_value(value))


def _tests_table(effects: dict[str, EffectSummary], translate: Translator) -> Table | None:
    """Mean ± SD under each rule and the tests over all rules."""
    defined = {name: effect for name, effect in effects.items() if effect.groups}
    if not defined:
        return None
    rules = list(next(iter(defined.values())).groups)
    rows = [
        [
            head(translate.metric(name).title),
            *(
                Cell(percent_of(group.mean, group.sd))
                for group in (effect.groups[rule] for rule in rules)
            ),
            _p_cell(_p_of(effect.one_way)),
            _p_cell(_p_of(effect.repeated.corrected if effect.repeated else None)),
            _p_cell(_p_of(effect.friedman)),
        ]
        for name, effect in defined.items()
    ]
    heads = [
        words(translate("metrics.metric")),
        *(Cell(translate.word(rule)) for rule in rules),
        *(
            Cell(translate(f"effect.{key}"), hint=translate(f"effect.{key}_hint"))
            for key in ("one_way", "repeated", "friedman")
        ),
    ]
    return Table(translate("effect.caption"), heads, rows, remark=translate("effect.remark"))


def _pairs_table(effects: dict[str, EffectSummary], translate: Translator) -> Table | None:
    """Every pair of rules: the test as published, and the paired tests."""
    rows = [
        [
            head(translate.metric(name).title),
            short(f"{translate.word(pair.first)} – {translate.word(pair.second)}"),
            Cell(signed(100 * pair.mean_difference, 2)),
            _p_cell(_p_of(pair.unpaired_t)),
            _p_cell(_p_of(pair.paired_t)),
            _p_cell(pair.paired_t_holm),
            _p_cell(_p_of(pair.wilcoxon)),
            _p_cell(pair.wilcoxon_holm),
        ]
        for name, effect in effects.items()
        for pair in effect.pairs
    ]
    if not rows:
        return None
    keys = ("mean_difference", "unpaired", "paired", "paired_holm", "wilcoxon", "wilcoxon_holm")
    heads = [
        words(translate("metrics.metric")),
        words(translate("effect.pair")),
        *(Cell(translate(f"effect.{key}")) for key in keys),
    ]
    return Table(translate("effect.pairs_caption"), heads, rows)
