"""Series of points -> a chart: the plot, its legend, and the data to read values off it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from nodulebench.model.arrays import FloatArray
from nodulebench.report.svg import (
    HEIGHT,
    LEFT,
    TOP,
    WIDTH,
    Axis,
    Line,
    Style,
    corners,
    key_sample,
    plot,
)

MOST_BANDS = 4
"""Beyond so many series bands would hide each other."""
PRECISION = 100_000
"""Readings in the page are whole numbers of 1/100,000."""

TOOLS = (
    '<div class="tools" hidden><button type="button" data-do="in" aria-label="Zoom in">+</button>'
    '<button type="button" data-do="out" aria-label="Zoom out">−</button>'
    '<button type="button" data-do="all">Whole plot</button></div>'
)
PROMPT = (
    '<p class="reading" aria-live="polite" hidden>Point at the plot or use the arrow keys to read '
    "values; drag to zoom.</p>"
)


@dataclass(frozen=True, slots=True)
class Series:
    """A named curve with the score threshold of each point."""

    name: str
    line: Line
    threshold: FloatArray


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot as the page shows it."""

    title: str
    picture: Markup
    legend: tuple[tuple[str, Style], ...] = ()
    readings: dict[str, Any] | None = None
    """What the page's script needs to read values off the plot; None: a small, still plot."""
    remarks: tuple[str, ...] = ()

    def __html__(self) -> str:
        title = f"<figcaption><h3>{escape(self.title)}</h3></figcaption>"
        if self.readings is None:
            return f'<figure class="small">{title}{self.picture}</figure>\n'
        legend = "".join(
            f"<li>{key_sample(style)}<span>{escape(name)}</span><output></output></li>"
            for name, style in self.legend
        )
        remarks = "".join(f'<p class="remark">{escape(text)}</p>' for text in self.remarks)
        # nothing but "</" can end a script element, so "<" must not stand in its data
        data = json.dumps(self.readings, separators=(",", ":")).replace("<", "\\u003c")
        return (
            f'<figure class="chart">{title}<div class="canvas" tabindex="0">{self.picture}</div>'
            f'<div class="aside"><ul class="legend">{legend}</ul>{PROMPT}{TOOLS}{remarks}</div>'
            f'<script type="application/json">{data}</script></figure>\n'
        )


def readable_chart(
    title: str, x_axis: Axis, y_axis: Axis, series: Sequence[Series], remarks: tuple[str, ...]
) -> Chart:
    """A chart whose values can be read off on the page; y runs from 0 to 1."""
    return Chart(
        title=title,
        picture=plot(x_axis, y_axis, [one.line for one in series], title),
        legend=tuple((one.name, one.line.style) for one in series),
        readings={
            "frame": [LEFT, TOP, WIDTH, HEIGHT],
            "x": {
                "low": x_axis.low,
                "high": x_axis.high,
                "log": x_axis.is_log,
                "name": x_axis.title,
            },
            "unit": PRECISION,
            "series": [_readings(one, x_axis) for one in series],
        },
        remarks=remarks,
    )


def still_chart(title: str, x_axis: Axis, y_axis: Axis, line: Line) -> Chart:
    """A small chart of one line, to look at."""
    return Chart(title, plot(x_axis, y_axis, [line], f"{title} against {x_axis.title}"))


def _readings(series: Series, x_axis: Axis) -> dict[str, Any]:
    """A curve as whole numbers: every corner as a step from the one before, and its threshold."""
    x, y = series.line.x, series.line.y
    kept = corners(x, y)
    first = max(0, int(np.searchsorted(x[kept], x_axis.low, "left")) - 1)
    last = int(np.searchsorted(x[kept], x_axis.high, "right")) + 1
    kept = kept[first:last]
    scores = first_digits(series.threshold[kept])
    shown: dict[str, Any] = {
        "x": _steps(x[kept]),
        "y": _steps(y[kept]),
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
