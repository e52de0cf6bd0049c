"""Labelled cohorts of several algorithms -> differences from a baseline, ranks, rule effects.

All comparisons of two algorithms are paired: both are evaluated on the same cases, and every
resample draws the same cases for both.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from nodulebench.core.algorithm import IntendedUse, intended_use
from nodulebench.core.arrays import IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.comparison import (
    DetectionSummary,
    Permutation,
    RuleEffectsSummary,
    Significance,
    UseGroup,
)
from nodulebench.core.errors import InputError, Problem, UndefinedError, UnknownNameError
from nodulebench.core.notices import Notice, reason_of, stated_notice
from nodulebench.core.protocol import TestProtocol
from nodulebench.evaluation.comparison.nodules import Cohorts, adjusted_p_values, compare_nodules
from nodulebench.evaluation.comparison.replicates import Drawn, Reading, column_of, draw_readings
from nodulebench.evaluation.comparison.rule_effects import estimate_rule_effects
from nodulebench.evaluation.estimates import bind_parameters, shown_name, units_of
from nodulebench.metrics import METRICS, function_of, info_of
from nodulebench.statistics.bootstrap import Bootstrap, bound_reach
from nodulebench.statistics.delong import compare_auc
from nodulebench.statistics.paired import Better, Comparison, Replicates, paired_difference
from nodulebench.statistics.permutation import permutation_test
from nodulebench.statistics.ranking import Ranking, rank_algorithms


def delong_test(
    metric: str, first: LabelledCohort, second: LabelledCohort, unit_of_case: IntArray
) -> Significance | None:
    """DeLong's test (Obuchowski's for several ratings of a patient) of first - second in an area.

    None if the metric is not an area under a ROC curve, the two rated different nodules, or the
    difference has no variance.
    """
    ratings = function_of(metric, "ratings")
    if ratings is None or not _rate_the_same(metric, first, second):
        return None
    try:
        (negative, positive), (other_negative, other_positive) = ratings(first), ratings(second)
        return compare_auc(
            np.stack([positive.rating, other_positive.rating]),
            np.stack([negative.rating, other_negative.rating]),
            positive_unit=unit_of_case[positive.case],
            negative_unit=unit_of_case[negative.case],
        ).significance
    except UndefinedError:
        return None


def _rate_the_same(metric: str, first: LabelledCohort, second: LabelledCohort) -> bool:
    """Whether both rated all cases by the same truth, or the same nodules."""
    if not np.array_equal(first.nodule_row, second.nodule_row):
        return False
    if metric != "malignancy_auc":
        return True
    stated, other = (np.isfinite(cohort.stated("malignancy")) for cohort in (first, second))
    return np.array_equal(stated, other)


PERMUTATIONS = 2000
VERDICT_REPLICATES = 10_000
"""The least number of replicates for a verdict on a margin."""


@dataclass(frozen=True, slots=True)
class ComparisonChoice:
    """What is compared, and how."""

    baseline: str
    """The algorithm that the others are compared with."""
    metrics: tuple[str, ...] = ()
    """Metrics; none: those of the protocol."""
    margin: float | None = None
    """The largest loss that does not matter. Without ``metrics`` it applies to those that are
    better when higher (rates, areas, scores from 0 to 1), else to all named metrics."""
    bootstraps: int | None = None
    """Number of resamples; None: as many as the protocol's, and with a margin 10,000 at least."""
    permutations: int = PERMUTATIONS
    """Number of random swaps; 0: no permutation tests."""
    method: Literal["guarded", "percentile"] = "guarded"
    """The method of intervals, P values and verdicts. "percentile" has no pseudo-patient and is
    too optimistic if the algorithms hardly differ."""
    is_within_use: bool = True
    """Whether only algorithms of the baseline's intended use are compared with it."""


def use_groups(cohorts: Cohorts) -> tuple[UseGroup, ...]:
    submissions = {
        name: cohort.submission for of_rule in cohorts.values() for name, cohort in of_rule.items()
    }
    groups: dict[IntendedUse, list[str]] = {}
    for name, submission in submissions.items():
        groups.setdefault(intended_use(submission.facts, submission.intended_types), []).append(
            name
        )
    return tuple(
        UseGroup(submissions[names[0]].facts.get("intended_use", ""), types, tuple(names))
        for (_, types), names in groups.items()
    )


