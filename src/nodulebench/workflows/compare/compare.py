"""Labelled cohorts of several algorithms -> differences from a baseline, ranks, rule effects.

Everything between two algorithms is paired: both are judged on the same cases, and every resample
draws the same ones for both.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from nodulebench.errors import InputError, Problem, UndefinedError, UnknownNameError, refuse_any
from nodulebench.metrics import FIGURES, facts_of
from nodulebench.model.cohort import LabelledCohort
from nodulebench.model.documents.comparison import Permutation
from nodulebench.model.notice import Notice, read_notice, reason_of
from nodulebench.model.protocol import TestProtocol
from nodulebench.statistics.compare import Better, Comparison, Replicates, paired_difference
from nodulebench.statistics.permutation import permutation_test
from nodulebench.statistics.ranking import Ranking as Ranking
from nodulebench.statistics.ranking import rank_algorithms
from nodulebench.statistics.resample import Bootstrap
from nodulebench.workflows.compare.nodules import (
    Cohorts,
    DetectionDifference,
    adjusted_p_values,
    compare_nodules,
)
from nodulebench.workflows.compare.replicate import Drawn, Reading, draw_readings
from nodulebench.workflows.compare.rule_effects import RuleEffects, estimate_rule_effects
from nodulebench.workflows.evaluate.estimate import bind_settings, shown_name, units_of

PERMUTATIONS = 2000


@dataclass(frozen=True, slots=True)
class ComparisonChoice:
    """What is compared, and how."""

    baseline: str
    """The algorithm that the others are compared with."""
    figures: tuple[str, ...] = ()
    """Figures of merit; none: those of the protocol."""
    margin: float | None = None
    """The largest loss that does not matter. Without ``figures`` it is applied to those that are
    better when higher (rates, areas, scores from 0 to 1), else to all that were named."""
    bootstraps: int | None = None
    """Number of resamples; None: as many as the protocol's."""
    permutations: int = PERMUTATIONS
    """Number of random swaps; 0: no permutation tests."""


@dataclass(frozen=True, slots=True)
class FigureDifference:
    """One algorithm against the baseline in one figure under one rule."""

    rule: str
    reading: Reading
    algorithm: str
    value: float | None = None
    baseline_value: float | None = None
    comparison: Comparison | None = None
    """None: the difference is undefined."""
    permutation: Permutation | None = None
    adjusted: dict[str, float] = field(default_factory=dict)
    """The bootstrap P value adjusted over all algorithms and rules, by method."""
    reason: Notice | None = None
    """Why the difference, or its permutation test, is undefined."""


@dataclass(frozen=True, slots=True)
class AlgorithmComparison:
    """Several algorithms compared with one of them."""

    choice: ComparisonChoice
    level: float
    bootstraps: int
    seed: int
    unit: str
    """What is resampled and swapped: patient or case."""
    differences: tuple[FigureDifference, ...]
    detection: tuple[DetectionDifference, ...]
    rankings: dict[tuple[str, Reading], Ranking]
    """By rule and reading."""
    effects: RuleEffects | None
    """What the rules do to all algorithms together, where there are enough of both."""
    notices: tuple[Notice, ...] = ()


def compare_algorithms(
    cohorts: Cohorts, protocol: TestProtocol, choice: ComparisonChoice
) -> AlgorithmComparison:
    """Compare every algorithm with the baseline, in every figure and under every rule.

    Raises:
        InputError: if there is nothing to compare, or no bootstraps.
        UnknownNameError: if the baseline or a figure does not exist.
    """
    applied = {rule: of_rule for rule, of_rule in cohorts.items() if of_rule}
    registered = {shown_name("f_beta", protocol): "f_beta"}
    named = tuple(registered.get(name, name) for name in choice.figures)
    choice = replace(choice, figures=named)
    bootstraps = _check(applied, protocol, choice)
    names = choice.figures or protocol.figures
    drawn: dict[str, Drawn] = {}
    for rule, of_rule in applied.items():
        some = next(iter(of_rule.values()))
        resamples = Bootstrap(
            unit_of_case=units_of(some, protocol.interval),
            replicates=bootstraps,
            seed=protocol.seed,
            is_legacy=protocol.interval.method == "luna16",
        )
        drawn[rule] = draw_readings(of_rule, protocol, names, resamples)
    return AlgorithmComparison(
        choice=choice,
        level=protocol.interval.level,
        bootstraps=bootstraps,
        seed=protocol.seed,
        unit=protocol.interval.unit,
        differences=tuple(_adjusted(_differences(applied, drawn, protocol, choice))),
        detection=tuple(compare_nodules(applied, protocol, choice.baseline)),
        rankings=dict(_rankings(drawn, protocol)),
        effects=estimate_rule_effects(applied, drawn, protocol),
        notices=(
            *_target_notices(applied),
            *_resolution_notices(applied, bootstraps, protocol.interval.level),
        ),
    )


