"""Values one after another -> markers with intervals, and the best so far, left to right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
from markupsafe import Markup

from nodulebench.i18n.translator import Translator
from nodulebench.report import charts
from nodulebench.report.charts import Line, plot
from nodulebench.report.pages.svg import (
    CANVAS_WIDTH,
    Axis,
    Style,
    drawing,
    embedded_text,
    label,
    level_ticks,
    nice_ticks,
    on_paper,
    placed,
    shortened,
    stroke,
    whisker_up,
)

LEFT, TOP, HEIGHT, BOTTOM = 44, 30, 190, 40
MOST_NAMED = 8
"""Names are shown for at most this many steps."""


@dataclass(frozen=True, slots=True)
class Step:
    """A value with its interval, its name on the axis and the text shown on pointing."""

    value: float
    low: float | None
    high: float | None
    name: str
    tooltip: str


def history_chart(
    steps: Sequence[Step],
    axis: Axis,
    description: str,
    *,
    others: Sequence[tuple[float, str]] = (),
    is_lower_better: bool = False,
) -> Markup:
    """Steps in the order of time, with the best so far.

    ``others`` are values to compare with, as dashed lines, each with its name.
    """
    bottom, right = TOP + HEIGHT, CANVAS_WIDTH - 8.0
    share = (right - LEFT) / len(steps)

    def height(value: float) -> float:
        return bottom - HEIGHT * axis.place(min(max(value, axis.low), axis.high))

    parts = [level_ticks(axis, LEFT, right, TOP, bottom), label(0, 16, axis.title, "axis first")]
    for value, name in others:
        parts.append(stroke("limit", f"M{LEFT} {height(value):.1f}H{right:.1f}"))
        parts.append(label(right, height(value) - 4, shortened(name, 200), "last"))
    best, path = steps[0].value, ""
    for number, step in enumerate(steps):
        best = min(best, step.value) if is_lower_better else max(best, step.value)
        path += f"{'H' if path else f'M{LEFT} {height(best):.1f}H'}{LEFT + share * number:.1f}"
        path += f"V{height(best):.1f}"
    parts.append(stroke(f"curve c{Style(0).colour}", f"{path}H{right:.1f}"))
    for number, step in enumerate(steps):
        x = LEFT + share * (number + 0.5)
        shapes = Style(0).marker(x, height(step.value))
        if step.low is not None and step.high is not None:
            shapes = whisker_up(x, height(step.low), height(step.high)) + shapes
        parts.append(embedded_text(shapes, step.tooltip))
        if len(steps) <= MOST_NAMED:
            parts.append(label(x, bottom + 18, shortened(step.name, share - 4)))
    parts.append(stroke("base", f"M{LEFT} {bottom}H{right:.1f}"))
    return drawing("picture", CANVAS_WIDTH, bottom + BOTTOM, parts, description)


MOST_NAMED_LEARNING = 1
"""With more lines their names are left out, because they would overlap."""

Point = tuple[int, float]
"""A step, and what was measured there."""
Curves = Mapping[int | None, Sequence[Point]]
"""The fold that each training left out (None: none) -> what was measured at its steps."""


def learning_chart(name: str, losses: Curves, areas: Curves, translate: Translator) -> str:
    """The loss of each training by step as an SVG file, with the area next to it if it is known.

    The areas are under the ROC curve of candidates held back; the best of each is marked.
    """
    loss = _loss_plot(name, losses, translate)
    if not any(areas.values()):
        return on_paper(loss)
    width = charts.LEFT + charts.WIDTH + charts.RIGHT
    height = charts.TOP + charts.HEIGHT + charts.BOTTOM
    parts = [
        placed(loss, 0, 0),
        placed(_area_plot(areas, _steps(losses, translate), translate), width, 0),
    ]
    description = translate("curve.learning_area", names=name)
    return on_paper(drawing("plot", 2 * width, height, parts, description))


def _loss_plot(name: str, losses: Curves, translate: Translator) -> Markup:
    most = max((loss for points in losses.values() for _, loss in points), default=1.0)
    up = Axis(translate("axis.loss"), 0, most * 1.05, nice_ticks(0, most * 1.05))
    lines = [
        _line(
            number,
            points,
            points[-1],
            _name(fold, translate) if len(losses) <= MOST_NAMED_LEARNING else "",
        )
        for number, (fold, points) in enumerate(losses.items())
        if points
    ]
    return plot(_steps(losses, translate), up, lines, translate("curve.learning", names=name))


def _area_plot(areas: Curves, across: Axis, translate: Translator) -> Markup:
    least = min(area for points in areas.values() for _, area in points)
    low = min(0.9, floor(least * 10) / 10)
    up = Axis(translate("axis.area_held_back"), low, 1.0, nice_ticks(low, 1.0))
    lines = [
        _line(number, points, max(points, key=lambda point: point[1]), "")
        for number, points in enumerate(areas.values())
        if points
    ]
    return plot(across, up, lines, translate("axis.area_held_back"))


def _steps(curves: Curves, translate: Translator) -> Axis:
    steps = [step for points in curves.values() for step, _ in points]
    last = max(steps, default=1)
    first = min(steps, default=0) if len(set(steps)) > 1 else 0  # nothing is known before it
    return Axis(translate("axis.steps"), first, last, nice_ticks(first, last))


def _line(number: int, points: Sequence[Point], marked: Point, name: str) -> Line:
    steps, values = (np.array(numbers, dtype=np.float64) for numbers in zip(*points, strict=True))
    return Line(steps, values, Style(number), points=((*marked, name),))


def _name(fold: int | None, translate: Translator) -> str:
    return (
        translate("curve.all_folds") if fold is None else translate("curve.without_fold", fold=fold)
    )


COSTS = ("median_seconds", "peak_memory_mb")
WORTH = ("sensitivity", "fp_per_case")
"""Metrics of cost and of worth that can be drawn against each other."""
LESS_IS_BETTER = (*COSTS, "fp_per_case")
_MARGIN = 1.12
"""How far an axis goes beyond its last value."""


@dataclass(frozen=True, slots=True)
class TradeOff:
    """One algorithm: its name, what it costs and how good it is."""

    name: str
    cost: float
    good: float


def trade_off_chart(
    points: Sequence[TradeOff], cost: str, worth: str, translate: Translator
) -> str:
    """Algorithms by cost (of ``COSTS``) and worth (of ``WORTH``) as an SVG file."""
    titles = {
        "median_seconds": translate("axis.seconds"),
        "peak_memory_mb": translate("axis.memory"),
        "sensitivity": translate("axis.sensitivity"),
        "fp_per_case": translate("axis.fp_per_case"),
    }
    is_less_better = worth in LESS_IS_BETTER
    sign = -1.0 if is_less_better else 1.0
    front = front_of(points, sign)
    most_cost = max(point.cost for point in points) * _MARGIN or 1.0
    most_good = max(point.good for point in points) * _MARGIN or 1.0
    top = most_good if is_less_better else 1.0
    across = Axis(titles[cost], 0.0, most_cost, nice_ticks(0.0, most_cost))
    up = Axis(titles[worth], 0.0, top, nice_ticks(0.0, top))
    costs, good = np.array([(point.cost, point.good) for point in front]).T
    worst = top if is_less_better else 0.0  # for less than the cheapest there is nothing
    line = Line(
        np.repeat(costs, 2),
        np.insert(np.repeat(good, 2)[:-1], 0, worst),
        Style(0),
        points=tuple((point.cost, point.good, point.name) for point in points),
    )
    names = ", ".join(point.name for point in front)
    return on_paper(plot(across, up, [line], translate("curve.trade_off", names=names)))


def front_of(points: Sequence[TradeOff], sign: float = 1.0) -> list[TradeOff]:
    """The Pareto front: algorithms that no other beats in cost and worth, by rising cost."""
    front: list[TradeOff] = []
    for point in sorted(points, key=lambda point: (point.cost, -sign * point.good)):
        if not front or sign * point.good > sign * front[-1].good:
            front.append(point)
    return front
