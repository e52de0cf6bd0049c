"""What algorithms cost and find -> a picture, with the front that none of them is beyond."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nodulebench.i18n.translator import Language
from nodulebench.report.charts.axes import Axis, nice_ticks
from nodulebench.report.charts.styles import Style
from nodulebench.report.charts.svg import Line, plot
from nodulebench.report.pages.svg import on_paper

COSTS = ("median_seconds", "peak_memory_mb")
WORTH = ("sensitivity", "fp_per_case")
"""What is set against each other."""
LESS_IS_BETTER = (*COSTS, "fp_per_case")
_ROOM = 1.12
"""How far an axis goes beyond its last value."""


@dataclass(frozen=True, slots=True)
class TradeOff:
    """One algorithm: its name, what it costs and how good it is."""

    name: str
    cost: float
    good: float


def trade_off_picture(points: Sequence[TradeOff], cost: str, worth: str, say: Language) -> str:
    """Algorithms by cost and worth, as a file of its own.

    Args:
        points: one for each algorithm.
        cost: what is on the one axis, of ``COSTS``.
        worth: what is on the other, of ``WORTH``.
        say: the words of a language.
    """
    titles = {
        "median_seconds": say("axis.seconds"),
        "peak_memory_mb": say("axis.memory"),
        "sensitivity": say("axis.sensitivity"),
        "fp_per_case": say("axis.fp_per_case"),
    }
    is_less_better = worth in LESS_IS_BETTER
    sign = -1.0 if is_less_better else 1.0
    front = front_of(points, sign)
    most_cost = max(one.cost for one in points) * _ROOM or 1.0
    most_good = max(one.good for one in points) * _ROOM or 1.0
    top = most_good if is_less_better else 1.0
    across = Axis(titles[cost], 0.0, most_cost, nice_ticks(0.0, most_cost))
    up = Axis(titles[worth], 0.0, top, nice_ticks(0.0, top))
    costs, good = np.array([(one.cost, one.good) for one in front]).T
    worst = top if is_less_better else 0.0  # for less than the cheapest there is nothing
    line = Line(
        np.repeat(costs, 2),
        np.insert(np.repeat(good, 2)[:-1], 0, worst),
        Style(0),
        points=tuple((one.cost, one.good, one.name) for one in points),
    )
    names = ", ".join(one.name for one in front)
    return on_paper(plot(across, up, [line], say("curve.trade_off", names=names)))


def front_of(points: Sequence[TradeOff], sign: float = 1.0) -> list[TradeOff]:
    """The algorithms that no other is beyond, neither cheaper nor better, by rising cost."""
    front: list[TradeOff] = []
    for one in sorted(points, key=lambda one: (one.cost, -sign * one.good)):
        if not front or sign * one.good > sign * front[-1].good:
            front.append(one)
    return front
