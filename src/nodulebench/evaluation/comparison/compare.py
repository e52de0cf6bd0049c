"""Labelled cohorts of several algorithms -> differences from a baseline, ranks, rule effects.

Everything between two algorithms is paired: both are judged on the same cases, and every resample
draws the same ones for both.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.comparison import Permutation, Significance
from nodulebench.core.documents.named import UseGroup
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.notices import Notice, in_words, reason_of
from nodulebench.core.protocol import TestProtocol
from nodulebench.evaluation.comparison.areas import delong_test
from nodulebench.evaluation.comparison.choice import ComparisonChoice as ComparisonChoice
from nodulebench.evaluation.comparison.choice import (
    checked_bootstraps,
    of_equal_use,
    resolution_notices,
    target_notices,
    use_groups,
    use_notices,
)
from nodulebench.evaluation.comparison.nodules import (
    Cohorts,
    DetectionDifference,
    adjusted_p_values,
    compare_nodules,
)
from nodulebench.evaluation.comparison.replicates import Drawn, Reading, column_of, draw_readings
from nodulebench.evaluation.comparison.rule_effects import RuleEffects, estimate_rule_effects
from nodulebench.evaluation.estimates import bind_settings, shown_name, units_of
from nodulebench.metrics import FIGURES, facts_of
from nodulebench.statistics.bootstrap import Bootstrap
from nodulebench.statistics.guarded import bound_reach
from nodulebench.statistics.paired import Better, Comparison, Replicates, paired_difference
from nodulebench.statistics.permutation import permutation_test
from nodulebench.statistics.ranking import Ranking as Ranking
from nodulebench.statistics.ranking import rank_algorithms

MORE = 10
"""How many times more replicates where a bound comes close to its margin."""


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
    delong: Significance | None = None
    """Of an area under a ROC curve, where both rated the same."""
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
    groups: tuple[UseGroup, ...] = ()
    """Algorithms by their intended use, where there are several and only one was compared."""


def compare_algorithms(
    cohorts: Cohorts, protocol: TestProtocol, choice: ComparisonChoice
) -> AlgorithmComparison:
    """Compare every algorithm with the baseline, in every figure and under every rule.

    Algorithms of another intended use than the baseline's are left out, but for what the rules do
    to each.

    Raises:
        InputError: if there is nothing to compare, or no bootstraps.
        UnknownNameError: if the baseline or a figure does not exist.
    """
    every = {rule: of_rule for rule, of_rule in cohorts.items() if of_rule}
    groups = use_groups(every)
    equal = of_equal_use(every, groups, choice)
    applied = {rule: of_rule for rule, of_rule in equal.items() if of_rule}
    registered = {shown_name("f_beta", protocol): "f_beta"}
    named = tuple(registered.get(name, name) for name in choice.figures)
    choice = replace(choice, figures=named)
    bootstraps = checked_bootstraps(applied, protocol, choice)
    names = choice.figures or protocol.figures
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
    """What every figure is in each resample, by rule."""
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
    found = _refined(_difference(blank, replicates, protocol, choice), drawn, protocol, choice)
    if found.comparison is not None:
        first, second = (cohorts[name] for name in pair)
        units = units_of(first, protocol.interval)
        found = replace(found, delong=delong_test(found.reading.figure, first, second, units))
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


def _refined(
    found: FigureDifference, drawn: Drawn, protocol: TestProtocol, choice: ComparisonChoice
) -> FigureDifference:
    """The same from ten times as many replicates, where a bound comes close to the margin."""
    comparison, pairs = found.comparison, drawn.pairs
    if comparison is None or pairs is None or comparison.margin is None:
        return found
    if comparison.difference.low is None:
        return found
    names, reading = (found.algorithm, choice.baseline), found.reading
    rows = pairs.rows(*column_of(reading, protocol), *names)
    gains = rows if better_of(reading.figure) != "lower" else rows.negated
    low, high = bound_reach(gains.low, (1 - protocol.interval.level) / 2)
    if not low <= -comparison.margin.margin <= high:
        return found
    more = pairs.redrawn(MORE, reading.figure, *names)
    again = replace(
        drawn.replicates[reading], pair=partial(more.rows, *column_of(reading, protocol))
    )
    return _difference(found, again, protocol, choice)


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
        told = in_words(str(error))
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
