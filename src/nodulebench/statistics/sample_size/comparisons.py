"""Expected discordance of two algorithms on the same nodules -> nodules for a paired test."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from nodulebench.core.arrays import IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import Problem, UndefinedError, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.statistics.paired import Metric
from nodulebench.statistics.sample_size.result import (
    ASSUMED_PAIRED_CORRELATION,
    Plan,
    PlanPoint,
    check_between,
    clustering,
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
    """Nodules needed to distinguish two algorithms, or to show that one is not inferior.

    Without a margin: McNemar's test, two-sided at ``alpha`` (Connor 1987). With a margin: the lower
    bound of the difference's interval is above minus the margin, one-sided at ``alpha`` / 2 (Liu
    et al. 2002).

    Discordance is the share of nodules that exactly one of the two finds.
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
            patients.assumption,
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
        what = f"{difference:g} is larger than the discordance {discordance:g}."
        remedy = "The algorithms cannot differ more than they disagree."
        problems.append(Problem("difference", what, remedy))
    if margin is None and difference == 0:
        problems.append(Problem("difference", "is 0.", "Give a margin, or a difference to find."))
    if margin is not None and not difference + margin > 0:
        what = f"{margin:g} does not exceed the expected loss {-difference:g}."
        problems.append(Problem("margin", what, "Give a larger margin."))
    raise_problems(problems)
    return abs(difference) if margin is None else difference + margin


@dataclass(frozen=True, kw_only=True, slots=True)
class PilotOptions:
    """How a test is planned from a pilot study."""

    sizes: tuple[int, ...]
    simulations: int = 1000
    seed: int = 0
    margin: float = 0.0
    """0 for superiority, positive for non-inferiority."""
    assumed_difference: float | None = None
    """Difference to plan for; None: that of the pilot."""
    level: float = 0.95
    power: float = 0.8
    unit: str = "patients"


def size_from_pilot(
    metric: Metric,
    algorithm: LabelledCohort,
    baseline: LabelledCohort,
    *,
    unit_of_case: IntArray,
    options: PilotOptions,
) -> Plan:
    """Patients needed so that an interval of algorithm minus baseline is above minus a margin.

    For each size, test sets are drawn from the pilot's patients with replacement and the metric's
    difference is computed in each; a test succeeds where the difference less z standard errors
    exceeds minus the margin, the standard error being that of the simulated differences.

    The metric is better when higher.
    """
    _check(options)
    sizes, simulations, unit = options.sizes, options.simulations, options.unit
    once = np.ones((1, len(unit_of_case)), dtype=np.int32)
    observed = float(metric(algorithm, once)[0] - metric(baseline, once)[0])
    if not np.isfinite(observed):
        raise UndefinedError("undefined_on_pilot")
    shift = 0.0 if options.assumed_difference is None else options.assumed_difference - observed
    z = NormalDist().inv_cdf((1 + options.level) / 2)
    random = np.random.default_rng(options.seed)
    units = int(unit_of_case.max()) + 1
    curve = []
    for size in sizes:
        weight = random.multinomial(size, np.full(units, 1 / units), simulations)[:, unit_of_case]
        drawn = metric(algorithm, weight) - metric(baseline, weight)
        drawn = drawn[np.isfinite(drawn)]
        if len(drawn) < 2:
            raise UndefinedError("undefined_at_size", size=size, unit=unit)
        error = float(drawn.std(ddof=1))
        curve.append(PlanPoint(size, float(np.mean(drawn + shift - z * error > -options.margin))))
    answer = next((point.size for point in curve if point.value >= options.power), None)
    return Plan(
        question=Notice("ask_pilot", {"unit": unit, "margin": options.margin or None}),
        answer=answer,
        unit=unit,
        assumptions=(
            Notice("like_the_pilot", {"unit": unit, "units": units}),
            Notice(
                "assume_pilot_difference",
                {
                    "difference": observed + shift,
                    "is_assumed": options.assumed_difference is not None,
                },
            ),
            Notice("interval_normal", {"of": "pilot", "level": options.level}),
            Notice(
                "power_simulated",
                {"error": 1.96 * (0.25 / simulations) ** 0.5, "simulations": simulations},
            ),
        ),
        method=Notice("pilot_bootstrap"),
        curve_name="power",
        curve=tuple(curve),
        details={"pilot_difference": observed},
    )


def _check(options: PilotOptions) -> None:
    sizes, simulations, margin = options.sizes, options.simulations, options.margin
    check_between("level", options.level)
    check_between("power", options.power)
    problems = []
    if not sizes or list(sizes) != sorted(set(sizes)) or sizes[0] < 1:
        remedy = "Give whole numbers from 1 up, each once and in order."
        problems.append(Problem("sizes", f"{sizes} are not ascending positive numbers.", remedy))
    if simulations < 100:
        problems.append(Problem("simulations", f"{simulations} is below 100.", "Give 100 or more."))
    if margin < 0:
        problems.append(Problem("margin", f"{margin:g} is negative.", "Give 0 or more."))
    raise_problems(problems)
