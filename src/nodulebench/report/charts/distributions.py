"""Values of groups -> box plots with every value, and brackets that mark significant pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from nodulebench.core.arrays import FloatArray
from nodulebench.report.charts.styles import Fill, Style
from nodulebench.report.charts.svg import Axis, chart, level_ticks, shortened, stroke, text_width
from nodulebench.report.pages.svg import label

WIDTH, LEFT, HEIGHT, BOTTOM = 310, 40, 220, 46
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
    bottom, right = top + HEIGHT, WIDTH - 6
    share = (right - LEFT) / len(groups)
    middles = [LEFT + share * (number + 0.5) for number in range(len(groups))]
    width = min(52.0, share * 0.6)
    parts = [level_ticks(axis, LEFT, right, top, bottom), label(0, 14, axis.title, "axis first")]
    for number, (x, (name, values)) in enumerate(zip(middles, groups, strict=True)):
        y = bottom - HEIGHT * axis.places(np.asarray(values, dtype=np.float64))
        parts.append(_box(x, y, width, number))
        parts += _names(x, bottom, name, share)
    for level, bracket in enumerate(brackets):
        left, end = middles[bracket.first], middles[bracket.second]
        foot = top - 4 - BRACKET * level
        parts.append(stroke("bracket", f"M{left:.1f} {foot:.1f}v-5H{end:.1f}v5"))
        parts.append(label((left + end) / 2, foot - 8, bracket.mark, "value"))
    return chart(WIDTH, bottom + BOTTOM, parts, description)


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
MOST_GUTTER = 170
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
    gutter = min(MOST_GUTTER, max(text_width(name) for name in rows) + 12)
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
    return chart(width, bottom + HEAT_MAP_BOTTOM, parts, description)


def _cell(x: float, y: float, count: int | None, whole: int) -> str:
    share = 0.0 if not count or not whole else count / whole
    shade = LEAST_SHADE + (MOST_SHADE - LEAST_SHADE) * share
    text = "–" if count is None else str(count)
    return (
        f'<rect class="heat" x="{x:.1f}" y="{y:.1f}" width="{CELL_WIDTH - 3}"'
        f' height="{CELL_HEIGHT - 3}" fill-opacity="{shade:.3f}"/>'
        f"{label(x + (CELL_WIDTH - 3) / 2, y + CELL_HEIGHT / 2 + 3, text, 'value')}"
    )
