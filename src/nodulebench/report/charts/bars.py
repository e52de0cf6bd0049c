"""Values by group and kind -> columns with whiskers; counts by bin -> a histogram."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nodulebench.report.charts.axes import Axis
from nodulebench.report.charts.canvas import (
    WIDTH,
    level_ticks,
    picture,
    stroke,
    whisker_up,
)
from nodulebench.report.charts.styles import Fill
from nodulebench.report.pages.svg import label

LEFT, TOP, HEIGHT, BOTTOM = 44, 30, 210, 34
GAP = 26
"""Between groups of columns."""


@dataclass(frozen=True, slots=True)
class Column:
    """A value with the ends of its whisker and what stands above it."""

    value: float
    low: float
    high: float
    text: str


def column_chart(
    groups: Sequence[str],
    columns: Sequence[Sequence[Column | None]],
    axis: Axis,
    description: str,
) -> Markup:
    """Groups of columns side by side, one column of a group for each kind.

    Args:
        groups: what stands below each group.
        columns: for each group its columns, one for each kind; None leaves a gap.
        axis: the upright axis, from 0.
        description: what the picture shows, for those who cannot see it.
    """
    bottom, right = TOP + HEIGHT, WIDTH - 6
    kinds = max(len(group) for group in columns)
    share = (right - LEFT) / len(groups)
    width = min(46.0, (share - GAP) / kinds)
    parts = [level_ticks(axis, LEFT, right, TOP, bottom), label(0, 16, axis.title, "axis first")]
    for number, (name, group) in enumerate(zip(groups, columns, strict=True)):
        middle = LEFT + share * (number + 0.5)
        for kind, column in enumerate(group):
            if column is None:
                continue
            x = middle + width * (kind - kinds / 2)
            y = bottom - HEIGHT * axis.place(column.value)
            low, high = (bottom - HEIGHT * axis.place(end) for end in (column.low, column.high))
            parts.append(Fill(kind).drawn(x + 2, y, width - 4, bottom - y))
            parts.append(whisker_up(x + width / 2, low, high))
            parts.append(label(x + width / 2, min(high, y) - 6, column.text, "value"))
        parts.append(label(middle, bottom + 20, name, "axis"))
    parts.append(stroke("base", f"M{LEFT} {bottom}H{right}"))
    return picture(WIDTH, bottom + BOTTOM, parts, description)


def histogram(
    counts: Sequence[float],
    expected: Sequence[float],
    x_axis: Axis,
    y_axis: Axis,
    description: str,
) -> Markup:
    """Columns that touch, one for each bin, with a dashed curve of expected counts over them."""
    left, bottom, right = LEFT + 12, TOP + HEIGHT, WIDTH - 10
    width = (right - left) / len(counts)
    parts = [
        level_ticks(y_axis, left, right, TOP, bottom),
        label(0, 16, y_axis.title, "axis first"),
    ]
    for number, count in enumerate(counts):
        y = bottom - HEIGHT * y_axis.place(count)
        if count:
            parts.append(Fill(0).drawn(left + width * number + 0.5, y, width - 1, bottom - y))
    places = [
        f"{left + width * (number + 0.5):.1f} {bottom - HEIGHT * y_axis.place(value):.1f}"
        for number, value in enumerate(expected)
        if value <= y_axis.high
    ]
    if places:
        parts.append(stroke("curve expected c2", f"M{'L'.join(places)}"))
    for value, text in x_axis.ticks:
        x = left + (right - left) * x_axis.place(value)
        parts.append(stroke("base", f"M{x:.1f} {bottom}v4"))
        parts.append(label(x, bottom + 18, text))
    parts.append(label((left + right) / 2, bottom + 38, x_axis.title, "axis"))
    parts.append(stroke("base", f"M{left} {bottom}H{right}"))
    return picture(WIDTH, bottom + 46, parts, description)
