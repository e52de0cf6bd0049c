"""Rule effects in a document -> box plots with significance marks, and the tests behind them."""

from typing import Any

from nodulebench.core.documents.comparison import EffectSummary, Significance
from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.numbers import UNDEFINED, p_value, percent_of, signed
from nodulebench.i18n.translator import Language
from nodulebench.report.blocks import Side
from nodulebench.report.cells import Cell, head, short, words
from nodulebench.report.sections.group_charts import box_charts, group_figures
from nodulebench.report.tables import Table


def rule_effect_blocks(document: Document, say: Language) -> list[Any]:
    """Box plots of the figures by rule; with their tests where algorithms were compared."""
    effects = _effects(document)
    pairs = {name: effect.pairs for name, effect in effects.items()}
    charts = box_charts(document, pairs, say)
    if not charts:
        return []
    remark = say("group.boxes_remark" if effects else "group.boxes_plain")
    tables = [_tests_table(effects, say), _pairs_table(effects, say)] if effects else []
    return [Side(charts, remark=remark), *(table for table in tables if table is not None)]


def _effects(document: Document) -> dict[str, EffectSummary]:
    """The analysis of each figure that is drawn, by its name, from the latest comparison."""
    for found in reversed(document.comparisons):
        if found.rule_effects is not None:
            return {
                one.figure: one
                for one in found.rule_effects.figures
                if one.figure in group_figures(document) and not one.point
            }
    return {}


def _p_of(test: Significance | None) -> float | None:
    return None if test is None else test.p_value


def _p_cell(value: float | None) -> Cell:
    return Cell(UNDEFINED if value is None else p_value(value))


def _tests_table(effects: dict[str, EffectSummary], say: Language) -> Table | None:
    """Mean ± SD under each rule and the tests over all rules."""
    defined = {name: one for name, one in effects.items() if one.groups}
    if not defined:
        return None
    rules = list(next(iter(defined.values())).groups)
    rows = [
        [
            head(say.figure(name).title),
            *(
                Cell(percent_of(group.mean, group.sd))
                for group in (one.groups[rule] for rule in rules)
            ),
            _p_cell(_p_of(one.one_way)),
            _p_cell(_p_of(one.repeated.corrected if one.repeated else None)),
            _p_cell(_p_of(one.friedman)),
        ]
        for name, one in defined.items()
    ]
    heads = [
        words(say("figures.figure")),
        *(Cell(say.word(rule)) for rule in rules),
        *(
            Cell(say(f"effect.{key}"), hint=say(f"effect.{key}_hint"))
            for key in ("one_way", "repeated", "friedman")
        ),
    ]
    return Table(say("effect.caption"), heads, rows, remark=say("effect.remark"))


def _pairs_table(effects: dict[str, EffectSummary], say: Language) -> Table | None:
    """Every pair of rules: the test as published, and the paired tests."""
    rows = [
        [
            head(say.figure(name).title),
            short(f"{say.word(pair.first)} – {say.word(pair.second)}"),
            Cell(signed(100 * pair.mean_difference, 2)),
            _p_cell(_p_of(pair.unpaired_t)),
            _p_cell(_p_of(pair.paired_t)),
            _p_cell(pair.paired_t_holm),
            _p_cell(_p_of(pair.wilcoxon)),
            _p_cell(pair.wilcoxon_holm),
        ]
        for name, one in effects.items()
        for pair in one.pairs
    ]
    if not rows:
        return None
    keys = ("mean_difference", "unpaired", "paired", "paired_holm", "wilcoxon", "wilcoxon_holm")
    heads = [
        words(say("figures.figure")),
        words(say("effect.pair")),
        *(Cell(say(f"effect.{key}")) for key in keys),
    ]
    return Table(say("effect.pairs_caption"), heads, rows)
