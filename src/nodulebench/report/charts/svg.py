"""Numbers -> small charts as inline SVG, without knowledge of algorithms or rules.

A plot has a frame with its axes and, inside, a nested drawing in tenths of a pixel, so that paths
are short integers and the page can zoom by changing only the nested view.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log2, log10
from unicodedata import east_asian_width

import numpy as np
from markupsafe import Markup

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.i18n.numbers import decimals, whole
from nodulebench.report.charts.styles import Style
from nodulebench.report.pages.svg import drawing, label

MOST_NARROW = 6
"""Labels that fit into a narrow chart."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of numbers on an axis, with its ticks."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    is_log: bool = False
    reading: str = ""
    """How a value on it is named when it is read off; empty: as the title."""

    def place(self, value: float) -> float:
        """The position of a value between the low end (0) and the high end (1)."""
        return float(self.places(np.array([value]))[0])

    def places(self, values: FloatArray) -> FloatArray:
        """The positions of values between the low end (0) and the high end (1)."""
        if not self.is_log:
            return np.asarray((values - self.low) / (self.high - self.low))
        floor = np.maximum(values, self.low / 1024)
        return np.asarray(np.log2(floor / self.low) / log2(self.high / self.low))


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


def few_ticks(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Round numbers, so few that their labels stay apart in a narrow chart; zero stays."""
    ticks = nice_ticks(low, high)
    zero = next((number for number, (value, _) in enumerate(ticks) if value == 0), 0)
    return ticks if len(ticks) <= MOST_NARROW else ticks[zero % 2 :: 2]


def whole_ticks(top: float) -> tuple[tuple[float, str], ...]:
    """Round whole numbers from 0 to a count."""
    return tuple(
        (value, whole(round(value))) for value, _ in nice_ticks(0.0, top) if value == round(value)
    )


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
    inside = [_band(line, number, x_axis, y_axis) for number, line in enumerate(lines)]
    inside += [_curve(line, number, x_axis, y_axis) for number, line in enumerate(lines)]
    points = [_points(line, number, x_axis, y_axis) for number, line in enumerate(lines)]
    parts = [
        _frame(x_axis, y_axis),
        f'<svg class="inside" x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH * FINE} {HEIGHT * FINE}" preserveAspectRatio="none">',
        *inside,
        '</svg><g class="points">',
        *points,
        "</g>",
    ]
    size = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    return drawing("plot", *size, parts, description=description)


def _frame(x_axis: Axis, y_axis: Axis) -> str:
    bottom = TOP + HEIGHT
    parts = ['<g class="ticks">']
    for value, text in x_axis.ticks:
        x = LEFT + WIDTH * x_axis.place(value)
        parts.append(f'<path d="M{x:.1f} {TOP}v{HEIGHT}"/>{label(x, bottom + 21, text)}')
    for value, text in y_axis.ticks:
        y = bottom - HEIGHT * y_axis.place(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}h{WIDTH}"/>{label(LEFT - 8, y + 4.5, text, "y")}')
    parts += [
        f'</g><rect class="frame" x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}"/>',
        label(LEFT + WIDTH // 2, bottom + 47, x_axis.title, "axis"),
        label(6, 18, y_axis.title, "axis first"),
    ]
    return "".join(parts)


def _band(line: Line, number: int, x_axis: Axis, y_axis: Axis) -> str:
    if line.band is None:
        return ""
    x, low, high = line.band
    there = path(*_units(*bent(x, high, x_axis), x_axis, y_axis))
    right, lower = bent(x, low, x_axis)
    back = path(*_units(right[::-1], lower[::-1], x_axis, y_axis))
    return (
        f'<path class="band c{line.style.colour}" data-series="{number}" d="{there}L{back[1:]}z"/>'
    )


def _curve(line: Line, number: int, x_axis: Axis, y_axis: Axis) -> str:
    x, y, end = clip(line.x, line.y, x_axis.low, x_axis.high)
    if not len(x):
        return ""
    x, y = bent(x, y, x_axis)
    kind = f'c{line.style.colour}" data-series="{number}"'
    dash = f' stroke-dasharray="{line.style.dash}"' if line.style.dash else ""
    drawn = f'<path class="curve {kind}{dash} d="{path(*_units(x, y, x_axis, y_axis))}"/>'
    if end >= x_axis.high:
        return drawn
    beyond = np.array([max(end, x_axis.low), x_axis.high])
    rest = path(*_units(beyond, y[[-1, -1]], x_axis, y_axis))
    return f'{drawn}<path class="beyond {kind} d="{rest}"/>'


def _points(line: Line, number: int, x_axis: Axis, y_axis: Axis) -> str:
    """Marked points; a label at the sides of the plot is moved inwards."""
    parts = []
    for x, y, text in line.points:
        across, down = WIDTH * x_axis.place(x), HEIGHT * (1 - y_axis.place(y))
        side, kind = (6, "first") if across < EDGE else (-6, "last")
        if EDGE <= across <= WIDTH - EDGE:
            side, kind = 0, ""
        parts.append(
            f'<g class="point c{line.style.colour}" data-series="{number}"'
            f' data-at="{across:.2f} {down:.2f}"'
            f' transform="translate({LEFT + across:.1f} {TOP + down:.1f})">'
            f'<path d="{line.style.shape}"/>{text and label(side, 18, text, kind)}</g>'
        )
    return "".join(parts)


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


def bent(x: FloatArray, y: FloatArray, x_axis: Axis) -> tuple[FloatArray, FloatArray]:
    """The line with more points, so that it is drawn as its values are read.

    Values are read along a straight line between two points; on a log axis that line is curved.
    """
    if not x_axis.is_log:
        return x, y
    octaves = log2(x_axis.high / x_axis.low)
    between = x_axis.low * 2.0 ** np.linspace(0.0, octaves, round(octaves * POINTS) + 1)
    between = between[(between > x[0]) & (between < x[-1])]
    places = np.searchsorted(x, between, "right")
    return np.insert(x, places, between), np.insert(y, places, np.interp(between, x, y))


def corners(x: FloatArray | IntArray, y: FloatArray | IntArray) -> IntArray:
    """The points of a step curve that matter: those where its direction changes."""
    if len(x) <= 2:
        return np.arange(len(x))
    flat = np.diff(y) == 0
    steep = np.diff(x) == 0
    is_straight = (flat[:-1] & flat[1:]) | (steep[:-1] & steep[1:])
    return np.concatenate([[0], 1 + np.flatnonzero(~is_straight), [len(x) - 1]])


def path(across: IntArray, down: IntArray) -> str:
    """The shortest path through points on the drawing grid: M, then h, v and l steps."""
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


def _units(x: FloatArray, y: FloatArray, x_axis: Axis, y_axis: Axis) -> tuple[IntArray, IntArray]:
    across = np.rint(WIDTH * FINE * x_axis.places(x)).astype(np.int64)
    down = np.rint(HEIGHT * FINE * (1 - y_axis.places(y))).astype(np.int64)
    return across, down


def rate_bar(
    value: float, low: float | None = None, high: float | None = None, end: float = 1.0
) -> Markup:
    """A rate from 0 to ``end`` as a bar, with its interval as a whisker."""
    ends = [100 * min(1.0, max(0.0, (bound or 0.0) / end)) for bound in (value, low, high)]
    width, left, right = ends
    whisker = f'<path d="M{left:.1f} 5H{right:.1f}M{left:.1f} 2v6M{right:.1f} 2v6"/>'
    parts = [
        '<rect class="track" width="100" height="10"/>',
        f'<rect class="share" width="{width:.1f}" height="10"/>',
        "" if low is None or high is None else whisker,
    ]
    return drawing("bar", 100, 10, parts, attributes=' preserveAspectRatio="none"')


def signed_bar(value: float, largest: float) -> Markup:
    """A difference as a bar to the left or right of a middle line."""
    length = 50 * min(1.0, abs(value) / largest if largest else 0.0)
    kind, start = ("less", 50 - length) if value < 0 else ("share", 50.0)
    parts = [
        f'<rect class="{kind}" x="{start:.1f}" width="{length:.1f}" y="1" height="8"/>',
        '<path d="M50 0v10"/>',
    ]
    return drawing("bar", 100, 10, parts, attributes=' preserveAspectRatio="none"')


CANVAS_WIDTH = 460
"""Width of a chart, in pixels at its natural size."""
LETTER, WIDE_LETTER = 8.0, 13.5
"""Estimated width of a Latin and of a Chinese character at the size of labels."""
LINE = 17
"""Height of a line of text."""


def chart(width: float, height: float, parts: Iterable[str], description: str) -> Markup:
    style = "" if width == CANVAS_WIDTH else f' style="max-width:{width / 16:.2f}rem"'
    return drawing("picture", width, height, parts, description=description, attributes=style)


def stroke(kind: str, path: str) -> str:
    return f'<path class="{kind}" d="{path}"/>'


def text_width(text: str) -> float:
    return sum(WIDE_LETTER if east_asian_width(character) in "WF" else LETTER for character in text)


def shortened(text: str, width: float) -> str:
    """The text, or as much of its beginning as fits into a width."""
    if text_width(text) <= width:
        return text
    beginning = ""
    for letter in text:
        if text_width(beginning + letter) > width - LETTER:
            break
        beginning += letter
    return beginning.rstrip() + "…"


def wrapped(text: str, width: float) -> list[str]:
    """The text in lines of at most that width; Chinese may break between any two characters."""
    lines, line = [], ""
    for word in re.findall(
        r"[\u3000-\u9fff\uff00-\uffef]|[^\s\u3000-\u9fff\uff00-\uffef]+\s*", text
    ):
        if line and text_width((line + word).rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += word
    return [*lines, line.rstrip()]


def level_ticks(axis: Axis, left: float, right: float, top: float, bottom: float) -> str:
    """Level lines for an upright axis, with their labels to the left."""
    parts = ['<g class="ticks">']
    for value, text in axis.ticks:
        y = bottom - (bottom - top) * axis.place(value)
        parts.append(f'<path d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
        parts.append(label(left - 6, y + 4.5, text, "last"))
    return "".join([*parts, "</g>"])


def upright_ticks(axis: Axis, left: float, right: float, top: float, bottom: float) -> str:
    """Upright lines for a level axis, with their labels below and its title below them."""
    parts = ['<g class="ticks">']
    for value, text in axis.ticks:
        x = left + (right - left) * axis.place(value)
        parts.append(f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>')
        parts.append(label(x, bottom + 17, text))
    parts.append("</g>")
    if axis.title:
        parts.append(label((left + right) / 2, bottom + 38, axis.title, "axis"))
    return "".join(parts)


def whisker_up(x: float, low: float, high: float) -> str:
    """An interval as an upright line with ends."""
    ends = f"M{x - 4:.1f} {low:.1f}h8M{x - 4:.1f} {high:.1f}h8"
    return stroke("whisker", f"M{x:.1f} {low:.1f}V{high:.1f}{ends}")


def whisker_across(y: float, low: float, high: float) -> str:
    """An interval as a level line with ends."""
    ends = f"M{low:.1f} {y - 4:.1f}v8M{high:.1f} {y - 4:.1f}v8"
    return stroke("whisker", f"M{low:.1f} {y:.1f}H{high:.1f}{ends}")
