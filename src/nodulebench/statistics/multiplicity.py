"""P values of a family, or of families in order -> adjusted P values, in the order given."""

from collections.abc import Callable, Sequence

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import Problem, raise_problems
from nodulebench.core.registry import Registry

Adjustment = Callable[[Sequence[float] | FloatArray], FloatArray]


def bonferroni(p_values: Sequence[float] | FloatArray) -> FloatArray:
    """Each P value times their number: the family-wise error holds under any dependence."""
    p = _checked(p_values)
    return np.minimum(p * len(p), 1.0)


def holm(p_values: Sequence[float] | FloatArray) -> FloatArray:
    """Holm 1979: the i-th smallest of m P values times m - i + 1, as a running maximum.

    Controls the family-wise error under any dependence and never rejects less than Bonferroni.
    """
    p = _checked(p_values)
    ascending = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[ascending] * np.arange(len(p), 0, -1))
    return np.minimum(stepped, 1.0)[np.argsort(ascending)]


def benjamini_hochberg(p_values: Sequence[float] | FloatArray) -> FloatArray:
    """Benjamini and Hochberg 1995: the false discovery rate, for independent or positive tests."""
    p = _checked(p_values)
    descending = np.argsort(-p, kind="stable")
    stepped = np.minimum.accumulate(p[descending] * len(p) / np.arange(len(p), 0, -1))
    return np.minimum(stepped, 1.0)[np.argsort(descending)]


def gatekeeping(joint: Sequence[float], *families: Sequence[float]) -> list[FloatArray]:
    """Adjust families that are tested one after the other, each only if all before it succeeded.

    The first family is a joint claim: it succeeds if all of its tests do, each at the full level
    (intersection-union, Berger 1982), so its P value is the largest. Within a further family Holm's
    method is used, and no P value is below those of the families before (serial gatekeeping,
    Westfall and Krishen 2001). What has an adjusted P value of at most alpha may be claimed, and
    the chance of any wrong claim is at most alpha.
    """
    gate = float(_checked(joint).max(initial=0.0))
    adjusted = [np.full(len(joint), gate)]
    for family in families:
        adjusted.append(np.maximum(holm(family), gate))
        gate = float(adjusted[-1].max(initial=gate))
    return adjusted


ADJUSTMENTS: Registry[Adjustment] = Registry(
    "adjustment for multiple tests",
    "adjustments",
    dict.fromkeys(("holm", "bonferroni", "benjamini_hochberg"), __name__),
)


def _checked(p_values: Sequence[float] | FloatArray) -> FloatArray:
    p = np.asarray(p_values, dtype=np.float64)
    wrong = [
        Problem(
            f"P value {number}",
            f"{value} is not between 0 and 1.",
            "Leave undefined tests out of the family before adjusting.",
        )
        for number, value in enumerate(p.ravel().tolist(), start=1)
        if not 0 <= value <= 1
    ]
    raise_problems(wrong)
    return p
