"""Numbers -> the charts of a report: curves whose values can be read off, and still charts.

A plot of curves has a frame with its axes and, inside, a nested drawing in tenths of a pixel, so
that paths are short integers and the page can zoom by changing only the nested view.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import ClassVar

import numpy as np
from markupsafe import Markup

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Switch
from nodulebench.report.pages.svg import (
    CANVAS_WIDTH,
    LINE,
    Axis,
    Dot,
    Fill,
    Style,
    drawing,
    label,
    level_ticks,
    placed,
    shortened,
    stroke,
    text_width,
    upright_ticks,
    whisker_across,
    whisker_up,
    wrapped,
)
from nodulebench.report.pages.templates import Block

WIDTH, HEIGHT = 640, 400
"""The inside of a plot, in pixels at its natural size."""
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 34, 58
EDGE = 20
FINE = 10
"""Drawing units per pixel."""
POINTS = 24
"""How many points of each doubling are drawn on a log axis."""


@dataclass(frozen=True, slots=True)
class Line:
    """A series in a plot."""

    x: FloatArray
    y: FloatArray
    style: Style
    band: tuple[FloatArray, FloatArray, FloatArray] | None = None
    """x, low and high of the interval band."""
    points: tuple[tuple[float, float, str], ...] = ()
    """Marked points: x, y and a label, which may be empty."""


def plot(x_axis: Axis, y_axis: Axis, lines: Sequence[Line], description: str) -> Markup:
    """A plot of lines with their bands and marked points."""
    bottom = TOP + HEIGHT
    parts = ['<g class="ticks">']
    for value, text in x_axis.ticks:
        at = LEFT + WIDTH * x_axis.place(value)
        parts.append(f'<path d="M{at:.1f} {TOP}v{HEIGHT}"/>{label(at, bottom + 21, text)}')
    for value, text in y_axis.ticks:
        at = bottom - HEIGHT * y_axis.place(value)
        parts.append(f'<path d="M{LEFT} {at:.1f}h{WIDTH}"/>{label(LEFT - 8, at + 4.5, text, "y")}')
    parts += [
        f'</g><rect class="frame" x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}"/>',
        label(LEFT + WIDTH // 2, bottom + 47, x_axis.title, "axis"),
        label(6, 18, y_axis.title, "axis first"),
        f'<svg class="inside" x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH * FINE} {HEIGHT * FINE}" preserveAspectRatio="none">',
    ]
    kinds = [f'c{line.style.colour}" data-series="{n}"' for n, line in enumerate(lines)]
    for line, kind in zip(lines, kinds, strict=True):
        if line.band is not None:
            x, low, high = line.band
            there = path(x, high, x_axis, y_axis)
            back = path(x, low, x_axis, y_axis, is_backward=True)
            parts.append(f'<path class="band {kind} d="{there}L{back[1:]}z"/>')
    for line, kind in zip(lines, kinds, strict=True):
        x, y, end = clip(line.x, line.y, x_axis.low, x_axis.high)
        if not len(x):
            continue
        drawn = path(x, y, x_axis, y_axis)
        parts.append(f'<path class="curve {kind}{line.style.dash} d="{drawn}"/>')
        if end < x_axis.high:
            beyond = np.array([max(end, x_axis.low), x_axis.high])
            drawn = path(beyond, y[[-1, -1]], x_axis, y_axis)
            parts.append(f'<path class="beyond {kind} d="{drawn}"/>')
    parts.append('</svg><g class="points">')
    for number, line in enumerate(lines):
        for point_x, point_y, text in line.points:
            across, down = WIDTH * x_axis.place(point_x), HEIGHT * (1 - y_axis.place(point_y))
            side, anchor = 0, ""
            if not EDGE <= across <= WIDTH - EDGE:  # the label is moved inwards
                side, anchor = (6, "first") if across < EDGE else (-6, "last")
            of = f' data-series="{number}" data-at="{across:.2f} {down:.2f}"'
            named = text and label(side, 18, text, anchor)
            parts.append(line.style.marker(LEFT + across, TOP + down, of, named))
    size = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    return drawing("plot", *size, [*parts, "</g>"], description)


def clip(
    x: FloatArray, y: FloatArray, low: float, high: float
) -> tuple[FloatArray, FloatArray, float]:
    """The part of a curve between two values of x, and where the curve ends.

    Beyond its end a curve keeps its last value; that part is not drawn as curve. Left of its first
    point nothing is known of it, and nothing is drawn.
    """
    end = float(x[-1])
    stop = min(high, max(end, low))
    is_inside = (x >= low) & (x <= high)
    inside_x, inside_y = x[is_inside], y[is_inside]
    if x[0] < low and (not len(inside_x) or inside_x[0] > low):
        inside_x = np.append(low, inside_x)
        inside_y = np.append(np.interp(low, x, y), inside_y)
    if len(inside_x) and inside_x[-1] < stop:
        inside_x, inside_y = np.append(inside_x, stop), np.append(inside_y, np.interp(stop, x, y))
    return inside_x, inside_y, end


def corners(x: FloatArray | IntArray, y: FloatArray | IntArray) -> IntArray:
    """The points of a step curve that matter: those where its direction changes."""
    if len(x) <= 2:
        return np.arange(len(x))
    flat = np.diff(y) == 0
    steep = np.diff(x) == 0
    is_straight = (flat[:-1] & flat[1:]) | (steep[:-1] & steep[1:])
    return np.concatenate([[0], 1 + np.flatnonzero(~is_straight), [len(x) - 1]])


def path(
    x: FloatArray, y: FloatArray, x_axis: Axis, y_axis: Axis, *, is_backward: bool = False
) -> str:
    """The shortest path through the points of a curve on the drawing grid: M, then h, v and l.

    Values are read along a straight line between two points. On a log axis that line is curved, so
    that there it is drawn with more points.
    """
    if x_axis.is_log:
        octaves = log2(x_axis.high / x_axis.low)
        between = x_axis.low * 2.0 ** np.linspace(0.0, octaves, round(octaves * POINTS) + 1)
        between = between[(between > x[0]) & (between < x[-1])]
        places = np.searchsorted(x, between, "right")
        x, y = np.insert(x, places, between), np.insert(y, places, np.interp(between, x, y))
    across = np.rint(WIDTH * FINE * x_axis.places(x)).astype(np.int64)
    down = np.rint(HEIGHT * FINE * (1 - y_axis.places(y))).astype(np.int64)
    if is_backward:
        across, down = across[::-1], down[::-1]
    is_new = np.append(True, (np.diff(across) != 0) | (np.diff(down) != 0))
    across, down = across[is_new], down[is_new]
    turns = corners(across, down)
    across, down = across[turns], down[turns]
    steps = [f"M{across[0]} {down[0]}"]
    for right, below in zip(np.diff(across).tolist(), np.diff(down).tolist(), strict=True):
        if not below:
            steps.append(f"h{right}")
        elif not right:
            steps.append(f"v{below}")
        else:
            steps.append(f"l{right} {below}")
    return "".join(steps)


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


def _readings(series: Series, x_axis: Axis) -> JsonObject:
    """A curve as whole numbers: every corner as a step from the one before, and its threshold."""
    x, y = series.line.x, series.line.y
    chosen = corners(x, y)
    first = max(0, int(np.searchsorted(x[chosen], x_axis.low, "left")) - 1)
    last = int(np.searchsorted(x[chosen], x_axis.high, "right")) + 1
    chosen = chosen[first:last]
    x_steps, y_steps, *band = (
        np.diff(np.rint(values * PRECISION).astype(np.int64), prepend=0).tolist()
        for values in (x[chosen], y[chosen], *(series.line.band or ()))
    )
    scores = first_digits(series.threshold[chosen])
    threshold = [None if score != score else score for score in scores]
    shown: JsonObject = {"x": x_steps, "y": y_steps, "threshold": threshold}
    return shown | {"band": band} if band else shown


def first_digits(scores: FloatArray) -> list[float]:
    """Scores by their first four digits; NaN where there is none."""
    size = np.where(np.isfinite(scores) & (scores != 0), np.abs(scores), 1.0)
    places = 3 - np.floor(np.log10(size))
    scale = 10.0 ** np.abs(places)
    whole = np.rint(np.where(places >= 0, scores * scale, scores / scale))
    rounded = np.where(places >= 0, whole / scale, whole * scale)
    short: list[float] = np.where(np.isfinite(scores), rounded, np.nan).tolist()
    return short


def with_legend(chart: Chart) -> Markup:
    """A chart as one SVG: its title above the plot, its legend below it."""
    width, below = LEFT + WIDTH + RIGHT, TITLE + TOP + HEIGHT + BOTTOM
    parts = [label(6, 16, chart.title, "axis first"), placed(chart.svg, 0, TITLE)]
    for row, (name, style) in enumerate(chart.legend):
        down = below + row * ROW
        parts += [placed(style.sample, LEFT, down), label(LEFT + 50, down + 10, name, "first")]
    return drawing("plot", width, below + len(chart.legend) * ROW, parts, chart.title)


def switched(charts: Sequence[Chart]) -> Chart | Switch | None:
    """One chart as it is; of several the page shows one at a time."""
    if len(charts) > 1:
        return Switch([(chart.title, chart) for chart in charts])
    return charts[0] if charts else None


COLUMNS_LEFT, COLUMNS_TOP, COLUMNS_HEIGHT, COLUMNS_BOTTOM = 44, 30, 210, 34
COLUMN_GAP = 26
"""Between groups of columns."""


@dataclass(frozen=True, slots=True)
class Column:
    """A value with the ends of its whisker and the text above it."""

    value: float
    low: float
    high: float
    text: str


def column_chart(
    groups: Sequence[str], columns: Sequence[Sequence[Column | None]], axis: Axis, description: str
) -> Markup:
    """Groups of columns side by side, one of each kind in a group; None leaves a gap."""
    bottom, right = COLUMNS_TOP + COLUMNS_HEIGHT, CANVAS_WIDTH - 6
    kinds = max(len(group) for group in columns)
    share = (right - COLUMNS_LEFT) / len(groups)
    width = min(46.0, (share - COLUMN_GAP) / kinds)
    parts = [
        level_ticks(axis, COLUMNS_LEFT, right, COLUMNS_TOP, bottom),
        label(0, 16, axis.title, "axis first"),
    ]
    for number, (name, group) in enumerate(zip(groups, columns, strict=True)):
        middle = COLUMNS_LEFT + share * (number + 0.5)
        for kind, column in enumerate(group):
            if column is None:
                continue
            x = middle + width * (kind - kinds / 2)
            y = bottom - COLUMNS_HEIGHT * axis.place(column.value)
            low, high = (
                bottom - COLUMNS_HEIGHT * axis.place(end) for end in (column.low, column.high)
            )
            parts.append(Fill(kind).drawn(x + 2, y, width - 4, bottom - y))
            parts.append(whisker_up(x + width / 2, low, high))
            parts.append(label(x + width / 2, min(high, y) - 6, column.text, "value"))
        parts.append(label(middle, bottom + 20, name, "axis"))
    parts.append(stroke("base", f"M{COLUMNS_LEFT} {bottom}H{right}"))
    return drawing("picture", CANVAS_WIDTH, bottom + COLUMNS_BOTTOM, parts, description)


def histogram(
    counts: Sequence[float], expected: Sequence[float], x_axis: Axis, y_axis: Axis, description: str
) -> Markup:
    """Columns that touch, one for each bin, with a dashed curve of expected counts over them."""
    left, bottom, right = COLUMNS_LEFT + 12, COLUMNS_TOP + COLUMNS_HEIGHT, CANVAS_WIDTH - 10
    width = (right - left) / len(counts)
    parts = [
        level_ticks(y_axis, left, right, COLUMNS_TOP, bottom),
        label(0, 16, y_axis.title, "axis first"),
    ]
    for number, count in enumerate(counts):
        y = bottom - COLUMNS_HEIGHT * y_axis.place(count)
        if count:
            parts.append(Fill(0).drawn(left + width * number + 0.5, y, width - 1, bottom - y))
    places = [
        f"{left + width * (number + 0.5):.1f} {bottom - COLUMNS_HEIGHT * y_axis.place(value):.1f}"
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
    return drawing("picture", CANVAS_WIDTH, bottom + 46, parts, description)


MOST_GUTTER = 150
"""Names wider than this are written above their rows instead of at the left."""
ROWS_TOP, ROWS_BOTTOM = 8, 46
ROW_STEP = 19
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
    left, right = 10.0 if is_above else gutter, CANVAS_WIDTH - max(10.0, max(texts, default=0) + 14)
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
            parts.append(label(left, y + 14, shortened(row.name, CANVAS_WIDTH - 20), "name first"))
        else:
            middle = y + height / 2 + 4.5
            parts.append(label(left - 8, middle, row.name, "name last"))
        start = y + (LINE + 3 if is_above else 0) + (4 if len(row.values) > 1 else 2)
        for number, shown in enumerate(row.values):
            place = start + ROW_STEP * (number + 0.5)
            parts.append(_value_shapes(shown, axis, (left, right), place, base, has_bars=has_bars))
            parts.append(label(CANVAS_WIDTH - 4, place + 4.5, shown.text, "value last"))
        y += height
    if base is not None:
        x = left + (right - left) * axis.place(base)
        parts.append(stroke("base", f"M{x:.1f} {top}V{bottom}"))
    return drawing("picture", CANVAS_WIDTH, bottom + ROWS_BOTTOM, parts, description)


def _height(row: Bars, *, is_above: bool) -> float:
    return (
        ROW_STEP * max(1, len(row.values))
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


BOX_WIDTH, BOX_LEFT, BOX_HEIGHT, BOX_BOTTOM = 310, 40, 220, 46
BRACKET = 19
"""Height that a bracket takes."""
FENCE = 1.5
"""Whiskers end at the last value within so many quartile distances of the box (Tukey)."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """A mark over two groups, by their numbers."""

    first: int
    second: int
    mark: str


def box_plot(
    groups: Sequence[tuple[str, FloatArray]],
    brackets: Sequence[Bracket],
    axis: Axis,
    description: str,
) -> Markup:
    """Box plots side by side; the values themselves are drawn over their boxes."""
    top = 26 + BRACKET * len(brackets)
    bottom, right = top + BOX_HEIGHT, BOX_WIDTH - 6
    share = (right - BOX_LEFT) / len(groups)
    middles = [BOX_LEFT + share * (number + 0.5) for number in range(len(groups))]
    width = min(52.0, share * 0.6)
    parts = [
        level_ticks(axis, BOX_LEFT, right, top, bottom),
        label(0, 14, axis.title, "axis first"),
    ]
    for number, (x, (name, values)) in enumerate(zip(middles, groups, strict=True)):
        y = bottom - BOX_HEIGHT * axis.places(np.asarray(values, dtype=np.float64))
        parts.append(_box(x, y, width, number))
        parts += _names(x, bottom, name, share)
    for level, bracket in enumerate(brackets):
        left, end = middles[bracket.first], middles[bracket.second]
        foot = top - 4 - BRACKET * level
        parts.append(stroke("bracket", f"M{left:.1f} {foot:.1f}v-5H{end:.1f}v5"))
        parts.append(label((left + end) / 2, foot - 8, bracket.mark, "value"))
    return drawing("picture", BOX_WIDTH, bottom + BOX_BOTTOM, parts, description)


def _names(x: float, bottom: float, name: str, width: float) -> list[str]:
    """A group's name in one line, or in two at a space."""
    first, _, rest = name.partition(" ")
    lines = [name] if not rest or len(name) < 8 else [first, rest]
    return [
        label(x, bottom + 18 + 16 * number, shortened(line, width), "axis")
        for number, line in enumerate(lines)
    ]


