"""Rows of a sweep over a size tolerance (Fotin 2008, figure 5), or a parameter -> small charts."""

from typing import Any

import numpy as np
import polars as pl

from nodulebench.i18n.translator import Language
from nodulebench.report.charts.axes import Axis, nice_ticks
from nodulebench.report.charts.interactive import Chart, still_chart
from nodulebench.report.charts.styles import Style
from nodulebench.report.charts.svg import Line, plot

INFINITY_AT = 1.15
"""Where an infinite tolerance stands, relative to the largest finite one."""


def find_sweeps(value: Any) -> list[list[dict[str, Any]]]:
    """The lists of rows in an extra that run over the tolerance."""
    lists = list(value.values()) if isinstance(value, dict) else [value]
    wanted = {"tolerance_mm", "hit", "false_positive"}
    return [
        rows
        for rows in lists
        if isinstance(rows, list) and rows and isinstance(rows[0], dict) and wanted <= set(rows[0])
    ]


def sweep_charts(rows: list[dict[str, Any]], counts: dict[str, int], say: Language) -> list[Chart]:
    """Sensitivity and false positives per case against the tolerance."""
    finite = [row["tolerance_mm"] for row in rows if row["tolerance_mm"] != "inf"]
    largest = max(finite, default=0.0) or 1.0
    has_infinity = len(finite) < len(rows)
    end = INFINITY_AT * largest
    x = np.array([end if row["tolerance_mm"] == "inf" else row["tolerance_mm"] for row in rows])
    ticks = nice_ticks(0.0, largest)
    name = say("axis.tolerance_mm")
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
            title = say(key)
            y = np.array([row[column] / whole for row in rows])
            points = tuple((float(a), float(b), "") for a, b in zip(x, y, strict=True))
            line = Line(x, y, Style(0), points=points)
            heading = title[0].upper() + title[1:]
            description = say("chart.against", y=heading, x=name)
            charts.append(still_chart(heading, description, x_axis, _axis_around(title, y), line))
    return charts


def parameter_charts(table: pl.DataFrame, say: Language) -> list[Chart]:
    """Sensitivity and false positives per case against a rule's parameter, a line per algorithm."""
    rated = table.with_columns(
        sensitivity=pl.col("hit") / (pl.col("hit") + pl.col("missed")),
        fp_per_case=pl.col("false_positive") / pl.col("cases"),
    )
    x_name = f"{say.word(table['rule'][0])}, {table['parameter'][0]}"
    x_axis = _axis_around(x_name, table["value"])
    charts = []
    for column in ("sensitivity", "fp_per_case"):
        title = say(f"axis.{column}")
        lines = {}
        for number, (name, rows) in enumerate(rated.group_by("algorithm", maintain_order=True)):
            x, y = rows["value"].to_numpy(), rows[column].to_numpy()
            points = tuple((float(a), float(b), "") for a, b in zip(x, y, strict=True))
            lines[str(name[0])] = Line(x, y, Style(number), points=points)
        heading = say("chart.against", y=title[0].upper() + title[1:], x=x_name)
        y_axis = _axis_around(title, rated[column])
        legend = tuple((name, line.style) for name, line in lines.items())
        charts.append(Chart(heading, plot(x_axis, y_axis, list(lines.values()), heading), legend))
    return charts


def _axis_around(title: str, values: Any) -> Axis:
    low, high = float(values.min()), float(values.max())
    margin = max((high - low) / 8, 0.005)
    return Axis(title, low - margin, high + margin, nice_ticks(low - margin, high + margin))
