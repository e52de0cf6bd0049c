"""Values by group and kind -> columns with whiskers; counts by bin -> a histogram."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nodulebench.report.charts.styles import Fill, Style
from nodulebench.report.charts.svg import CANVAS_WIDTH as WIDTH
from nodulebench.report.charts.svg import (
    LINE,
    Axis,
    chart,
    level_ticks,
    shortened,
    stroke,
    text_width,
    upright_ticks,
    whisker_across,
    whisker_up,
)
from nodulebench.report.pages.svg import label

LEFT, TOP, HEIGHT, BOTTOM = 44, 30, 210, 34
GAP = 26
"""Between groups of columns."""


@dataclass(frozen=True, slots=True)
class Column:
    """A value with the ends of its whisker and the text above it."""

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
    """Groups of columns side by side, one of each kind in a group; None leaves a gap."""
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
    return chart(WIDTH, bottom + BOTTOM, parts, description)


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
    return chart(WIDTH, bottom + 46, parts, description)


MOST_GUTTER = 150
"""Names wider than this are written above their rows instead of at the left."""
ROWS_TOP, ROWS_BOTTOM = 8, 46
STEP = 19
"""Between values of one row."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a row, with its interval where it has one and the text at its right."""

    value: float
    low: float | None = None
    high: float | None = None
    text: str = ""
    kind: int = 0
    """The number of its style."""


@dataclass(frozen=True, slots=True)
class Bars:
    """A name and its values."""

    name: str
    values: tuple[Value, ...]


def row_chart(
    rows: Sequence[Bars],
    axis: Axis,
    description: str,
    *,
    base: float | None = None,
    has_bars: bool = False,
    limits: Sequence[tuple[float, str]] = (),
) -> Markup:
    """Rows of bars or markers from the top down; bars and stems start at ``base``.

    ``limits`` are further upright lines, dashed, each with its name above.
    """
    gutter = max(text_width(row.name) for row in rows) + 10
    is_above = gutter > MOST_GUTTER
    texts = [text_width(value.text) for row in rows for value in row.values]
    left, right = 10.0 if is_above else gutter, WIDTH - max(10.0, max(texts, default=0) + 14)
    top = ROWS_TOP + (LINE if any(text for _, text in limits) else 0)
    heights = [_height(row, is_above=is_above) for row in rows]
    bottom = top + sum(heights)
    parts = [upright_ticks(axis, left, right, top, bottom)]
    for value, text in limits:
        x = left + (right - left) * axis.place(value)
        parts += [stroke("limit", f"M{x:.1f} {top}V{bottom}"), label(x, top - 5, text)]
    y = float(top)
    for row, height in zip(rows, heights, strict=True):
        if is_above:
            parts.append(label(left, y + 14, shortened(row.name, WIDTH - 20), "name first"))
        else:
            middle = y + height / 2 + 4.5
            parts.append(label(left - 8, middle, row.name, "name last"))
        start = y + (LINE + 3 if is_above else 0) + (4 if len(row.values) > 1 else 2)
        for number, shown in enumerate(row.values):
            place = start + STEP * (number + 0.5)
            parts.append(_value_shapes(shown, axis, (left, right), place, base, has_bars=has_bars))
            parts.append(label(WIDTH - 4, place + 4.5, shown.text, "value last"))
        y += height
    if base is not None:
        x = left + (right - left) * axis.place(base)
        parts.append(stroke("base", f"M{x:.1f} {top}V{bottom}"))
    return chart(WIDTH, bottom + ROWS_BOTTOM, parts, description)


def _height(row: Bars, *, is_above: bool) -> float:
    return (
        STEP * max(1, len(row.values))
        + (8 if len(row.values) > 1 else 4)
        + (LINE + 3 if is_above else 0)
    )


def _value_shapes(
    value: Value,
    axis: Axis,
    ends: tuple[float, float],
    y: float,
    base: float | None,
    *,
    has_bars: bool,
) -> str:
    left, right = ends
    x = left + (right - left) * axis.place(value.value)
    parts = []
    if base is not None:
        start = left + (right - left) * axis.place(base)
        if has_bars:
            parts.append(Fill(value.kind).drawn(min(start, x), y - 6, abs(x - start), 12))
        else:
            parts.append(
                stroke(f"stem c{Style(value.kind).colour}", f"M{start:.1f} {y:.1f}H{x:.1f}")
            )
    if value.low is not None and value.high is not None:
        low, high = (left + (right - left) * axis.place(end) for end in (value.low, value.high))
        parts.append(whisker_across(y, low, high))
    if not has_bars:
        parts.append(Style(value.kind).marker(x, y))
    return "".join(parts)
