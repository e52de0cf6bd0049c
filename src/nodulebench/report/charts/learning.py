"""How networks learnt -> a picture of the loss, one line for each training, beside it the area."""

from collections.abc import Mapping, Sequence
from math import floor

import numpy as np
from markupsafe import Markup

from nodulebench.i18n.translator import Language
from nodulebench.report.charts.axes import Axis, nice_ticks
from nodulebench.report.charts.styles import Style
from nodulebench.report.charts.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Line, plot
from nodulebench.report.pages.svg import drawing, on_paper, placed

MOST_NAMED = 1
"""Lines whose names stand at their ends; more would cover each other."""

Point = tuple[int, float]
"""A step, and what was measured there."""
Curves = Mapping[int | None, Sequence[Point]]
"""The fold that each training left out (None: none) -> what was measured at its steps."""


def learning_picture(name: str, losses: Curves, areas: Curves, say: Language) -> str:
    """The loss of each training by step, as a file of its own; beside it the area, where it is.

    Args:
        name: of the network.
        losses: of each training.
        areas: under the ROC curve of candidates held back; the best of each is marked.
        say: the words of a language.
    """
    loss = _loss_plot(name, losses, say)
    if not any(areas.values()):
        return on_paper(loss)
    width, height = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    parts = [placed(loss, 0, 0), placed(_area_plot(areas, _steps(losses, say), say), width, 0)]
    told = say("curve.learning_area", names=name)
    return on_paper(drawing("plot", 2 * width, height, parts, description=told))


def _loss_plot(name: str, losses: Curves, say: Language) -> Markup:
    most = max((loss for points in losses.values() for _, loss in points), default=1.0)
    up = Axis(say("axis.loss"), 0, most * 1.05, nice_ticks(0, most * 1.05))
    lines = [
        _line(number, points, points[-1], _name(fold, say) if len(losses) <= MOST_NAMED else "")
        for number, (fold, points) in enumerate(losses.items())
        if points
    ]
    return plot(_steps(losses, say), up, lines, say("curve.learning", names=name))


def _area_plot(areas: Curves, across: Axis, say: Language) -> Markup:
    least = min(area for points in areas.values() for _, area in points)
    low = min(0.9, floor(least * 10) / 10)
    up = Axis(say("axis.area_held_back"), low, 1.0, nice_ticks(low, 1.0))
    lines = [
        _line(number, points, max(points, key=lambda point: point[1]), "")
        for number, points in enumerate(areas.values())
        if points
    ]
    return plot(across, up, lines, say("axis.area_held_back"))


def _steps(curves: Curves, say: Language) -> Axis:
    steps = [step for points in curves.values() for step, _ in points]
    last = max(steps, default=1)
    first = min(steps, default=0) if len(set(steps)) > 1 else 0  # nothing is known before it
    return Axis(say("axis.steps"), first, last, nice_ticks(first, last))


def _line(number: int, points: Sequence[Point], marked: Point, name: str) -> Line:
    steps, values = (np.array(one, dtype=np.float64) for one in zip(*points, strict=True))
    return Line(steps, values, Style(number), points=((*marked, name),))


def _name(fold: int | None, say: Language) -> str:
    return say("curve.all_folds") if fold is None else say("curve.without_fold", fold=fold)
