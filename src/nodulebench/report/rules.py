"""Document and flips -> what the choice of the rule does: differences, and whose label changes."""

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
from nodulebench.report.blocks import (
    Head,
    Notes,
    Row,
    Side,
    Table,
    code,
    count,
    head,
    short,
    undefined,
    words,
)
from nodulebench.report.groups import box_charts, group_metrics
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.svg import signed_bar
from nodulebench.report.pages.templates import Block

FLIPS_SHOWN = 20
FLIP_TEXTS = ("nodule_id", "mark_id", "type", "diameter_mm", "distance_mm", "overlap")
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
    hits, falses = (translate.count(name)[0] for name in ("hit", "false_positive"))
    differences.sort(key=lambda item: item[1].base_rule != base)
    relatives = [abs(item.relative_difference or 0.0) for _, item in differences]
    largest = max([*relatives, LEAST_BAR_END])
    rows: list[Row] = []
    for algorithm, item in differences:
        relative = item.relative_difference
        changed = f"{whole(item.base_false_positive)} → {whole(item.false_positive)}"
        rows.append(
            {
                **({} if is_single else {"head.algorithm": head(algorithm)}),
                "difference.rules": short(_arrow(item.base_rule, item.rule, translate)),
                Cell(hits): Cell(f"{whole(item.base_hit)} → {whole(item.hit)}"),
                "difference.gained": count(item.gained),
                "difference.lost": count(item.lost),
                "difference.relative": undefined(item.reason, notes)
                if relative is None
                else Cell(signed_percent(relative), svg=signed_bar(relative, largest)),
                Cell(falses): Cell(changed),
                "difference.relabelled": count(item.marks_changed),
            }
        )
    return Table.of(translate("difference.caption"), rows, translate, notes)


def _arrow(first: str, second: str, translate: Translator) -> str:
    return f"{translate.word(first)} → {translate.word(second)}"


def uses_table(document: Document, translate: Translator) -> Table | None:
    """Which rule suits which intended use, where the report has several."""
    named = [rule.name for rule in document.protocol.rules]
    rows: list[Row] = [
        {"head.rule": head(translate.word(rule)), "uses.suits": words(use)}
        for rule, use in translate.uses
        if rule in named
    ]
    if len(rows) < 2:
        return None
    return Table.of(translate("uses.caption"), rows, translate, remark=translate("uses.remark"))


def flip_table(flips: pl.DataFrame | None, translate: Translator) -> Table | None:
    """The first nodules and marks whose label depends on the rule; the rest are counted."""
    if flips is None or not flips.height:
        return None
    is_single = flips["algorithm"].n_unique() == 1
    rows: list[Row] = []
    for row in _chosen(flips).iter_rows(named=True):
        score = row.get("score")
        texts = {key: _text(row.get(key)) for key in FLIP_TEXTS}
        rows.append(
            {
                **({} if is_single else {"head.algorithm": head(row["algorithm"])}),
                "flips.rules": short(_arrow(row["base_rule"], row["rule"], translate)),
                "flips.what": short(translate.word(row["kind"])),
                "head.case": code(row["case_id"]),
                "head.nodule": code(texts["nodule_id"]),
                "head.mark": code(texts["mark_id"]),
                "head.score": Cell(UNDEFINED if score is None else significant(score)),
                "flips.change": short(_arrow(row["base_label"], row["label"], translate)),
                "head.type": short(translate.word(texts["type"])),
                "head.diameter_mm": Cell(texts["diameter_mm"]),
                "flips.distance": Cell(texts["distance_mm"]),
                "flips.overlap": Cell(texts["overlap"]),
            }
        )
    hidden = flips.height - len(rows)
    remark = translate("flips.more", count=whole(hidden)) if hidden else ""
    return Table.of(translate("flips.caption"), rows, translate, remark=remark)


def _chosen(flips: pl.DataFrame) -> pl.DataFrame:
    """Rows taken in turn from each algorithm and pair of rules, ``FLIPS_SHOWN`` in all."""
    return (
        flips.with_row_index("row")
        .with_columns(turn=pl.int_range(pl.len()).over("algorithm", "base_rule", "rule"))
        .sort("turn", "row")
        .head(FLIPS_SHOWN)
        .sort("row")
    )


def _text(value: object) -> str:
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


def _p_cell(test: Significance | float | None) -> Cell:
    value = test.p_value if isinstance(test, Significance) else test
    return Cell(UNDEFINED if value is None else p_value(value))


def _tests_table(effects: dict[str, EffectSummary], translate: Translator) -> Table | None:
    """Mean ± SD under each rule and the tests over all rules."""
    defined = {name: effect for name, effect in effects.items() if effect.groups}
    rules = next((list(effect.groups) for effect in defined.values()), [])
    rows: list[Row] = []
    for name, effect in defined.items():
        groups = {rule: effect.groups[rule] for rule in rules}
        row: dict[Head, Cell] = {"metrics.metric": head(translate.metric(name).title)}
        for rule, group in groups.items():
            row[Cell(translate.word(rule))] = Cell(percent_of(group.mean, group.sd))
        row["effect.one_way"] = _p_cell(effect.one_way)
        row["effect.repeated"] = _p_cell(effect.repeated.corrected if effect.repeated else None)
        row["effect.friedman"] = _p_cell(effect.friedman)
        rows.append(row)
    return Table.of(translate("effect.caption"), rows, translate, remark=translate("effect.remark"))


def _pairs_table(effects: dict[str, EffectSummary], translate: Translator) -> Table | None:
    """Every pair of rules: the test as published, and the paired tests."""
    rows: list[Row] = [
        {
            "metrics.metric": head(translate.metric(name).title),
            "effect.pair": short(f"{translate.word(pair.first)} – {translate.word(pair.second)}"),
            "effect.mean_difference": Cell(signed(100 * pair.mean_difference, 2)),
            "effect.unpaired": _p_cell(pair.unpaired_t),
            "effect.paired": _p_cell(pair.paired_t),
            "effect.paired_holm": _p_cell(pair.paired_t_holm),
            "effect.wilcoxon": _p_cell(pair.wilcoxon),
            "effect.wilcoxon_holm": _p_cell(pair.wilcoxon_holm),
        }
        for name, effect in effects.items()
        for pair in effect.pairs
    ]
    return Table.of(translate("effect.pairs_caption"), rows, translate)