def _box(x: float, y: FloatArray, width: float, number: int) -> str:
    """One box; heights grow downwards, so the upper quartile has the smaller y."""
    upper, median, lower = np.quantile(y, [0.25, 0.5, 0.75])
    reach = FENCE * (lower - upper)
    inside = y[(y >= upper - reach) & (y <= lower + reach)]
    left, right = x - width / 2, x + width / 2
    spread = _spread(y, width / 2)
    return "".join(
        [
            stroke(
                "whisker",
                f"M{x:.1f} {upper:.1f}V{inside.min():.1f}M{x - 7:.1f} {inside.min():.1f}h14"
                f"M{x:.1f} {lower:.1f}V{inside.max():.1f}M{x - 7:.1f} {inside.max():.1f}h14",
            ),
            Fill(number).drawn(left, upper, width, lower - upper, may_be_solid=False),
            stroke("median", f"M{left:.1f} {median:.1f}H{right:.1f}"),
            *(Style(number).marker(x + shift, at) for at, shift in zip(y, spread, strict=True)),
        ]
    )


def _spread(y: FloatArray, reach: float) -> FloatArray:
    """Shifts to the sides that keep values of about the same height apart."""
    shift = np.zeros(len(y))
    steps = (0.0, 0.5, -0.5, 1.0, -1.0)
    for place in np.argsort(y, kind="stable"):
        near = np.abs(y - y[place]) < 8
        near[place] = False
        taken = {float(offset) for offset in shift[near & (y <= y[place])]}
        shift[place] = next((reach * step for step in steps if reach * step not in taken), 0.0)
    return shift


