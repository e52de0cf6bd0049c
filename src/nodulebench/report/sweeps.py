"""Rows of a sweep over the tolerance for size error -> two small charts (Fotin 2008, figure 5)."""

from math import ceil, floor, log10
from typing import Any

import numpy as np

from nodulebench.report.charts import Chart, still_chart
from nodulebench.report.numbers import decimals
from nodulebench.report.svg import Axis, Line, Style

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


def sweep_charts(rows: list[dict[str, Any]], counts: dict[str, int]) -> list[Chart]:
    """Sensitivity and false positives per case against the tolerance."""
    finite = [row["tolerance_mm"] for row in rows if row["tolerance_mm"] != "inf"]
    largest = max(finite, default=0.0) or 1.0
    has_infinity = len(finite) < len(rows)
    end = INFINITY_AT * largest
    x = np.array([end if row["tolerance_mm"] == "inf" else row["tolerance_mm"] for row in rows])
    ticks = nice_ticks(0.0, largest)
    x_axis = (
        Axis("tolerance for size error, mm", 0.0, end, (*ticks, (end, "∞")))
        if has_infinity
        else Axis("tolerance for size error, mm", 0.0, largest, ticks)
    )
    charts = []
    for title, column, whole in (
        ("sensitivity", "hit", counts["nodules"]),
        ("false positives per case", "false_positive", counts["cases"]),
    ):
        if whole:
            y = np.array([row[column] / whole for row in rows])
            points = tuple((float(a), float(b), "") for a, b in zip(x, y, strict=True))
            line = Line(x, y, Style(0), points=points)
            charts.append(still_chart(title.capitalize(), x_axis, _axis_around(title, y), line))
    return charts


def _axis_around(title: str, values: Any) -> Axis:
    low, high = float(values.min()), float(values.max())
    margin = max((high - low) / 8, 0.005)
    return Axis(title, low - margin, high + margin, nice_ticks(low - margin, high + margin))


def nice_ticks(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Round numbers between two values, four steps or more apart from end to end."""
    span = high - low
    step = 10.0 ** floor(log10(span))
    step = next(step / part for part in (1, 2, 5, 10) if span / (step / part) >= 4)
    places = max(0, ceil(-log10(step) - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return tuple(
        (number * step, decimals(number * step, places)) for number in range(first, last + 1)
    )