def _check(cohorts: Cohorts, protocol: TestProtocol, choice: ComparisonChoice) -> int:
    """Refuse what cannot be compared; the number of bootstraps."""
    algorithms = list(dict.fromkeys(name for of_rule in cohorts.values() for name in of_rule))
    if choice.baseline not in algorithms:
        raise UnknownNameError(
            f"there is no algorithm '{choice.baseline}'. Known: {', '.join(algorithms)}."
        )
    for name in choice.figures:
        _ = FIGURES[name]  # an unknown name suggests near ones
    problems = []
    if len(algorithms) < 2:
        problems.append(
            Problem(
                "comparison",
                f"'{choice.baseline}' is the only algorithm.",
                "Evaluate several submissions together.",
            )
        )
    bootstraps = choice.bootstraps
    if bootstraps is None:
        bootstraps = protocol.interval.bootstraps
    if bootstraps < 2:
        problems.append(
            Problem(
                "comparison",
                f"{bootstraps} resamples give no interval.",
                "Give a number of bootstraps, such as 2000.",
            )
        )
    if choice.margin is not None and not choice.margin > 0:
        problems.append(
            Problem(
                "margin", f"{choice.margin:g} is not positive.", "Give the largest loss allowed."
            )
        )
    refuse_any(problems)
    return bootstraps


def better_of(name: str) -> Better | None:
    """Whether higher or lower values of a figure are better; None for neither."""
    is_higher_better = facts_of(name).is_higher_better
    if is_higher_better is None:
        return None
    return "higher" if is_higher_better else "lower"


def _margin(name: str, choice: ComparisonChoice) -> float | None:
    better = better_of(name)
    is_asked = bool(choice.figures) or better == "higher"
    return choice.margin if is_asked and better is not None else None


def _differences(
    cohorts: Cohorts,
    drawn: Mapping[str, Drawn],
    protocol: TestProtocol,
    choice: ComparisonChoice,
) -> Iterator[FigureDifference]:
    """Reading after reading, each with all algorithms."""
    for rule, of_rule in cohorts.items():
        # algorithm after algorithm, because two cohorts are laid side by side once for all readings
        found = {
            (reading, algorithm): _one_difference(
                FigureDifference(rule, reading, algorithm), of_rule, drawn[rule], protocol, choice
            )
            for algorithm in of_rule
            if algorithm != choice.baseline
            for reading in drawn[rule].replicates
        }
        for reading in drawn[rule].replicates:
            for algorithm in of_rule:
                if algorithm != choice.baseline:
                    yield found[reading, algorithm]


def _one_difference(
    blank: FigureDifference,
    cohorts: Mapping[str, LabelledCohort],
    drawn: Drawn,
    protocol: TestProtocol,
    choice: ComparisonChoice,
) -> FigureDifference:
    replicates = drawn.replicates[blank.reading]
    pair = (blank.algorithm, choice.baseline)
    missing = [name for name in pair if name not in replicates.names]
    if missing:
        key = (blank.reading.figure, missing[0])
        reason = drawn.undefined.get(key, Notice("rule_does_not_apply"))
        return replace(
            blank,
            reason=Notice("reason_for_algorithm", {"algorithm": missing[0], "reason": reason}),
        )
    found = _difference(blank, replicates, protocol, choice)
    return _with_permutation(found, cohorts, protocol, choice)


