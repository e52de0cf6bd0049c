"""A range of numbers -> places on an axis and its ticks."""

from dataclasses import dataclass
from math import ceil, floor, log2, log10

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.i18n.numbers import decimals, whole

MOST_NARROW = 6
"""Labels that a narrow picture has room for."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of numbers on an axis and where its ticks stand."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    is_log: bool = False
    reading: str = ""
    """How a value on it is named when it is read off; empty: as the title."""

    def place(self, value: float) -> float:
        """Where a value lies between the low end (0) and the high end (1)."""
        return float(self.places(np.array([value]))[0])

    def places(self, values: FloatArray) -> FloatArray:
        """Where values lie between the low end (0) and the high end (1)."""
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
    """Round numbers, so few that their labels stay apart in a narrow picture; zero stays."""
    ticks = nice_ticks(low, high)
    zero = next((number for number, (value, _) in enumerate(ticks) if value == 0), 0)
    return ticks if len(ticks) <= MOST_NARROW else ticks[zero % 2 :: 2]


def whole_ticks(top: float) -> tuple[tuple[float, str], ...]:
    """Round whole numbers from 0 to a count."""
    return tuple(
        (value, whole(round(value))) for value, _ in nice_ticks(0.0, top) if value == round(value)
    )
