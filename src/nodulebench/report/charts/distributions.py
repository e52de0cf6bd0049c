"""Values of groups -> box plots with every value, and brackets that mark significant pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from nodulebench.core.arrays import FloatArray
from nodulebench.report.charts.axes import Axis
from nodulebench.report.charts.canvas import level_ticks, picture, shortened, stroke
from nodulebench.report.charts.styles import Fill, Style
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
    return picture(WIDTH, bottom + BOTTOM, parts, description)


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
        taken = {float(one) for one in shift[near & (y <= y[place])]}
        shift[place] = next((reach * step for step in steps if reach * step not in taken), 0.0)
    return shift
