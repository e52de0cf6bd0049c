"""Metrics of several algorithms under several rules -> the effect of the rule on all of them.

This is the group analysis of the NIFDC paper: mean ± SD over algorithms, relative difference in
hits to the baseline rule, and tests between rules, as published and in their paired form.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.comparison import EffectSummary, RuleEffectsSummary
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import reason_of
from nodulebench.core.protocol import TestProtocol
from nodulebench.evaluation.comparison.replicates import Drawn, Reading
from nodulebench.statistics.groups import relative_difference, rule_effect

FEWEST_ALGORITHMS, FEWEST_RULES = 3, 2
TESTED = ("groups", "one_way", "repeated", "friedman", "pairs", "reasons")


def estimate_rule_effects(
    cohorts: Mapping[str, Mapping[str, LabelledCohort]],
    drawn: Mapping[str, Drawn],
    protocol: TestProtocol,
) -> RuleEffectsSummary | None:
    """The group analysis, if there are three algorithms and two rules."""
    rules = tuple(cohorts)
    if len(rules) < FEWEST_RULES:
        return None
    algorithms = tuple(
        name for name in cohorts[rules[0]] if all(name in cohorts[rule] for rule in rules)
    )
    if len(algorithms) < FEWEST_ALGORITHMS:
        return None
    baseline = protocol.baseline_rule or protocol.rules[0].name
    if baseline not in rules:
        baseline = rules[0]
    effects: list[EffectSummary] = []
    undefined: list[EffectSummary] = []
    for reading in {reading: None for rule in rules for reading in drawn[rule].replicates}:
        blank = EffectSummary(reading.shown, reading.point or None)
        try:
            effect = rule_effect(_table(reading, drawn, rules, algorithms), rules)
        except UndefinedError as error:
            undefined.append(replace(blank, reasons=(reason_of(error),)))
        else:
            effects.append(replace(blank, **{name: getattr(effect, name) for name in TESTED}))
    return RuleEffectsSummary(
        algorithms=algorithms,
        baseline_rule=baseline,
        relative_differences={
            rule: {
                name: _relative_difference(cohorts[rule][name], cohorts[baseline][name])
                for name in algorithms
            }
            for rule in rules
            if rule != baseline
        },
        metrics=(*effects, *undefined),
    )


def _table(
    reading: Reading,
    drawn: Mapping[str, Drawn],
    rules: tuple[str, ...],
    algorithms: tuple[str, ...],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    table = np.full((len(algorithms), len(rules)), np.nan)
    for column, rule in enumerate(rules):
        replicates = drawn[rule].replicates.get(reading)
        for row, name in enumerate(algorithms):
            if replicates is not None and name in replicates.names:
                table[row, column] = replicates.value[replicates.row(name)]
    return table


def _relative_difference(cohort: LabelledCohort, baseline: LabelledCohort) -> float | None:
    hits = (
        cohort.nodule_count - cohort.missed_count,
        baseline.nodule_count - baseline.missed_count,
    )
    try:
        return relative_difference(*hits)
    except UndefinedError:
        return None