def _difference(
    blank: FigureDifference,
    replicates: Replicates,
    protocol: TestProtocol,
    choice: ComparisonChoice,
) -> FigureDifference:
    name = blank.reading.figure
    value, baseline_value = (
        float(replicates.value[replicates.row(one)]) for one in (blank.algorithm, choice.baseline)
    )
    try:
        comparison = paired_difference(
            replicates,
            blank.algorithm,
            choice.baseline,
            level=protocol.interval.level,
            margin=_margin(name, choice),
            better=better_of(name) or "higher",
        )
    except UndefinedError as error:
        return replace(blank, reason=reason_of(error))
    return replace(blank, value=value, baseline_value=baseline_value, comparison=comparison)


def _with_permutation(
    found: FigureDifference,
    cohorts: Mapping[str, LabelledCohort],
    protocol: TestProtocol,
    choice: ComparisonChoice,
) -> FigureDifference:
    """The same with a permutation test, for a figure that is one number."""
    if found.comparison is None or found.reading.point or not choice.permutations:
        return found
    first, second = cohorts[found.algorithm], cohorts[choice.baseline]
    try:
        permutation = permutation_test(
            bind_settings(FIGURES[found.reading.figure], protocol),
            first,
            second,
            unit_of_case=units_of(first, protocol.interval),
            permutations=choice.permutations,
            seed=protocol.seed,
        )
    except UndefinedError as error:
        return replace(found, reason=Notice("no_permutation", {"reason": reason_of(error)}))
    except InputError as error:
        told = read_notice(str(error))
        return replace(found, reason=Notice("no_permutation", {"reason": told}))
    return replace(found, permutation=permutation)


def _adjusted(differences: Iterator[FigureDifference]) -> Iterator[FigureDifference]:
    """P values of each reading adjusted over all algorithms and rules."""
    everything = list(differences)
    families: dict[Reading, list[float]] = {}
    for one in everything:
        if one.comparison is not None:
            families.setdefault(one.reading, []).append(one.comparison.p_value)
    adjusted = {reading: iter(adjusted_p_values(family)) for reading, family in families.items()}
    for one in everything:
        if one.comparison is None:
            yield one
            continue
        p_values = next(adjusted[one.reading])
        holm = replace(one.comparison, adjusted_p_value=p_values["holm"], adjustment="holm")
        yield replace(one, comparison=holm, adjusted=p_values)


def _rankings(
    drawn: Mapping[str, Drawn], protocol: TestProtocol
) -> Iterator[tuple[tuple[str, Reading], Ranking]]:
    """A leaderboard for each rule and each figure that has a better end."""
    for rule, of_rule in drawn.items():
        for reading, replicates in of_rule.replicates.items():
            better = better_of(reading.figure)
            if better is None:
                continue
            try:
                ranking = rank_algorithms(replicates, level=protocol.interval.level, better=better)
            except UndefinedError:
                continue  # the differences say why
            yield (rule, reading), ranking


def _resolution_notices(cohorts: Cohorts, bootstraps: int, level: float) -> Iterator[Notice]:
    """Word of resamples too few for any adjusted P value to become small.

    No share of B resamples is below 1 / (B + 1), so no two-sided P value is below 2 / (B + 1).
    """
    algorithms = len({name for of_rule in cohorts.values() for name in of_rule})
    family = max((algorithms - 1) * len(cohorts), algorithms * (algorithms - 1) // 2)
    smallest, alpha = 2 / (bootstraps + 1), 1 - level
    if family * smallest > alpha:
        yield Notice(
            "too_few_resamples",
            {
                "resamples": bootstraps,
                "family": family,
                "smallest": smallest,
                "enough": math.ceil(2 * family / alpha),
            },
        )


def _target_notices(cohorts: Cohorts) -> Iterator[Notice]:
    for rule, of_rule in cohorts.items():
        targets = {tuple(cohort.nodule_row.tolist()) for cohort in of_rule.values()}
        if len(targets) > 1:
            yield Notice("different_targets", {"rule": rule})
