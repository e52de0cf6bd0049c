"""Looks at a test set -> how much the best of them flatters, and a bound that still holds.

Two statements:

* ``optimism``, for an estimate that is normal around the truth: algorithms of equal worth are
  scored k times on the same cases; the best metric lies above the truth by
  ``standard_error * sqrt(1 - correlation) * E[max of k standard normals]`` on average. With the
  correlation unknown, 0 gives the most that it can be.
* ``bound_after_evaluations``: a bound that keeps its level for any use of the feedback.
  If a look has m possible answers, everything a developer can submit at look k depends on at most
  m^(k-1) histories, so a Bonferroni bound over 1 + m + ... + m^(k-1) hypotheses holds for adaptive
  choices too. A developer who stops when passed can only have seen the other m - 1 answers before
  look k, so m - 1 takes the place of m. Of a verdict these are "failed" and "undecided": whether
  a test is undecided can depend on the marks, so "undecided" counts as an answer, always.
"""

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

from nodulebench.core.errors import UndefinedError

_NORMAL = NormalDist()
_HALF_WIDTH, _POINTS = 9.0, 3601
"""Where the integral of the largest of k normals is taken; beyond, the density is below 1e-18."""
_HALVINGS = 60
"""How often the range of a bound is halved, until nothing of it is left."""


@dataclass(frozen=True, slots=True)
class Answers:
    """How much a look tells."""

    count: int | None
    """Different answers that a look can give; None: so many that no bound holds."""
    stops_when_passed: bool = False
    """Whether one of the answers is ``passed``, after which the developer stops."""
    has_failed: bool = False
    """Whether a look failed at no cost over what is in the set, before any of these or between."""


@cache
def expected_best(looks: int) -> float:
    """The mean of the largest of so many independent standard normal values."""
    if looks < 1:
        raise UndefinedError("no_evaluation")
    step = 2 * _HALF_WIDTH / (_POINTS - 1)
    places = (-_HALF_WIDTH + step * number for number in range(_POINTS))
    return math.fsum(
        x * looks * _NORMAL.pdf(x) * _NORMAL.cdf(x) ** (looks - 1) * step for x in places
    )


def optimism(looks: int, standard_error: float, correlation: float = 0.0) -> float:
    """How far the best of so many equally good looks lies above the truth, on average."""
    if not 0 <= correlation <= 1:
        raise UndefinedError("bad_correlation", correlation=correlation)
    return standard_error * math.sqrt(1 - correlation) * expected_best(looks)


def log_hypotheses(looks: int, answers: Answers) -> float:
    """Natural logarithm of how many hypotheses so many looks can come to test.

    A look that failed at no cost stood before one of them or before none: every history of look k
    becomes k + 1.

    Raises:
        UndefinedError: if a look tells too much for any bound.
    """
    if looks < 1:
        raise UndefinedError("no_evaluation")
    failed = math.log(looks + 1) if answers.has_failed else 0.0
    return failed + _log_histories(looks, answers)


def _log_histories(looks: int, answers: Answers) -> float:
    if looks == 1:
        return 0.0
    if answers.count is None:
        raise UndefinedError("no_bound_holds")
    leading = answers.count - answers.stops_when_passed  # answers after which the developer goes on
    if leading <= 1:
        return math.log(looks)
    rate = math.log(leading)
    # 1 + m + ... + m^(k-1) = (m^k - 1) / (m - 1)
    return looks * rate + math.log1p(-math.exp(-looks * rate)) - math.log(leading - 1)


def deviations(level: float, log_count: float) -> float:
    """How many standard errors a one-sided bound over so many hypotheses keeps away."""
    log_tail = math.log1p(-level) - log_count
    if log_tail > -600:
        return -_NORMAL.inv_cdf(math.exp(log_tail))
    return math.sqrt(-2 * log_tail)  # P(Z > z) <= exp(-z²/2): still a bound, a little longer


def bound_after_evaluations(
    value: float, end: float, looks: int, answers: Answers, level: float = 0.975
) -> float:
    """A bound of the truth that holds at this one-sided level after so many looks.

    At the first look it is the interval's own end, unless one failed before. A later one lies as
    many more standard errors away as the correction asks for; of a share these are counted on the
    scale of its divergence, where a normal estimate gives a normal bound, all found gives no less
    than the exact one, and no bound leaves the range from 0 to 1.

    Args:
        value: the metric found.
        end: the end of its interval on the side of the bound, at the same one-sided level.
        looks: which look this is.
        answers: how much each look told.
        level: one-sided confidence level.
    """
    further = deviations(level, log_hypotheses(looks, answers)) / deviations(level, 0)
    if further == 1 or end == value:
        return end
    if not (0 <= value <= 1 and 0 < end < 1):
        return value + (end - value) * further
    wanted = further**2 * _divergence(value, end)
    near, far = end, float(end > value)
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if _divergence(value, middle) < wanted else (near, middle)
    return far


def _divergence(value: float, other: float) -> float:
    """Kullback and Leibler's divergence of two shares."""
    if not 0 < other < 1:
        return math.inf
    return sum(
        part * math.log(part / of) for part, of in ((value, other), (1 - value, 1 - other)) if part
    )


def standard_error_of(low: float, high: float, level: float) -> float:
    """The standard error behind a two-sided interval, as a normal one would have it."""
    return (high - low) / (2 * _NORMAL.inv_cdf(0.5 + level / 2))
