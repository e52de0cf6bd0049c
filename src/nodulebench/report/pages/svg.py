"""Numbers and texts -> SVG: elements, axes, the styles of series, small bars, whole files.

Only this module escapes the texts of charts.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log2, log10
from unicodedata import east_asian_width

import numpy as np
from markupsafe import Markup, escape

from nodulebench.core.arrays import FloatArray
from nodulebench.i18n.numbers import decimals, whole
from nodulebench.report.pages.colours import Medium, palette, with_colours
from nodulebench.report.pages.templates import asset, printable

CANVAS_WIDTH = 460
"""Width of a picture, in pixels at its natural size."""


def drawing(
    kind: str, width: float, height: float, parts: Iterable[str], description: str = ""
) -> Markup:
    """Parts as one SVG element of a class of the style sheet: plot, picture, bar or key.

    Without a description of what it shows it is only decoration.
    """
    size = ""
    if kind == "bar":
        size = ' preserveAspectRatio="none"'
    elif kind == "picture" and width != CANVAS_WIDTH:
        size = f' style="max-width:{width / 16:.2f}rem"'
    role = f'role="img" aria-label="{escape(description)}"' if description else 'aria-hidden="true"'
    return Markup(  # noqa: S704 - texts come through label, the rest are numbers
        f'<svg class="{kind}" viewBox="0 0 {width:.0f} {height:.0f}"{size} {role}>'
        f"{''.join(parts)}</svg>"
    )


def label(x: float, y: float, text: str, kind: str = "") -> str:
    """A text centred at x, or beginning (``first``) or ending (``last``) there."""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def stroke(kind: str, path: str) -> str:
    return f'<path class="{kind}" d="{path}"/>'


def embedded_text(shapes: str, text: str) -> str:
    """Shapes with a text that is shown on pointing at them."""
    return f"<g><title>{escape(text)}</title>{shapes}</g>"


def placed(svg: str, x: int, y: int) -> str:
    """An SVG at its natural size inside another."""
    match = re.search(r'viewBox="0 0 (\d+) (\d+)"', svg)
    size = f' width="{match[1]}" height="{match[2]}"' if match else ""
    return str(svg).replace("<svg", f'<svg x="{x}" y="{y}"{size}', 1)


def standalone(svg: str, *, medium: Medium = "light", style: str = "") -> str:
    """A chart as an SVG file with its style sheet; ``style`` is added to it."""
    head, _, rest = str(svg).partition(">")
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    filled = with_colours(asset("charts.css") + style, medium)
    return printable(f"{head}><style>{filled}</style>{rest}\n")


def on_paper(svg: str) -> str:
    """A chart as an SVG file on white ground, in the fonts of the reader's system."""
    drawn = standalone(svg, style="text { font-family: system-ui, sans-serif; }")
    ground = f'<rect width="100%" height="100%" fill="{palette("light")["paper"]}"/>'
    return drawn.replace("</style>", f"</style>{ground}", 1)


LETTER, WIDE_LETTER = 8.0, 13.5
"""Estimated width of a Latin and of a Chinese character at the size of labels."""
LINE = 17
"""Height of a line of text."""


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


Ticks = tuple[tuple[float, str], ...]
"""Values on an axis and their labels."""
MOST_NARROW = 6
"""Labels that fit into a narrow chart."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of numbers on an axis, with its ticks."""

    title: str
    low: float
    high: float
    ticks: Ticks
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