CELL_WIDTH, CELL_HEIGHT = 80, 34
HEAT_MAP_TOP, HEAT_MAP_BOTTOM = 8, 44
HEAT_MAP_GUTTER = 170
LEAST_SHADE, MOST_SHADE = 0.05, 0.5
"""Shades stay light enough (dark enough on a dark page) for the text on them."""


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    counts: Sequence[Sequence[int | None]],
    title: str,
    description: str,
    *,
    whole: int,
    flagged: Sequence[int] = (),
) -> Markup:
    """Cells shaded by their share of ``whole``, each with its count; None: not countable.

    ``flagged`` are the numbers of columns that carry a star.
    """
    gutter = min(HEAT_MAP_GUTTER, max(text_width(name) for name in rows) + 12)
    width = gutter + CELL_WIDTH * len(columns) + 4
    bottom = HEAT_MAP_TOP + CELL_HEIGHT * len(rows)
    parts = []
    for number, (name, line) in enumerate(zip(rows, counts, strict=True)):
        y = HEAT_MAP_TOP + CELL_HEIGHT * number
        middle = y + CELL_HEIGHT / 2 + 4.5
        parts.append(label(gutter - 8, middle, shortened(name, gutter - 8), "name last"))
        for place, count in enumerate(line):
            parts.append(_cell(gutter + CELL_WIDTH * place, y, count, whole))
    for place, name in enumerate(columns):
        text = f"{name} *" if place in flagged else name
        parts.append(label(gutter + CELL_WIDTH * (place + 0.5), bottom + 18, text))
    parts.append(label(gutter + CELL_WIDTH * len(columns) / 2, bottom + 38, title, "axis"))
    return drawing("picture", width, bottom + HEAT_MAP_BOTTOM, parts, description)


