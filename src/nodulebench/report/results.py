"""Document -> the tables of results: key figures, readings, counts, rule differences, strata."""

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
from nodulebench.report.words import COUNTS, INTERVALS, figure_words, in_words, stratum_title

SCORED_FIGURES = ("cpm", "sensitivity_at_fp_rate/1", "recall", "precision", "fp_per_case")
PLAIN_FIGURES = ("recall", "precision", "f1", "fp_per_case")
"""The figures that lead a report, with and without a FROC."""
ALWAYS_COUNTED = ("hit", "missed", "false_positive")
FLIPS_SHOWN = 20
TOO_FEW = "too few"
BAR_ENDS = (0.1, 0.2, 0.5, 1.0)

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
    points = "false positives per case" if figure.endswith("fp_rate") else "false positive fraction"
    heads = [*_lead_heads(document), *(Cell(rate(float(key))) for key in keys)]
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
    largest = max(abs(item["relative_difference"] or 0.0) for _, item in found)
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
    rows = []
    for row in flips.head(FLIPS_SHOWN).iter_rows(named=True):
        mark = [_text(row.get("mark_id")), _text(row.get("score"))]
        rows.append(
            [
                head(row["algorithm"]),
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
        *(words(text) for text in ("Algorithm", "Rules", "What", "Case", "Nodule", "Mark")),
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


def strata_tables(algorithm: dict[str, Any], minimum: int) -> list[Table]:
    """Misses by stratum: rules side by side for nodules, one table a rule for whole cases."""
    results = {rule: one for rule, one in algorithm["rules"].items() if one.get("strata")}
    tables = []
    for name in dict.fromkeys(name for one in results.values() for name in one["strata"]):
        having = {
            rule: one["strata"][name] for rule, one in results.items() if name in one["strata"]
        }
        first = next(iter(having.values()))
        if any("cases" in stratum for stratum in first.values()):
            tables += [_case_strata(name, rule, strata, minimum) for rule, strata in having.items()]
        else:
            tables.append(_nodule_strata(name, having, minimum))
    return tables


def _nodule_strata(name: str, by_rule: dict[str, dict[str, Any]], minimum: int) -> Table:
    notes = Notes()
    scale = _bar_scale([one for strata in by_rule.values() for one in strata.values()])
    rows = []
    for stratum, first in next(iter(by_rule.values())).items():
        cells = [head(in_words(stratum)), count(first["nodules"])]
        for strata in by_rule.values():
            one = strata[stratum]
            cells += [count(one["missed"]), _miss_rate(one, notes, minimum, scale)]
        rows.append(cells)
    heads = [words(""), Cell("Nodules")]
    heads += [cell for _ in by_rule for cell in (Cell("Missed"), Cell("Miss rate"))]
    groups = [("", 2), *((in_words(rule), 2) for rule in by_rule)] if len(by_rule) > 1 else []
    return Table(
        stratum_title(name), heads, rows, notes.all(), groups=groups, remark=_bar_remark(scale)
    )


def _case_strata(name: str, rule: str, strata: dict[str, Any], minimum: int) -> Table:
    notes, scale = Notes(), _bar_scale(list(strata.values()))
    figures = list(dict.fromkeys(key for one in strata.values() for key in one.get("figures", {})))
    rows = []
    for stratum, one in strata.items():
        shown = (
            [Cell(TOO_FEW, note=notes.letter(_too_few_reason(minimum))) for _ in figures]
            if one["too_few"]
            else [estimate(one["figures"].get(key), notes) for key in figures]
        )
        rows.append(
            [
                head(in_words(stratum)),
                count(one.get("cases")),
                count(one["nodules"]),
                count(one["missed"]),
                _miss_rate(one, notes, minimum, scale),
                *shown,
            ]
        )
    heads = [
        words(""),
        *(Cell(text) for text in ("Cases", "Nodules", "Missed", "Miss rate")),
        *(Cell(figure_words(key).title, hint=figure_words(key).meaning) for key in figures),
    ]
    return Table(
        f"{stratum_title(name)}, rule {in_words(rule)}",
        heads,
        rows,
        notes.all(),
        remark=_bar_remark(scale),
    )


def _bar_scale(strata: list[dict[str, Any]]) -> float:
    """Where bars end: the smallest round number that holds every rate and its interval."""
    shown = [one["miss_rate"] for one in strata if not one["too_few"]]
    largest = max((one.get("high") or one["value"] or 0.0 for one in shown), default=0.0)
    return next((end for end in BAR_ENDS if largest <= end), BAR_ENDS[-1])


def _bar_remark(scale: float) -> str:
    return f"Bars from 0 to {scale:g}, with intervals."


def _miss_rate(stratum: dict[str, Any], notes: Notes, minimum: int, scale: float) -> Cell:
    """The miss rate with a bar; no rate where the stratum has too few nodules for one."""
    if stratum["too_few"] and stratum["nodules"]:
        return Cell(TOO_FEW, note=notes.letter(_too_few_reason(minimum)))
    return estimate(stratum["miss_rate"], notes, bar_scale=scale)


def _too_few_reason(minimum: int) -> str:
    return f"fewer than {minimum} nodules, the least for which the protocol gives a rate"


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