def nice_ticks(low: float, high: float) -> Ticks:
    """Round numbers between two values, four steps or more apart from end to end."""
    span = high - low
    step = 10.0 ** floor(log10(span))
    step = next(step / part for part in (1, 2, 5, 10) if span / (step / part) >= 4)
    places = max(0, ceil(-log10(step) - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return tuple(
        (number * step, decimals(number * step, places)) for number in range(first, last + 1)
    )


def few_ticks(low: float, high: float) -> Ticks:
    """Round numbers, so few that their labels stay apart in a narrow chart; zero stays."""
    ticks = nice_ticks(low, high)
    zero = next((number for number, (value, _) in enumerate(ticks) if value == 0), 0)
    return ticks if len(ticks) <= MOST_NARROW else ticks[zero % 2 :: 2]


def whole_ticks(top: float) -> Ticks:
    """Round whole numbers from 0 to a count."""
    return tuple(
        (value, whole(round(value))) for value, _ in nice_ticks(0.0, top) if value == round(value)
    )


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
    return drawing("bar", 100, 10, parts)


def signed_bar(value: float, largest: float) -> Markup:
    """A difference as a bar to the left or right of a middle line."""
    length = 50 * min(1.0, abs(value) / largest if largest else 0.0)
    kind, start = ("less", 50 - length) if value < 0 else ("share", 50.0)
    parts = [
        f'<rect class="{kind}" x="{start:.1f}" width="{length:.1f}" y="1" height="8"/>',
        '<path d="M50 0v10"/>',
    ]
    return drawing("bar", 100, 10, parts)


SHAPES = (
    "M-4 0C-4 2.2-2.2 4 0 4C2.2 4 4 2.2 4 0C4-2.2 2.2-4 0-4C-2.2-4-4-2.2-4 0z",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-4.8L4.6 3.4H-4.6z",
    "M0-5L5 0L0 5L-5 0z",
    "M0 4.8L4.6-3.4H-4.6z",
)
"""Marker shapes: circle, square, triangle, diamond, triangle pointing down."""
DASHES = ("", "9 4", "12 4 2 4", "4 3", "14 4 2 3 2 4", "20 5", "8 3 3 3")
COLOURS = 7
HATCHES = (None, (1, -1), (1, 1), (1, 0), (0, 1))
"""Directions of hatching, across and down: solid, rising, falling, level, upright."""
HATCH_GAP = 5
KEY = (40, 12)
"""Width and height of a sample in a legend."""


@dataclass(frozen=True, slots=True)
class Coloured:
    """The number of a series or a kind, which gives it its colour."""

    number: int

    @property
    def colour(self) -> int:
        return self.number % COLOURS + 1


@dataclass(frozen=True, slots=True)
class Style(Coloured):
    """The style of a series: colour, dashes and marker differ together, also without colour."""

    @property
    def dash(self) -> str:
        """Its dashes, as an attribute; with 7 colours and 7 shifted patterns 49 series differ."""
        dash = DASHES[(self.number + self.number // COLOURS) % len(DASHES)]
        return f' stroke-dasharray="{dash}"' if dash else ""

    @property
    def sample(self) -> Markup:
        line = f'<path class="curve c{self.colour}"{self.dash} d="M1 6H39"/>'
        return drawing("key", *KEY, [line, self.marker(20, 6)])

    def marker(self, x: float, y: float, attributes: str = "", text: str = "") -> str:
        """Its marker at a place; ``text`` is a label that moves with it."""
        shape = SHAPES[self.number % len(SHAPES)]
        return (
            f'<g class="point c{self.colour}"{attributes} transform="translate({x:.1f} {y:.1f})">'
            f'<path d="{shape}"/>{text}</g>'
        )


@dataclass(frozen=True, slots=True)
class Dot(Style):
    """The same style for single values: a marker without a line."""

    @property
    def sample(self) -> Markup:
        return drawing("key", *KEY, [self.marker(20, 6)])


@dataclass(frozen=True, slots=True)
class Fill(Coloured):
    """The style of bars of one kind: colour and hatching differ together."""

    @property
    def sample(self) -> Markup:
        return drawing("key", *KEY, [self.drawn(5, 1, 30, 10)])

    def drawn(
        self, left: float, top: float, width: float, height: float, *, may_be_solid: bool = True
    ) -> str:
        slope = HATCHES[self.number % len(HATCHES)]
        solid = " solid" if slope is None and may_be_solid else ""
        box = (
            f'<rect class="fill{solid} c{self.colour}" x="{left:.1f}" y="{top:.1f}"'
            f' width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"/>'
        )
        lines = "" if slope is None else _hatching(slope, left, top, width, height)
        return box + (stroke(f"hatch c{self.colour}", lines) if lines else "")


def _hatching(slope: tuple[int, int], left: float, top: float, width: float, height: float) -> str:
    """The path of parallel lines inside a box, cut at its edges."""
    right, bottom = left + width, top + height
    across, down = slope
    parts = []
    if not across:
        parts = [f"M{x:.1f} {top:.1f}V{bottom:.1f}" for x in _every(left, right)]
    elif not down:
        parts = [f"M{left:.1f} {y:.1f}H{right:.1f}" for y in _every(top, bottom)]
    else:
        for start in _every(top - width, bottom) if down > 0 else _every(top, bottom + width):
            # the line passes (left, start) and falls or rises by one per step to the right
            ends = sorted(left + (y - start) * down for y in (top, bottom))
            first, last = max(left, ends[0]), min(right, ends[1])
            if last > first:
                y = start + down * (first - left)
                parts.append(f"M{first:.1f} {y:.1f}L{last:.1f} {y + down * (last - first):.1f}")
    return "".join(parts)


def _every(low: float, high: float) -> list[float]:
    """Places of hatching lines between two edges, tied to the page so that bars match."""
    first = ceil((low + 1e-6) / HATCH_GAP)
    return [number * HATCH_GAP for number in range(first, ceil((high - 1e-6) / HATCH_GAP))]
