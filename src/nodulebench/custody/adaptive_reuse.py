"""Correct metrics for repeated evaluations on one test set.

* ``optimism``, for an estimate that is normal around the truth: algorithms of equal quality are
  scored k times on the same cases. On average the best metric exceeds the truth by
  ``standard_error * sqrt(1 - correlation) * E[max of k standard normals]``. If the correlation is
  unknown, 0 gives the upper limit.
* ``bound_after_evaluations``: a bound that keeps its level for any use of the feedback.
  If an evaluation has m possible answers, everything a developer can submit at evaluation k depends
  on at most m^(k-1) histories. So a Bonferroni bound over 1 + m + ... + m^(k-1) hypotheses holds
  for adaptive choices too. A developer who stops when passed can only have seen the other m - 1
  answers before evaluation k, so m - 1 replaces m. For a verdict these are "failed" and
  "undecided". Whether a test is undecided can depend on the marks, so "undecided" always counts as
  an answer.
"""

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

from nodulebench.core.errors import UndefinedError

_NORMAL = NormalDist()
_HALF_WIDTH, _POINTS = 9.0, 3601
"""Range and points of the integral over the largest of k normals; outside, density < 1e-18."""
_HALVINGS = 60
"""Bisection steps for a bound: enough for full double precision."""


@dataclass(frozen=True, slots=True)
class Answers:
    """How much one evaluation discloses."""

    count: int | None
    """Number of possible answers; None: so many that no bound holds."""
    stops_when_passed: bool = False
    """Whether one of the answers is ``passed``, after which the developer stops."""
    has_failed: bool = False
    """Whether an uncharged evaluation failed because of the set's content, before or between."""


@cache
def expected_best(count: int) -> float:
    if count < 1:
        raise UndefinedError("no_evaluation")
    step = 2 * _HALF_WIDTH / (_POINTS - 1)
    points = (-_HALF_WIDTH + step * number for number in range(_POINTS))
    return math.fsum(
        x * count * _NORMAL.pdf(x) * _NORMAL.cdf(x) ** (count - 1) * step for x in points
    )


def optimism(evaluations: int, standard_error: float, correlation: float = 0.0) -> float:
    """Return the mean excess over the truth of the best of equally good evaluations."""
    if not 0 <= correlation <= 1:
        raise UndefinedError("bad_correlation", correlation=correlation)
    return standard_error * math.sqrt(1 - correlation) * expected_best(evaluations)


def log_hypotheses(evaluations: int, answers: Answers) -> float:
    """Return the natural logarithm of the number of hypotheses that evaluations can test.

    An uncharged failure came before one of the evaluations or before none of them: every history of
    evaluation k becomes k + 1 histories. UndefinedError if too much is disclosed for any bound.
    """
    if evaluations < 1:
        raise UndefinedError("no_evaluation")
    failed = math.log(evaluations + 1) if answers.has_failed else 0.0
    return failed + _log_histories(evaluations, answers)


def _log_histories(evaluations: int, answers: Answers) -> float:
    if evaluations == 1:
        return 0.0
    if answers.count is None:
        raise UndefinedError("no_bound_holds")
    leading = answers.count - answers.stops_when_passed  # answers after which the developer goes on
    if leading <= 1:
        return math.log(evaluations)
    rate = math.log(leading)
    # 1 + m + ... + m^(k-1) = (m^k - 1) / (m - 1)
    return evaluations * rate + math.log1p(-math.exp(-evaluations * rate)) - math.log(leading - 1)


def deviations(level: float, log_count: float) -> float:
    """Return the distance of a one-sided bound over many hypotheses, in standard errors."""
    log_tail = math.log1p(-level) - log_count
    if log_tail > -600:
        return -_NORMAL.inv_cdf(math.exp(log_tail))
    return math.sqrt(-2 * log_tail)  # P(Z > z) <= exp(-z²/2): still a bound, a little longer


def bound_after_evaluations(
    value: float, end: float, evaluations: int, answers: Answers, level: float = 0.975
) -> float:
    """Return a bound of the truth that holds at this one-sided level after repeated evaluations.

    At the first evaluation it is the end of the interval, unless one failed before. Later bounds
    are further away by the standard errors that the correction requires. For a proportion these are
    counted on the scale of its divergence: a normal estimate gives a normal bound, a proportion of
    1 gives no less than the exact bound, and no bound leaves the range from 0 to 1. ``end`` is the
    end of the interval on the side of the bound, at the same level; ``evaluations`` the number of
    this evaluation.
    """
    further = deviations(level, log_hypotheses(evaluations, answers)) / deviations(level, 0)
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
    if not 0 < other < 1:
        return math.inf
    return sum(
        part * math.log(part / of) for part, of in ((value, other), (1 - value, 1 - other)) if part
    )


def standard_error_of(low: float, high: float, level: float) -> float:
    """Return the standard error of a two-sided interval, assuming normality."""
    return (high - low) / (2 * _NORMAL.inv_cdf(0.5 + level / 2))
