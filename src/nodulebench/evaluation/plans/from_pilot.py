"""Folder of a pilot evaluation -> how many patients a comparison of two algorithms needs."""

from pathlib import Path

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError, UnknownNameError, refuse_any
from nodulebench.evaluation.comparison.compare import better_of
from nodulebench.evaluation.estimates import bind_settings, units_of
from nodulebench.evaluation.recompute import load_evaluated
from nodulebench.metrics import FIGURES, facts_of
from nodulebench.statistics.sample_size.pilot import size_from_pilot
from nodulebench.statistics.sample_size.result import Plan

GROWTH = (0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8)
"""Sizes that are tried, relative to the pilot's, where none are given."""


def plan_from_pilot(
    folder: Path,
    *,
    algorithm: str,
    baseline: str,
    figure: str = "cpm",
    rule: str | None = None,
    margin: float = 0.0,
    difference: float | None = None,
    sizes: tuple[int, ...] = (),
    simulations: int = 1000,
    power: float = 0.8,
) -> Plan:
    """Draw test sets of several sizes from the pilot's patients, and see how often a test succeeds.

    Args:
        folder: what ``evaluate --out`` wrote for the pilot set.
        algorithm: the algorithm of interest.
        baseline: what it is compared with.
        figure: a figure of merit where higher is better.
        rule: a rule of the protocol; None: the first.
        margin: 0 for superiority, positive for non-inferiority.
        difference: plan for this difference instead of the pilot's own.
        sizes: numbers of patients (or cases, if the protocol resamples these) to try; none: from
            half the pilot's number to its eightfold.
        simulations: test sets drawn for each size.
        power: probability of success wanted.

    Raises:
        InputError: if the folder is not as the evaluation left it, or the figure has lower values
            for better algorithms, or several at once.
        UnknownNameError: if there is no such algorithm, rule or figure.
    """
    evaluated = load_evaluated(folder)
    refuse_any(evaluated.problems)
    protocol = evaluated.protocol
    chosen = rule or protocol.rules[0].name
    if chosen not in evaluated.cohorts:
        raise UnknownNameError(
            f"there is no rule '{chosen}'. Known: {', '.join(evaluated.cohorts)}."
        )
    cohorts = evaluated.cohorts[chosen]
    first, second = (_algorithm(cohorts, name) for name in (algorithm, baseline))
    _require_single_merit(figure)
    units = units_of(first, protocol.interval)
    tried = tuple(sorted(set(sizes))) or _sizes(int(units.max(initial=0)) + 1)
    return size_from_pilot(
        bind_settings(FIGURES[figure], protocol),
        first,
        second,
        unit_of_case=units,
        sizes=tried,
        simulations=simulations,
        seed=protocol.seed,
        margin=margin,
        assumed_difference=difference,
        level=protocol.interval.level,
        power=power,
        unit=f"{protocol.interval.unit}s",
    )


def _algorithm(cohorts: dict[str, LabelledCohort], name: str) -> LabelledCohort:
    if name not in cohorts:
        raise UnknownNameError(f"there is no algorithm '{name}'. Known: {', '.join(cohorts)}.")
    return cohorts[name]


def _require_single_merit(name: str) -> None:
    _ = FIGURES[name]  # an unknown name suggests near ones
    if better_of(name) != "higher" or facts_of(name).columns:
        raise InputError.at(
            f"figure '{name}'",
            "is not one number that is better when higher.",
            "Plan with such a figure: cpm, recall, an area.",
        )


def _sizes(pilot: int) -> tuple[int, ...]:
    """Ascending numbers of patients around the pilot's own."""
    return tuple(sorted({max(2, round(share * pilot)) for share in GROWTH}))