def of_equal_use(
    cohorts: Cohorts, groups: tuple[UseGroup, ...], choice: ComparisonChoice
) -> Cohorts:
    own = next((group for group in groups if choice.baseline in group.algorithms), None)
    if own is None or len(groups) < 2 or not choice.is_within_use:
        return cohorts
    if len(own.algorithms) < 2:
        raise InputError.at(
            "comparison",
            f"'{choice.baseline}' is the only algorithm of its intended use.",
            "Only algorithms of the same use are compared: choose another baseline, or declare "
            "the same 'intended_use' and 'intended_types' if they are the same.",
        )
    return {
        rule: {name: cohort for name, cohort in of_rule.items() if name in own.algorithms}
        for rule, of_rule in cohorts.items()
    }


def use_notices(
    cohorts: Cohorts, groups: tuple[UseGroup, ...], choice: ComparisonChoice
) -> Iterator[Notice]:
    compared = {name for of_rule in cohorts.values() for name in of_rule}
    others = [name for group in groups for name in group.algorithms if name not in compared]
    if others and choice.is_within_use:
        yield Notice("other_uses", {"count": len(others), "algorithms": ", ".join(others)})


def checked_bootstraps(cohorts: Cohorts, protocol: TestProtocol, choice: ComparisonChoice) -> int:
    """Check that the algorithms can be compared, and return the number of bootstraps."""
    algorithms = list(dict.fromkeys(name for of_rule in cohorts.values() for name in of_rule))
    if choice.baseline not in algorithms:
        raise UnknownNameError(
            f"there is no algorithm '{choice.baseline}'. Known: {', '.join(algorithms)}."
        )
    for name in choice.metrics:
        _ = METRICS[name]  # an unknown name suggests near ones
    problems = []
    if len(algorithms) < 2:
        what = f"'{choice.baseline}' is the only algorithm."
        problems.append(Problem("comparison", what, "Evaluate several submissions together."))
    bootstraps = choice.bootstraps
    if bootstraps is None:
        bootstraps = protocol.interval.bootstraps
        if bootstraps and choice.margin is not None and choice.method == "guarded":
            bootstraps = max(bootstraps, VERDICT_REPLICATES)
    if bootstraps < 2:
        what = f"{bootstraps} resamples give no interval."
        problems.append(Problem("comparison", what, "Give a number of bootstraps, such as 2000."))
    if choice.margin is not None and not choice.margin > 0:
        what = f"{choice.margin:g} is not positive."
        problems.append(Problem("margin", what, "Give the largest loss allowed."))
    if problems:
        raise InputError(problems)
    return bootstraps


