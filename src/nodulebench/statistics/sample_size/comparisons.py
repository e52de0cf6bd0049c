"""Expected discordance of two algorithms on the same nodules -> nodules for a paired test."""

import math
from statistics import NormalDist

from nodulebench.core.errors import Problem, refuse_any
from nodulebench.core.notices import Notice
from nodulebench.statistics.sample_size.clusters import ASSUMED_PAIRED_CORRELATION, clustering
from nodulebench.statistics.sample_size.result import (
    Plan,
    check_between,
    curve_around,
    smallest_size,
)


def size_for_paired_detection(
    *,
    difference: float,
    discordance: float,
    margin: float | None = None,
    nodules_per_patient: float = 1.0,
    nodules_sd: float | None = None,
    correlation: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> Plan:
    """Nodules needed to tell two algorithms apart, or to show that one is not inferior.

    Without a margin: McNemar's test, two-sided at ``alpha`` (Connor 1987). With a margin: the lower
    bound of the difference's interval lies above minus the margin, one-sided at ``alpha`` / 2 (Liu
    et al. 2002).

    Args:
        difference: expected sensitivity of the new algorithm minus the other.
        discordance: share of nodules that exactly one of the two finds.
        margin: the largest loss that does not matter.
        nodules_per_patient: mean number of nodules in a patient that has any.
        nodules_sd: their standard deviation; None: that of geometric numbers.
        correlation: within patients, of the difference in being found; None: a cautious one.
        alpha: two-sided significance level.
        power: probability of success wanted.
    """
    check_between("discordance", discordance)
    check_between("alpha", alpha)
    check_between("power", power)
    patients = clustering(
        nodules_per_patient, nodules_sd, correlation, assumed_correlation=ASSUMED_PAIRED_CORRELATION
    )
    effect = patients.effect
    aim = _checked_aim(difference, discordance, margin)
    critical = NormalDist().inv_cdf(1 - alpha / 2)
    if_true = math.sqrt(discordance - difference**2)  # never 0: |difference| <= discordance < 1
    if_null = math.sqrt(discordance) if margin is None else if_true

    def power_at(nodules: int) -> float:
        reach = aim * math.sqrt(nodules / effect) - critical * if_null
        return NormalDist().cdf(reach / if_true)

    answer = smallest_size(lambda nodules: power_at(nodules) >= power)
    return Plan(
        question=Notice("ask_paired", {"margin": margin}),
        answer=answer,
        unit="nodules",
        assumptions=(
            Notice("assume_difference", {"difference": difference}),
            Notice("assume_discordance", {"discordance": discordance}),
            patients.told,
            Notice("test_sided", {"sides": 2, "alpha": alpha})
            if margin is None
            else Notice("test_sided", {"sides": 1, "alpha": alpha / 2}),
        ),
        method=Notice("mcnemar_connor" if margin is None else "paired_non_inferiority"),
        curve_name="power",
        curve=curve_around(answer, power_at),
        details={
            "design_effect": effect,
            "patients": math.ceil(answer / nodules_per_patient - 1e-9),
        },
    )


def _checked_aim(difference: float, discordance: float, margin: float | None) -> float:
    """The distance between what is true and what is to be refuted."""
    problems = []
    if abs(difference) > discordance:
        problems.append(
            Problem(
                "difference",
                f"{difference:g} is larger than the discordance {discordance:g}.",
                "The algorithms cannot differ more than they disagree.",
            )
        )
    if margin is None and difference == 0:
        problems.append(Problem("difference", "is 0.", "Give a margin, or a difference to find."))
    if margin is not None and not difference + margin > 0:
        problems.append(
            Problem("margin", f"{margin:g} does not exceed the expected loss {-difference:g}.")
        )
    refuse_any(problems)
    return abs(difference) if margin is None else difference + margin
