"""Document and curves table -> charts: FROC with its operating points, and every other curve."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import ceil, floor, log2
from typing import Any

import numpy as np
import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.numbers import decimals, percent, rate
from nodulebench.i18n.translator import Translator
from nodulebench.report.charts import (
    MOST_BANDS,
    WIDTH,
    Chart,
    Line,
    Series,
    histogram,
    plot,
    readable_chart,
)
from nodulebench.report.pages.svg import Axis, Style, nice_ticks, whole_ticks

LEAST_LABEL_GAP = 46
FIFTHS = tuple((n / 5, f"{n / 5:.1f}") for n in range(6))
FROC = ("froc",)
OTHER_CURVES = ("precision_recall", "afroc", "wafroc", "case_roc", "lroc", "malignancy_roc")
"""Curves drawn on two linear axes from 0 to 1."""
TOLERANCE = "froc_tolerance_"
TOLERANCES_SHOWN = ("0", "0.5", "inf")
"""The tolerances for size error whose FROC curves are drawn, as in Fotin 2008."""

Curves = dict[tuple[str, str, str], pl.DataFrame]
"""The table of each curve by algorithm, rule and name."""
Key = tuple[str, str]
"""An algorithm and a rule."""


def by_curve(curves: pl.DataFrame) -> Curves:
    parts = curves.partition_by(["algorithm", "rule", "curve"], as_dict=True)
    return {(str(key[0]), str(key[1]), str(key[2])): part for key, part in parts.items()}


def curve_charts(
    document: Document, curves: Curves, names: Sequence[str], translate: Translator
) -> list[Chart]:
    """Each curve: all rules in one chart for one algorithm, otherwise one chart for each rule."""
    protocol, rules = document.protocol, document.rules
    algorithms = [algorithm.name for algorithm in document.algorithms]
    groups = [
        (translate.word(rule), [(name, (name, rule)) for name in algorithms]) for rule in rules
    ]
    if len(algorithms) == 1:
        (only,) = algorithms
        groups = [(only, [(translate.word(rule), (only, rule)) for rule in rules])]
    charts = []
    for curve, (title, members) in product(names, groups):
        drawn = _drawn_series(document, curves, members, curve)
        if not drawn:
            continue
        series, remarks = list(drawn.values()), []
        if any(member.line.band is not None for member in series):
            is_official = protocol.interval.method == "luna16"
            key = "curve.official_band" if is_official else "curve.band"
            remarks.append(translate(key, level=percent(protocol.interval.level)))
        if curve == "froc":
            x_axis = rate_axis(protocol.operating_points, translate)
            y_axis = Axis(translate("axis.sensitivity"), 0.0, 1.0, FIFTHS)
            across = [WIDTH * x_axis.place(x) for x, _, _ in series[0].line.points]
            has_room = all(right - left >= LEAST_LABEL_GAP for left, right in pairwise(across))
            if len(series) == 1 and has_room:  # a single curve is labelled with its sensitivities
                line = series[0].line
                points = tuple((x, y, decimals(y)) for x, y, _ in line.points)
                series = [replace(series[0], line=replace(line, points=points))]
            remarks.append(translate("curve.markers"))
            if any(member.line.x[-1] < x_axis.high for member in series):
                remarks.append(translate("curve.dotted"))
        else:
            titles = (translate(f"curve.{curve}.{axis}") for axis in "xy")
            x_axis, y_axis = (Axis(axis_title, 0.0, 1.0, FIFTHS) for axis_title in titles)
        if absent := [member for member, key in members if key not in drawn]:
            remarks.append(translate("curve.without", names=translate.listed(absent)))
        shown = "FROC" if curve == "froc" else translate(f"curve.{curve}")
        heading = translate("curve.title", curve=shown, of=title)
        charts.append(readable_chart(heading, x_axis, y_axis, series, tuple(remarks), translate))
    return charts


def tolerance_chart(
    document: Document, curves: Curves, algorithm: str, rule: str, translate: Translator
) -> list[Chart]:
    series = [
        _series(translate("curve.tolerance", mm="∞" if mm == "inf" else mm), table, Style(number))
        for number, mm in enumerate(TOLERANCES_SHOWN)
        if (table := curves.get((algorithm, rule, f"{TOLERANCE}{mm}"))) is not None
    ]
    if not series:
        return []
    x_axis = rate_axis(document.protocol.operating_points, translate)
    y_axis = Axis(translate("axis.sensitivity"), 0.0, 1.0, FIFTHS)
    return [readable_chart(translate("curve.by_tolerance"), x_axis, y_axis, series, (), translate)]


def rate_axis(operating_points: Sequence[float], translate: Translator) -> Axis:
    """Rates of false positives on a log2 axis, 1/8 to 8 and as far as the operating points go."""
    low = min(-3, floor(log2(min(operating_points, default=1))))
    high = max(3, ceil(log2(max(operating_points, default=1))))
    ticks = tuple((2.0**power, rate(2.0**power)) for power in range(low, high + 1))
    title, reading = translate("axis.fp_per_case_log"), translate("axis.fp_per_case")
    return Axis(title, 2.0**low, 2.0**high, ticks, is_log=True, reading=reading)


def _drawn_series(
    document: Document, curves: Curves, members: list[tuple[str, Key]], curve: str
) -> dict[Key, Series]:
    """The series that have such a curve; a member keeps its style in every chart."""
    having = [(number, *member) for number, member in enumerate(members)]
    having = [member for member in having if (*member[2], curve) in curves]
    readings = {
        (algorithm.name, rule): result.readings("sensitivity_at_fp_rate")
        for algorithm, rule, result in document.results
    }
    drawn = {}
    for number, name, key in having:
        series = _series(name, curves[*key, curve], Style(number))
        low, high = curves.get((*key, f"{curve}_low")), curves.get((*key, f"{curve}_high"))
        if len(having) <= MOST_BANDS and low is not None and high is not None:
            band = low["x"].to_numpy(), low["y"].to_numpy(), high["y"].to_numpy()
            series = replace(series, line=replace(series.line, band=band))
        if curve == "froc":
            points = tuple(
                (float(at), reading.value, "")
                for at, reading in readings[key].items()
                if reading.value is not None
            )
            series = replace(series, line=replace(series.line, points=points))
        drawn[key] = series
    return drawn


def _series(name: str, table: pl.DataFrame, style: Style) -> Series:
    x, y, threshold = (table[column].to_numpy() for column in ("x", "y", "threshold"))
    return Series(name, Line(x, y, style), threshold)


INFINITY_AT = 1.15
"""The position of an infinite tolerance, relative to the largest finite one."""


def find_sweeps(value: Any) -> list[list[JsonObject]]:
    """The lists of rows in an extra that run over the tolerance."""
    lists = list(value.values()) if isinstance(value, dict) else [value]
    wanted = {"tolerance_mm", "hit", "false_positive"}
    return [
        rows
        for rows in lists
        if isinstance(rows, list) and rows and isinstance(rows[0], dict) and wanted <= set(rows[0])
    ]


def sweep_charts(
    rows: list[JsonObject], counts: dict[str, int], translate: Translator
) -> list[Chart]:
    """Sensitivity and false positives per case against the tolerance."""
    finite = [row["tolerance_mm"] for row in rows if row["tolerance_mm"] != "inf"]
    largest = max(finite, default=0.0) or 1.0
    has_infinity = len(finite) < len(rows)
    end = INFINITY_AT * largest
    x = np.array([end if row["tolerance_mm"] == "inf" else row["tolerance_mm"] for row in rows])
    ticks = nice_ticks(0.0, largest)
    name = translate("axis.tolerance_mm")
    x_axis = (
        Axis(name, 0.0, end, (*ticks, (end, "∞")))
        if has_infinity
        else Axis(name, 0.0, largest, ticks)
    )
    charts = []
    for key, column, whole in (
        ("axis.sensitivity", "hit", counts["nodules"]),
        ("axis.fp_per_case", "false_positive", counts["cases"]),
    ):
        if whole:
            title = translate(key)
            y = np.array([row[column] / whole for row in rows])
            points = tuple((float(a), float(b), "") for a, b in zip(x, y, strict=True))
            line = Line(x, y, Style(0), points=points)
            heading = title[0].upper() + title[1:]
            description = translate("chart.against", y=heading, x=name)
            drawn = plot(x_axis, _axis_around(title, y), [line], description)
            charts.append(Chart(heading, drawn))
    return charts


def parameter_charts(table: pl.DataFrame, translate: Translator) -> list[Chart]:
    """Sensitivity and false positives per case against a rule's parameter, a line per algorithm."""
    rated = table.with_columns(
        sensitivity=pl.col("hit") / (pl.col("hit") + pl.col("missed")),
        fp_per_case=pl.col("false_positive") / pl.col("cases"),
    )
    x_name = f"{translate.word(table['rule'][0])}, {table['parameter'][0]}"
    x_axis = _axis_around(x_name, table["value"])
    charts = []
    for column in ("sensitivity", "fp_per_case"):
        title = translate(f"axis.{column}")
        lines = {}
        for number, (name, rows) in enumerate(rated.group_by("algorithm", maintain_order=True)):
            x, y = rows["value"].to_numpy(), rows[column].to_numpy()
            points = tuple((float(a), float(b), "") for a, b in zip(x, y, strict=True))
            lines[str(name[0])] = Line(x, y, Style(number), points=points)
        heading = translate("chart.against", y=title[0].upper() + title[1:], x=x_name)
        y_axis = _axis_around(title, rated[column])
        legend = tuple((name, line.style) for name, line in lines.items())
        charts.append(Chart(heading, plot(x_axis, y_axis, list(lines.values()), heading), legend))
    return charts


