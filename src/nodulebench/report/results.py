"""Document -> the tables of results: key figures, readings, counts, rule differences, flips."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from nodulebench.report.cells import (
    Cell,
    Notes,
    code,
    count,
    estimate,
    head,
    short,
    undefined,
    words,
)
from nodulebench.report.numbers import UNDEFINED, decimals, rate, signed_percent, significant, whole
from nodulebench.report.svg import signed_bar
from nodulebench.report.tables import Table
from nodulebench.report.words import COUNTS, INTERVALS, figure_words, in_words

SCORED_FIGURES = ("cpm", "sensitivity_at_fp_rate/1", "recall", "precision", "fp_per_case")
PLAIN_FIGURES = ("recall", "precision", "f1", "fp_per_case")
"""The figures that lead a report, with and without a FROC."""
ALWAYS_COUNTED = ("hit", "missed", "false_positive")
FLIPS_SHOWN = 20
LEAST_BAR_END = 0.1
"""Bars of relative differences end here or further out, so that small ones look small."""

Document = dict[str, Any]


def pairs(document: Document) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    """Every algorithm under every rule: the algorithm, the rule's name and its result."""
    for algorithm in document["algorithms"]:
        for rule, result in algorithm["rules"].items():
            yield algorithm, rule, result


def baseline_rule(document: Document) -> str:
    """The rule that comparisons start from."""
    protocol = document["protocol"]
    return str(protocol["baseline_rule"] or protocol["rules"][0]["name"])


def find_figure(figures: dict[str, Any], name: str) -> dict[str, Any] | None:
    """A figure by its name, or one reading of it by ``figure/point``."""
    figure, _, point = name.partition("/")
    found = figures.get(figure)
    return found.get(point) if found is not None and point else found


def key_names(document: Document) -> list[str]:
    """The figures that lead the report, of those that the protocol asks for."""
    results = [result["figures"] for _, _, result in pairs(document) if "figures" in result]
    has_curve = any((find_figure(one, "cpm") or {}).get("value") is not None for one in results)
    beta = f"f{document['protocol']['beta']:g}"
    usual = SCORED_FIGURES if has_curve else PLAIN_FIGURES
    wanted = [beta if name == "f1" else name for name in usual]
    chosen = [name for name in wanted if any(find_figure(one, name) for one in results)]
    single = [name for one in results for name, figure in one.items() if "value" in figure]
    return chosen or list(dict.fromkeys(single))[: len(PLAIN_FIGURES)]


def key_table(document: Document) -> Table:
    """The leading figures of every algorithm under every rule."""
    names, notes = key_names(document), Notes()
    rows = []
    for algorithm, rule, result in pairs(document):
        lead = _lead(document, algorithm, rule)
        if "undefined" in result:
            rows.append([*lead, undefined(result["undefined"], notes, columns=len(names) + 1)])
            continue
        counts = result["counts"]
        rows.append(
            [
                *lead,
                Cell(f"{whole(counts['hit'])} / {whole(counts['nodules'])}"),
                *(estimate(find_figure(result["figures"], name), notes) for name in names),
            ]
        )
    titles = [figure_words(name) for name in names]
    heads = [
        *_lead_heads(document),
        Cell("Nodules hit"),
        *(Cell(title.title, hint=title.meaning) for title in titles),
    ]
    remark = "Nodules hit, recall, precision and FP per case count all marks, whatever their score."
    return Table("Every algorithm under every rule", heads, rows, notes.all(), remark)


def readings_table(document: Document, figure: str) -> Table | None:
    """A figure read at several points, one column each; None where no result has it."""
    notes = Notes()
    rows, keys = [], []
    for algorithm, rule, result in pairs(document):
        readings = result.get("figures", {}).get(figure)
        if readings is None or "value" in readings:
            continue
        keys = list(readings)
        show = _threshold if figure == "threshold_at_fp_rate" else estimate
        cells = [show(readings[key], notes) for key in keys]
        rows.append([*_lead(document, algorithm, rule, spans=False), *cells])
    if not rows:
        return None
    title = figure_words(figure)
    is_rate = figure.endswith("fp_rate")
    points = "false positives per case" if is_rate else "false positive fraction"
    heads = [
        *_lead_heads(document),
        *(Cell(rate(float(key)) if is_rate else key) for key in keys),
    ]
    return Table(
        f"{title.title} by {points}",
        heads,
        rows,
        notes.all(),
        f"{title.meaning[0].upper()}{title.meaning[1:]}.",
        is_tight=True,
    )


def _threshold(value: dict[str, Any], notes: Notes) -> Cell:
    """A score as the algorithm gives it, whatever its scale."""
    if value["value"] is None:
        return undefined(value["reason"], notes)
    return Cell(significant(value["value"], keeps_zeros=True))


def _lead_heads(document: Document) -> list[Cell]:
    """The heads above algorithm and rule; one algorithm is named by the page's title."""
    return [words("Algorithm"), words("Rule")][len(document["algorithms"]) == 1 :]


def _lead(
    document: Document, algorithm: dict[str, Any], rule: str, *, spans: bool = True
) -> list[Cell]:
    """The cells that name algorithm and rule; with ``spans`` an algorithm's name stands once."""
    if len(document["algorithms"]) == 1:
        return [head(in_words(rule))]
    is_first = rule == next(iter(algorithm["rules"]))
    named = head(algorithm["name"], rows=len(algorithm["rules"]) if spans else 1)
    return [named, short(in_words(rule))] if is_first or not spans else [short(in_words(rule))]