def resolution_notices(cohorts: Cohorts, bootstraps: int, level: float) -> Iterator[Notice]:
    """A notice if there are too few resamples for any adjusted P value to become small.

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


def target_notices(cohorts: Cohorts) -> Iterator[Notice]:
    for rule, of_rule in cohorts.items():
        targets = {tuple(cohort.nodule_row.tolist()) for cohort in of_rule.values()}
        if len(targets) > 1:
            yield Notice("different_targets", {"rule": rule})


MORE = 10
"""The factor by which replicates increase if a bound comes close to its margin."""


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """One algorithm against the baseline in one metric under one rule."""

    rule: str
    reading: Reading
    algorithm: str
    value: float | None = None
    baseline_value: float | None = None
    comparison: Comparison | None = None
    permutation: Permutation | None = None
    delong: Significance | None = None
    """For an area under a ROC curve of which both rated the same nodules."""
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
    """The unit that is resampled and swapped: patient or case."""
    differences: tuple[MetricDifference, ...]
    detection: tuple[DetectionSummary, ...]
    rankings: dict[tuple[str, Reading], Ranking]
    effects: RuleEffectsSummary | None
    notices: tuple[Notice, ...] = ()
    groups: tuple[UseGroup, ...] = ()
    """Algorithms by intended use, if there are several uses and only one was compared."""


def compare_algorithms(
    cohorts: Cohorts, protocol: TestProtocol, choice: ComparisonChoice
) -> AlgorithmComparison:
    """Compare every algorithm with the baseline, in every metric and under every rule.

    Algorithms of another intended use than the baseline's are only part of the rule effects.
    """
    every = {rule: of_rule for rule, of_rule in cohorts.items() if of_rule}
    groups = use_groups(every)
    equal = of_equal_use(every, groups, choice)
    applied = {rule: of_rule for rule, of_rule in equal.items() if of_rule}
    registered = {shown_name("f_beta", protocol): "f_beta"}
    named = tuple(registered.get(name, name) for name in choice.metrics)
    choice = replace(choice, metrics=named)
    bootstraps = checked_bootstraps(applied, protocol, choice)
    names = choice.metrics or protocol.metrics
    is_guarded = choice.method == "guarded"
    drawn = _drawn(applied, protocol, names, bootstraps, is_guarded=is_guarded)
    is_part = equal is not every
    of_all = _drawn(every, protocol, names, 2, is_guarded=False) if is_part else drawn
    return AlgorithmComparison(
        choice=choice,
        level=protocol.interval.level,
        bootstraps=bootstraps,
        seed=protocol.seed,
        unit=protocol.interval.unit,
        differences=tuple(_adjusted(_differences(applied, drawn, protocol, choice))),
        detection=tuple(compare_nodules(applied, protocol, choice.baseline)),
        rankings=dict(_rankings(drawn, protocol)),
        effects=estimate_rule_effects(every, of_all, protocol),
        notices=(
            *use_notices(applied, groups, choice),
            *target_notices(applied),
            *resolution_notices(applied, bootstraps, protocol.interval.level),
        ),
        groups=groups if is_part else (),
    )


def _drawn(
    cohorts: Cohorts,
    protocol: TestProtocol,
    names: Sequence[str],
    bootstraps: int,
    *,
    is_guarded: bool,
) -> dict[str, Drawn]:
    drawn: dict[str, Drawn] = {}
    for rule, of_rule in cohorts.items():
        some = next(iter(of_rule.values()))
        resamples = Bootstrap(
            unit_of_case=units_of(some, protocol.interval),
            replicates=bootstraps,
            seed=protocol.seed,
            is_legacy=protocol.interval.method == "luna16",
        )
        drawn[rule] = draw_readings(of_rule, protocol, names, resamples, is_guarded=is_guarded)
    return drawn


def better_of(name: str) -> Better | None:
    is_higher_better = info_of(name).is_higher_better
    if is_higher_better is None:
        return None
    return "higher" if is_higher_better else "lower"


def _margin(name: str, choice: ComparisonChoice) -> float | None:
    better = better_of(name)
    is_asked = bool(choice.metrics) or better == "higher"
    return choice.margin if is_asked and better is not None else None


def _differences(
    cohorts: Cohorts, drawn: Mapping[str, Drawn], protocol: TestProtocol, choice: ComparisonChoice
) -> Iterator[MetricDifference]:
    for rule, of_rule in cohorts.items():
        # computed algorithm by algorithm: the pair of two cohorts is then prepared only once
        differences = {
            (reading, algorithm): _difference_of_pair(
                MetricDifference(rule, reading, algorithm), of_rule, drawn[rule], protocol, choice
            )
            for algorithm in of_rule
            if algorithm != choice.baseline
            for reading in drawn[rule].replicates
        }
        for reading in drawn[rule].replicates:
            for algorithm in of_rule:
                if algorithm != choice.baseline:
                    yield differences[reading, algorithm]


def _difference_of_pair(
    blank: MetricDifference,
    cohorts: Mapping[str, LabelledCohort],
    drawn: Drawn,
    protocol: TestProtocol,
    choice: ComparisonChoice,
) -> MetricDifference:
    replicates = drawn.replicates[blank.reading]
    pair = (blank.algorithm, choice.baseline)
    missing = [name for name in pair if name not in replicates.names]
    if missing:
        key = (blank.reading.metric, missing[0])
        reason = drawn.undefined.get(key, Notice("rule_does_not_apply"))
        return replace(
            blank,
            reason=Notice("reason_for_algorithm", {"algorithm": missing[0], "reason": reason}),
        )
    difference = _refined(_difference(blank, replicates, protocol, choice), drawn, protocol, choice)
    if difference.comparison is not None:
        first, second = (cohorts[name] for name in pair)
        units = units_of(first, protocol.interval)
        difference = replace(
            difference, delong=delong_test(difference.reading.metric, first, second, units)
        )
    return _with_permutation(difference, cohorts, protocol, choice)


def _difference(
    blank: MetricDifference,
    replicates: Replicates,
    protocol: TestProtocol,
    choice: ComparisonChoice,
) -> MetricDifference:
    name = blank.reading.metric
    value, baseline_value = (
        float(replicates.value[replicates.row(algorithm)])
        for algorithm in (blank.algorithm, choice.baseline)
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


def _refined(
    difference: MetricDifference, drawn: Drawn, protocol: TestProtocol, choice: ComparisonChoice
) -> MetricDifference:
    """The difference, from ten times as many replicates if a bound comes close to the margin."""
    comparison, pairs = difference.comparison, drawn.pairs
    if comparison is None or pairs is None or comparison.margin is None:
        return difference
    if comparison.difference.low is None:
        return difference
    names, reading = (difference.algorithm, choice.baseline), difference.reading
    rows = pairs.rows(*column_of(reading, protocol), *names)
    gains = rows if better_of(reading.metric) != "lower" else rows.negated
    low, high = bound_reach(gains.low, (1 - protocol.interval.level) / 2)
    if not low <= -comparison.margin.margin <= high:
        return difference
    more = pairs.redrawn(MORE, reading.metric, *names)
    again = replace(
        drawn.replicates[reading], pair=partial(more.rows, *column_of(reading, protocol))
    )
    return _difference(difference, again, protocol, choice)


def _with_permutation(
    difference: MetricDifference,
    cohorts: Mapping[str, LabelledCohort],
    protocol: TestProtocol,
    choice: ComparisonChoice,
) -> MetricDifference:
    if difference.comparison is None or difference.reading.point or not choice.permutations:
        return difference
    first, second = cohorts[difference.algorithm], cohorts[choice.baseline]
    try:
        permutation = permutation_test(
            bind_parameters(METRICS[difference.reading.metric], protocol),
            first,
            second,
            unit_of_case=units_of(first, protocol.interval),
            permutations=choice.permutations,
            seed=protocol.seed,
        )
    except UndefinedError as error:
        return replace(difference, reason=Notice("no_permutation", {"reason": reason_of(error)}))
    except InputError as error:
        stated = stated_notice(str(error))
        return replace(difference, reason=Notice("no_permutation", {"reason": stated}))
    return replace(difference, permutation=permutation)


def _adjusted(differences: Iterator[MetricDifference]) -> Iterator[MetricDifference]:
    everything = list(differences)
    families: dict[Reading, list[float]] = {}
    for difference in everything:
        if difference.comparison is not None:
            families.setdefault(difference.reading, []).append(difference.comparison.p_value)
    adjusted = {reading: iter(adjusted_p_values(family)) for reading, family in families.items()}
    for difference in everything:
        if difference.comparison is None:
            yield difference
            continue
        p_values = next(adjusted[difference.reading])
        holm = replace(difference.comparison, adjusted_p_value=p_values["holm"], adjustment="holm")
        yield replace(difference, comparison=holm, adjusted=p_values)


def _rankings(
    drawn: Mapping[str, Drawn], protocol: TestProtocol
) -> Iterator[tuple[tuple[str, Reading], Ranking]]:
    for rule, of_rule in drawn.items():
        for reading, replicates in of_rule.replicates.items():
            better = better_of(reading.metric)
            if better is None:
                continue
            try:
                ranking = rank_algorithms(replicates, level=protocol.interval.level, better=better)
            except UndefinedError:
                continue  # the differences give the reason
            yield (rule, reading), ranking
