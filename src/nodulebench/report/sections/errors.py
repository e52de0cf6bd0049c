"""Document and tables -> where an algorithm errs: worst cases, causes of false positives."""

from collections import Counter
from typing import Any

import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import RuleSummary
from nodulebench.i18n.numbers import decimals, whole
from nodulebench.i18n.translator import Language
from nodulebench.report.beside import Beside
from nodulebench.report.blocks import Side
from nodulebench.report.cells import Cell, case, count, head, words
from nodulebench.report.charts.axes import Axis, whole_ticks
from nodulebench.report.charts.interactive import Chart
from nodulebench.report.charts.rows import Row, Value, row_chart
from nodulebench.report.charts.styles import Fill
from nodulebench.report.sections.misses import miss_blocks
from nodulebench.report.tables import Table

MOST_APART = 4
"""With more algorithms the chart of causes shows all of them together."""
CAUSES = ("vessel", "scar", "spine", "mediastinum", "motion", "noise")
"""Causes that readers tag false positives with (LUNA16)."""


def algorithm_errors(
    document: Document,
    beside: Beside,
    name: str,
    rule: str,
    result: RuleSummary,
    say: Language,
) -> list[Any]:
    """Where an algorithm errs under its leading rule: nodules, marks, cases, and pictures."""
    blocks: list[Any] = miss_blocks(document, beside, (name, rule), say)
    if worst := worst_case_tables(result, say):
        blocks.append(Side(worst))
    patches = [one for one in beside.patches if one.algorithm == name]
    if patches:
        from nodulebench.report.sections.gallery import galleries

        blocks += galleries(patches, say, result.counts)
    return blocks


def worst_case_tables(result: RuleSummary, say: Language) -> list[Table]:
    """The cases with most misses and with most false positives, of one result."""
    found: dict[str, Any] = dict(result.extras.get("worst_cases", {}))
    counted = {
        "nodules": say("strata.nodules"),
        "missed": say.count("missed")[0],
        "false_positive": say.count("false_positive")[0],
    }
    heads = [words(say("head.case")), *map(Cell, counted.values())]
    tables = {
        kind: [[case(row["case_id"]), *(count(row[name]) for name in counted)] for row in rows]
        for kind, rows in found.items()
    }
    return [Table(say(f"worst.{kind}"), heads, rows) for kind, rows in tables.items() if rows]


def cause_blocks(causes: pl.DataFrame, document: Document, say: Language) -> list[Any]:
    """What readers say false positives are, by algorithm: a chart and a table.

    Args:
        causes: columns algorithm and cause, one row for each tagged false positive.
        document: what evaluation.json holds.
        say: the language.
    """
    known = [one.name for one in document.algorithms]
    counted = Counter(
        (str(name), str(cause))
        for name, cause in causes.select("algorithm", "cause").iter_rows()
        if name in known
    )
    if not counted:
        return []
    names = [name for name in known if any(key[0] == name for key in counted)]
    others = sorted({cause for _, cause in counted} - set(CAUSES))
    kinds = [*CAUSES, *others]
    rows = []
    for cause in kinds:
        cells = [head(say.word(cause))]
        for name in names:
            tagged = sum(number for (one, _), number in counted.items() if one == name)
            share = decimals(100 * counted[name, cause] / tagged, 1)
            cells += [count(counted[name, cause]), Cell(share)]
        rows.append(cells)
    heads = [words(say("causes.cause"))]
    heads += [
        cell for _ in names for cell in (Cell(say("causes.count")), Cell(say("causes.share")))
    ]
    groups = [("", 1), *((name, 2) for name in names)] if len(names) > 1 else []
    remark = say("causes.remark")
    table = Table(say("causes.caption"), heads, rows, groups=groups, remark=remark)
    return [_cause_chart(counted, names, kinds, say), table]


def _cause_chart(
    counted: Counter[tuple[str, str]], names: list[str], kinds: list[str], say: Language
) -> Chart:
    """Bars by cause: one for each algorithm, or with many algorithms one for all together."""
    is_apart = 1 < len(names) <= MOST_APART
    groups = [[name] for name in names] if is_apart else [names]
    numbers = {
        cause: [sum(counted[name, cause] for name in group) for group in groups] for cause in kinds
    }
    top = 1.05 * max(max(line) for line in numbers.values())
    rows = [
        Row(
            say.word(cause),
            tuple(Value(one, text=whole(one), kind=kind) for kind, one in enumerate(line)),
        )
        for cause, line in numbers.items()
    ]
    axis = Axis(say.count("false_positive")[0], 0.0, top, whole_ticks(top))
    title = say("causes.chart")
    legend = tuple((name, Fill(number)) for number, name in enumerate(names)) if is_apart else ()
    return Chart(title, row_chart(rows, axis, title, base=0.0, has_bars=True), legend)
