"""Series of points -> a chart: the plot, its legend, and the data to read values off it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from markupsafe import Markup

from nodulebench.core.arrays import FloatArray
from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Switch
from nodulebench.report.charts.styles import Fill, Style
from nodulebench.report.charts.svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Line,
    corners,
    plot,
)
from nodulebench.report.pages.svg import drawing, label, placed
from nodulebench.report.pages.templates import Block

MOST_BANDS = 4
"""With more series their bands are left out, because they would hide each other."""
TITLE, ROW = 24, 22
"""Height of the title and of each line of a legend, in a chart shown without its page."""
PRECISION = 100_000
"""Readings in the page are whole numbers of 1/100,000."""


@dataclass(frozen=True, slots=True)
class Series:
    """A named curve with the score threshold of each point."""

    name: str
    line: Line
    threshold: FloatArray


@dataclass(frozen=True, slots=True)
class Chart(Block):
    """A plot as the page shows it."""

    macro: ClassVar[str] = "chart"
    title: str
    svg: Markup
    legend: tuple[tuple[str, Style | Fill], ...] = ()
    remarks: tuple[str, ...] = ()
    readings: JsonObject | None = None
    """Data from which the script reads values off the plot; None: a small, still plot."""
    translate: Translator | None = None
    """Texts of the controls for reading and zooming."""
    is_narrow: bool = False
    """Whether three of them fit side by side."""


def readable_chart(
    title: str,
    x_axis: Axis,
    y_axis: Axis,
    series: Sequence[Series],
    remarks: tuple[str, ...],
    translate: Translator,
) -> Chart:
    """A chart whose values can be read off on the page; y runs from 0 to 1."""
    return Chart(
        title=title,
        svg=plot(x_axis, y_axis, [member.line for member in series], title),
        legend=tuple((member.name, member.line.style) for member in series),
        readings={
            "frame": [LEFT, TOP, WIDTH, HEIGHT],
            "x": {"low": x_axis.low, "high": x_axis.high, "log": x_axis.is_log},
            "at": translate("chart.at", x="{x}", name=x_axis.reading or x_axis.title),
            "score": translate("chart.score"),
            "unit": PRECISION,
            "series": [_readings(member, x_axis) for member in series],
        },
        remarks=remarks,
        translate=translate,
    )


def still_chart(title: str, description: str, x_axis: Axis, y_axis: Axis, line: Line) -> Chart:
    """A small chart of one line, without controls."""
    return Chart(title, plot(x_axis, y_axis, [line], description))


def with_legend(chart: Chart) -> Markup:
    """A chart as one SVG: its title above the plot, its legend below it."""
    width, below = LEFT + WIDTH + RIGHT, TITLE + TOP + HEIGHT + BOTTOM
    parts = [label(6, 16, chart.title, "axis first"), placed(chart.svg, 0, TITLE)]
    for row, (name, style) in enumerate(chart.legend):
        down = below + row * ROW
        parts += [placed(style.sample, LEFT, down), label(LEFT + 50, down + 10, name, "first")]
    return drawing("plot", width, below + len(chart.legend) * ROW, parts, description=chart.title)


def switched(charts: Sequence[Chart]) -> Chart | Switch | None:
    """One chart as it is; of several the page shows one at a time."""
    if len(charts) > 1:
        return Switch([(chart.title, chart) for chart in charts])
    return charts[0] if charts else None


def _readings(series: Series, x_axis: Axis) -> JsonObject:
    """A curve as whole numbers: every corner as a step from the one before, and its threshold."""
    x, y = series.line.x, series.line.y
    chosen = corners(x, y)
    first = max(0, int(np.searchsorted(x[chosen], x_axis.low, "left")) - 1)
    last = int(np.searchsorted(x[chosen], x_axis.high, "right")) + 1
    chosen = chosen[first:last]
    scores = first_digits(series.threshold[chosen])
    shown: JsonObject = {
        "x": _steps(x[chosen]),
        "y": _steps(y[chosen]),
        "threshold": [None if score != score else score for score in scores],
    }
    if series.line.band is not None:
        shown["band"] = [_steps(part) for part in series.line.band]
    return shown


def first_digits(scores: FloatArray) -> list[float]:
    """Scores by their first four digits; NaN where there is none."""
    size = np.where(np.isfinite(scores) & (scores != 0), np.abs(scores), 1.0)
    places = 3 - np.floor(np.log10(size))
    scale = 10.0 ** np.abs(places)
    whole = np.rint(np.where(places >= 0, scores * scale, scores / scale))
    rounded = np.where(places >= 0, whole / scale, whole * scale)
    short: list[float] = np.where(np.isfinite(scores), rounded, np.nan).tolist()
    return short


def _steps(values: FloatArray) -> list[int]:
    fine = np.rint(values * PRECISION).astype(np.int64)
    steps: list[int] = np.diff(fine, prepend=0).tolist()
    return steps
