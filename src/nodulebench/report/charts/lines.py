"""Values one after another -> markers with intervals, and the best so far, left to right."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nodulebench.report.charts.axes import Axis
from nodulebench.report.charts.canvas import (
    WIDTH,
    level_ticks,
    picture,
    shortened,
    stroke,
    whisker_up,
)
from nodulebench.report.charts.styles import Style
from nodulebench.report.pages.svg import label, told_there

LEFT, TOP, HEIGHT, BOTTOM = 44, 30, 190, 40
MOST_NAMED = 8
"""So many steps have room for their names below them."""


@dataclass(frozen=True, slots=True)
class Step:
    """One value, what it is called below, and what is said where one points at it."""

    value: float
    low: float | None
    high: float | None
    name: str
    told: str


def history_chart(
    steps: Sequence[Step],
    axis: Axis,
    description: str,
    *,
    others: Sequence[tuple[float, str]] = (),
    is_lower_better: bool = False,
) -> Markup:
    """Steps from left to right.

    Args:
        steps: in the order of time.
        axis: the upright axis.
        description: what the picture shows, for those who cannot see it.
        others: values to compare with, as dashed lines, each with its name.
        is_lower_better: whether the best so far is the lowest.
    """
    bottom, right = TOP + HEIGHT, WIDTH - 8.0
    share = (right - LEFT) / len(steps)

    def height(value: float) -> float:
        return bottom - HEIGHT * axis.place(min(max(value, axis.low), axis.high))

    parts = [level_ticks(axis, LEFT, right, TOP, bottom), label(0, 16, axis.title, "axis first")]
    for value, name in others:
        parts.append(stroke("limit", f"M{LEFT} {height(value):.1f}H{right:.1f}"))
        parts.append(label(right, height(value) - 4, shortened(name, 200), "last"))
    best, path = steps[0].value, ""
    for number, one in enumerate(steps):
        best = min(best, one.value) if is_lower_better else max(best, one.value)
        path += f"{'H' if path else f'M{LEFT} {height(best):.1f}H'}{LEFT + share * number:.1f}"
        path += f"V{height(best):.1f}"
    parts.append(stroke(f"curve c{Style(0).colour}", f"{path}H{right:.1f}"))
    for number, one in enumerate(steps):
        x = LEFT + share * (number + 0.5)
        shapes = Style(0).marker(x, height(one.value))
        if one.low is not None and one.high is not None:
            shapes = whisker_up(x, height(one.low), height(one.high)) + shapes
        parts.append(told_there(shapes, one.told))
        if len(steps) <= MOST_NAMED:
            parts.append(label(x, bottom + 18, shortened(one.name, share - 4)))
    parts.append(stroke("base", f"M{LEFT} {bottom}H{right:.1f}"))
    return picture(WIDTH, bottom + BOTTOM, parts, description)