def counts_table(document: Document) -> Table:
    """What became of nodules and marks."""
    notes = Notes()
    results = [result for _, _, result in pairs(document) if "counts" in result]
    shown = [
        name
        for name in COUNTS
        if name in ALWAYS_COUNTED or any(result["counts"].get(name) for result in results)
    ]
    rows = []
    for algorithm, rule, result in pairs(document):
        cells = (
            [undefined(result["undefined"], notes, columns=len(shown))]
            if "undefined" in result
            else [count(result["counts"].get(name)) for name in shown]
        )
        rows.append([*_lead(document, algorithm, rule), *cells])
    heads = [
        *_lead_heads(document),
        *(Cell(COUNTS[name][0], hint=COUNTS[name][1]) for name in shown),
    ]
    return Table("What became of nodules and marks", heads, rows, notes.all())


def difference_table(document: Document) -> Table | None:
    """How many hits a rule gives relative to another, the baseline rule first."""
    notes, base = Notes(), baseline_rule(document)
    is_single = len(document["algorithms"]) == 1
    found = [
        (algorithm["name"], difference)
        for algorithm in document["algorithms"]
        for difference in algorithm["rule_differences"]
    ]
    if not found:
        return None
    found.sort(key=lambda item: item[1]["base_rule"] != base)
    relatives = [abs(item["relative_difference"] or 0.0) for _, item in found]
    largest = max(*relatives, LEAST_BAR_END)
    rows = []
    for algorithm, item in found:
        relative = item["relative_difference"]
        rows.append(
            [
                *([] if is_single else [head(algorithm)]),
                short(f"{in_words(item['base_rule'])} → {in_words(item['rule'])}"),
                Cell(f"{whole(item['base_hit'])} → {whole(item['hit'])}"),
                count(item["gained"]),
                count(item["lost"]),
                undefined(item["reason"], notes)
                if relative is None
                else Cell(signed_percent(relative), picture=signed_bar(relative, largest)),
                Cell(f"{whole(item['base_false_positive'])} → {whole(item['false_positive'])}"),
                count(item["marks_changed"]),
            ]
        )
    heads = [
        *([] if is_single else [words("Algorithm")]),
        words("From rule → to rule"),
        Cell("Nodules hit"),
        Cell("Gained", hint="nodules hit only under the second rule"),
        Cell("Lost", hint="nodules hit only under the first rule"),
        Cell("Relative difference", hint="(hits − hits under the first rule) / hits there"),
        Cell("False positives"),
        Cell("Marks relabelled"),
    ]
    return Table("Difference between rules", heads, rows, notes.all())


def flip_table(flips: pl.DataFrame | None) -> Table | None:
    """The first nodules and marks whose label depends on the rule; the rest are counted."""
    if flips is None or not flips.height:
        return None
    is_single = flips["algorithm"].n_unique() == 1
    rows = []
    for row in flips.head(FLIPS_SHOWN).iter_rows(named=True):
        mark = [_text(row.get("mark_id")), _text(row.get("score"))]
        rows.append(
            [
                *([] if is_single else [head(row["algorithm"])]),
                short(f"{in_words(row['base_rule'])} → {in_words(row['rule'])}"),
                short(row["kind"]),
                code(row["case_id"]),
                code(_text(row.get("nodule_id"))),
                code(mark[0]),
                Cell(mark[1]),
                short(f"{in_words(row['base_label'])} → {in_words(row['label'])}"),
                short(in_words(_text(row.get("type")))),
                *(Cell(_text(row.get(key))) for key in ("diameter_mm", "distance_mm", "overlap")),
            ]
        )
    hidden = flips.height - len(rows)
    heads = [
        *([] if is_single else [words("Algorithm")]),
        *(words(text) for text in ("Rules", "What", "Case", "Nodule", "Mark")),
        Cell("Score"),
        words("Change"),
        words("Type"),
        Cell("Diameter, mm"),
        Cell("Distance, mm", hint="nearest mark to the centre of the nodule's box on a slice"),
        Cell("Overlap", hint="largest share of the nodule's box that a mark covers"),
    ]
    return Table(
        "Nodules and marks whose label depends on the rule",
        heads,
        rows,
        remark=f"{whole(hidden)} more in flips.parquet." if hidden else "",
    )


def _text(value: Any) -> str:
    if value is None:
        return UNDEFINED
    return significant(value) if isinstance(value, float) else str(value)


def figures_table(algorithm: dict[str, Any]) -> Table | None:
    """Every single figure of an algorithm, rules side by side, with all its intervals."""
    notes = Notes()
    results = {rule: one for rule, one in algorithm["rules"].items() if "figures" in one}
    names = list(
        dict.fromkeys(
            name
            for one in results.values()
            for name, figure in one["figures"].items()
            if "value" in figure
        )
    )
    if not names:
        return None
    rows = []
    for name in names:
        title = figure_words(name)
        cells = [head(title.title), words(title.meaning)]
        for one in results.values():
            figure = one["figures"].get(name)
            cells += [estimate(figure, notes), words(_other_intervals(figure))]
        rows.append(cells)
    heads = [words("Figure"), words("Meaning")]
    heads += [cell for _ in results for cell in (Cell("Value"), words("Further"))]
    groups = [("", 2), *((in_words(rule), 2) for rule in results)] if len(results) > 1 else []
    return Table(algorithm["name"], heads, rows, notes.all(), groups=groups)


def _other_intervals(figure: dict[str, Any] | None) -> str:
    """Bounds by other methods, and the mean of the replicates."""
    if figure is None or figure["value"] is None:
        return ""
    shown = [
        f"{INTERVALS.get(method, in_words(method))} {decimals(low)}–{decimals(high)}"
        for method, (low, high) in figure.get("others", {}).items()
    ]
    if "mean" in figure:
        shown.append(f"bootstrap mean {decimals(figure['mean'])}")
    return "; ".join(shown)