def _cell(x: float, y: float, count: int | None, whole: int) -> str:
    share = 0.0 if not count or not whole else count / whole
    shade = LEAST_SHADE + (MOST_SHADE - LEAST_SHADE) * share
    text = "–" if count is None else str(count)
    return (
        f'<rect class="heat" x="{x:.1f}" y="{y:.1f}" width="{CELL_WIDTH - 3}"'
        f' height="{CELL_HEIGHT - 3}" fill-opacity="{shade:.3f}"/>'
        f"{label(x + (CELL_WIDTH - 3) / 2, y + CELL_HEIGHT / 2 + 3, text, 'value')}"
    )


FLOW_MAIN, FLOW_SIDE = 250, 150
"""Widths of the boxes of steps and of exits."""
FLOW_GAP, FLOW_PADDING = 30, 9


@dataclass(frozen=True, slots=True)
class Step:
    """A step, what leads on from it, and where else it may lead."""

    text: str
    onward: str = ""
    """Label of the arrow to the next step."""
    exit: str = ""
    """Where it leads otherwise."""
    otherwise: str = ""
    """Label of the arrow to the exit."""


def flow_chart(steps: Sequence[Step], description: str) -> Markup:
    """The steps one below the other, exits to their right."""
    parts: list[str] = []
    top, middle = 4.0, FLOW_MAIN / 2 + 2
    for number, step in enumerate(steps):
        boxes = [(2, FLOW_MAIN, wrapped(step.text, FLOW_MAIN - 2 * FLOW_PADDING))]
        start, end = FLOW_MAIN + 2, CANVAS_WIDTH - FLOW_SIDE - 2
        if step.exit:
            boxes.append((end, FLOW_SIDE, wrapped(step.exit, FLOW_SIDE - 14)))
        height = LINE * max(len(lines) for _, _, lines in boxes) + 2 * FLOW_PADDING
        y, foot = top + height / 2, top + height + FLOW_GAP
        for left, width, lines in boxes:
            if left == end:
                parts.append(stroke("whisker", f"M{start} {y:.1f}H{end}"))
                parts.append(stroke("whisker", f"M{end - 6} {y - 4:.1f}l6 4l-6 4"))
                parts.append(label((start + end) / 2, y - 6, step.otherwise))
            parts.append(
                f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{width}"'
                f' height="{height:.1f}"/>'
            )
            first = y - LINE * (len(lines) - 1) / 2 + 4.5
            for place, line in enumerate(lines):
                parts.append(label(left + width / 2, first + LINE * place, line, "axis"))
        if number + 1 < len(steps):
            parts.append(stroke("whisker", f"M{middle} {top + height:.1f}V{foot:.1f}"))
            parts.append(stroke("whisker", f"M{middle - 4} {foot - 6:.1f}l4 6l4-6"))
            parts.append(label(middle + 8, top + height + 19, step.onward, "first"))
        top = foot
    return drawing("picture", CANVAS_WIDTH, top - FLOW_GAP + 6, parts, description)


