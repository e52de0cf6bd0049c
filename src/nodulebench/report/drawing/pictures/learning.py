"""How networks learnt -> a picture of the loss, one line for each training."""

from collections.abc import Mapping, Sequence

import numpy as np

from nodulebench.language import Language
from nodulebench.pages.svg import on_paper
from nodulebench.report.drawing.axes import Axis, nice_ticks
from nodulebench.report.drawing.styles import Style
from nodulebench.report.drawing.svg import Line, plot

MOST_NAMED = 1
"""Lines whose names stand at their ends; more would cover each other."""

Point = tuple[int, float]
"""A step, and what was measured there."""


def learning_picture(name: str, curves: Mapping[int | None, Sequence[Point]], say: Language) -> str:
    """The loss of each training by step, as a file of its own.

    Args:
        name: of the network.
        curves: the fold that each training left out (None: none) -> steps and losses.
        say: the words of a language.
    """
    steps = [step for points in curves.values() for step, _ in points]
    losses = [loss for points in curves.values() for _, loss in points]
    last, most = max(steps, default=1), max(losses, default=1.0)
    first = min(steps, default=0) if len(set(steps)) > 1 else 0  # nothing is known before it
    across = Axis(say("axis.steps"), first, last, nice_ticks(first, last))
    down = Axis(say("axis.loss"), 0, most * 1.05, nice_ticks(0, most * 1.05))
    lines = [
        Line(
            np.array([step for step, _ in points], dtype=np.float64),
            np.array([loss for _, loss in points], dtype=np.float64),
            Style(number),
            points=((*points[-1], _name(fold, say) if len(curves) <= MOST_NAMED else ""),),
        )
        for number, (fold, points) in enumerate(curves.items())
        if points
    ]
    return on_paper(plot(across, down, lines, say("curve.learning", names=name)))


def _name(fold: int | None, say: Language) -> str:
    return say("curve.all_folds") if fold is None else say("curve.without_fold", fold=fold)
