"""Plan: the answer of a sample-size calculation, with its assumptions and its curve."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice

LARGEST_SIZE = 1_000_000


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """One size and its power or half-width."""

    size: int
    value: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer of a sample-size calculation."""

    question: Notice
    answer: int | None
    """The smallest size that suffices; None where no size considered does."""
    unit: str
    assumptions: tuple[Notice, ...]
    method: Notice
    curve_name: str
    """What the curve shows against size: ``power`` or ``half_width``."""
    curve: tuple[PlanPoint, ...]
    details: dict[str, float] = field(default_factory=dict)
    """Further numbers by name, such as the allowed misses of an acceptance test."""


def smallest_size(is_enough: Callable[[int], bool], *, start: int = 2) -> int:
    """The smallest sufficient size from ``start`` on; every larger size must suffice, too."""
    low, high = start - 1, start
    while not is_enough(high):
        low, high = high, 2 * high
        if high > LARGEST_SIZE:
            what = f"no size up to {LARGEST_SIZE} suffices."
            raise InputError.at("sample size", what, "Ask for a larger difference.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def curve_around(
    answer: int, value: Callable[[int], float], *, smallest: int = 2
) -> tuple[PlanPoint, ...]:
    """The curve from a quarter of the answer to its double, the answer itself included."""
    steps = answer * np.array([0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5, 2])
    sizes = sorted({max(smallest, math.ceil(step)) for step in steps.tolist()})
    return tuple(PlanPoint(size, float(value(size))) for size in sizes)


def check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise InputError.at(name, f"{value:g} is not between {low:g} and {high:g}.")


def check_between(name: str, value: float, low: float = 0.0, high: float = 1.0) -> None:
    if not low < value < high:
        raise InputError.at(name, f"{value:g} is not above {low:g} and below {high:g}.")


ASSUMED_CORRELATION = 0.5
"""Of being found, within patients, where none is given: as the guarded interval assumes."""
ASSUMED_PAIRED_CORRELATION = 0.3
"""Of the difference of two algorithms: discordances cluster less than misses."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """The loss of information because patients have several nodules."""

    effect: float
    """How many times more nodules are needed than if each were in a different patient."""
    assumption: Notice


def clustering(
    mean: float, sd: float | None, correlation: float | None, *, assumed_correlation: float
) -> Clustering:
    """The design effect 1 + (m - 1) rho, with m = sum m_k² / sum m_k (Kish 1965, section 8.2).

    m is the number of nodules in the patient of the average nodule, mean + SD² / mean: patients
    with many nodules count for more than the mean says. Without ``sd`` a patient with a nodule has
    a geometric number of further ones, as observed counts with their few long tails are.
    """
    spread = math.sqrt(mean * max(mean - 1, 0)) if sd is None else sd
    rho = assumed_correlation if correlation is None else correlation
    check_range("nodules per patient", mean, 1, math.inf)
    check_range("standard deviation of nodules per patient", spread, 0, math.inf)
    check_range("correlation within patients", rho, 0, 1)
    if mean == 1 and spread > 0:
        what = f"{spread:g} is impossible with a mean of 1."
        remedy = "Count patients with a nodule only, and give the mean of their numbers."
        raise InputError.at("standard deviation of nodules per patient", what, remedy)
    if mean == 1:
        return Clustering(1.0, Notice("one_nodule_each"))
    effect = 1 + (mean + spread**2 / mean - 1) * rho
    values = {"mean": mean, "sd": spread, "correlation": rho, "effect": effect}
    assumed = {"is_sd_assumed": sd is None, "is_correlation_assumed": correlation is None}
    return Clustering(effect, Notice("several_nodules_each", {**values, **assumed}))