SKETCH_SIZE = (150, 120)
OUTLINE = "M40 62C38 40 58 28 78 32C100 34 114 50 108 70C102 92 78 98 62 92C48 88 41 78 40 62z"
"""A nodule as a reader outlines it."""
SPHERE = "M39 62C39 42.1 55.1 26 75 26C94.9 26 111 42.1 111 62C111 81.9 94.9 98 75 98C55.1 98 39 81.9 39 62z"  # noqa: E501
"""A nodule as a sphere: a circle around (75, 62), 36 wide."""
VICINITY = "M40.5 63C40.5 44.2 55.7 29 74.5 29C93.3 29 108.5 44.2 108.5 63C108.5 81.8 93.3 97 74.5 97C55.7 97 40.5 81.8 40.5 63z"  # noqa: E501
"""The circle around the middle of a box, 34 wide, inside which a mark has to be."""
NODULE = stroke("outline c1", OUTLINE)
NODULE_BOX = '<rect class="boxed c1" x="39" y="31" width="71" height="64"/>'
SPHERE_AND_MARK = (
    stroke("outline c1", SPHERE),
    Dot(0).marker(75, 62),
    stroke("whisker", "M75 62h36"),
    Dot(1).marker(92, 46),
)
SKETCHES = {
    "luna16": SPHERE_AND_MARK,
    "luna16_clean": SPHERE_AND_MARK,
    "center_hit": (
        NODULE,
        '<rect class="boxed c2" x="56" y="22" width="76" height="60"/>',
        Dot(1).marker(94, 52),
    ),
    "center_distance": (
        NODULE_BOX,
        stroke("limit", VICINITY),
        Dot(0).marker(74.5, 63),
        '<rect class="boxed c2" x="62" y="16" width="70" height="56"/>',
        stroke("whisker", "M74.5 63L97 44"),
        Dot(1).marker(97, 44),
    ),
    "area_overlap": (
        NODULE_BOX,
        '<rect class="boxed c2" x="58" y="16" width="74" height="66"/>',
        '<rect class="heat" x="58" y="31" width="52" height="51" fill-opacity="0.35"/>',
    ),
}
"""The parts of the sketch of each rule: the nodule in the first colour, the mark in the second."""