def _axis_around(title: str, values: Any) -> Axis:
    low, high = float(values.min()), float(values.max())
    margin = max((high - low) / 8, 0.005)
    return Axis(title, low - margin, high + margin, nice_ticks(low - margin, high + margin))


def diameter_chart(document: Document, translate: Translator) -> Chart | None:
    """Histogram of the nodules' diameters, with what larger ones let expect of small ones."""
    diameters = document.reference.diameters
    if not diameters or sum(diameters.counts) < 2:
        return None
    counts, expected, width = diameters.counts, diameters.expected, diameters.width_mm
    start = diameters.from_mm
    end = start + width * len(counts)
    x_axis = Axis(translate("axis.diameter_mm"), start, end, nice_ticks(start, end))
    top = 1.08 * max(*counts, min(max(expected, default=0.0), 1.4 * max(counts)))
    y_axis = Axis(translate("axis.nodules"), 0.0, top, whole_ticks(top))
    remarks = [translate("diameters.bins", width=f"{width:g}")]
    if expected:
        remarks.append(translate("diameters.expected", peak=f"{diameters.peak_mm:g}"))
    return Chart(
        translate("diameters.title"),
        histogram(counts, expected, x_axis, y_axis, translate("diameters.title")),
        remarks=tuple(remarks),
    )
