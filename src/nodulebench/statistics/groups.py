"""One figure of many algorithms under several rules -> mean ± SD, relative difference, all tests.

This is the analysis of the NIFDC paper: what does the choice of the rule do to the results of a
group of algorithms? It is given as published and in its paired form.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ParamSpec, TypeVar

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.documents.comparison import (
    GroupSummary,
    PairOfRules,
    RepeatedMeasures,
    Significance,
)
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.notices import Notice, reason_of
from nodulebench.statistics.anova import (
    friedman,
    one_way_anova,
    paired_t,
    repeated_measures_anova,
    summarize_group,
    unpaired_t,
    wilcoxon,
)
from nodulebench.statistics.multiplicity import holm

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class RuleEffect:
    """What the rules do to one figure of a group of algorithms; an undefined test is None."""

    groups: dict[str, GroupSummary]
    one_way: Significance | None
    """As published: the rules as independent groups."""
    repeated: RepeatedMeasures | None
    friedman: Significance | None
    pairs: tuple[PairOfRules, ...]
    reasons: tuple[Notice, ...] = ()
    """Why tests are undefined."""


def rule_effect(values: FloatArray, rules: tuple[str, ...]) -> RuleEffect:
    """All tests of one figure between rules.

    Args:
        values: one row per algorithm, one column per rule.
        rules: the names of the columns.

    Raises:
        UndefinedError: where the figure itself is undefined for some algorithm under some rule.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(rules):
        raise InputError.at(
            "values by rule",
            f"have the shape {table.shape}, for {len(rules)} rules.",
            "Give one row per algorithm and one column per rule.",
        )
    if not np.isfinite(table).all():
        raise UndefinedError("undefined_for_some")
    groups = {rule: summarize_group(column) for rule, column in zip(rules, table.T, strict=True)}
    reasons: list[Notice] = []
    return RuleEffect(
        groups=groups,
        one_way=_attempt(
            reasons,
            Notice("test_of_rules", {"test": "one_way"}),
            one_way_anova,
            list(groups.values()),
        ),
        repeated=_attempt(
            reasons, Notice("test_of_rules", {"test": "repeated"}), repeated_measures_anova, table
        ),
        friedman=_attempt(reasons, Notice("test_of_rules", {"test": "friedman"}), friedman, table),
        pairs=_pairs(table, rules, groups, reasons),
        reasons=tuple(reasons),
    )


def _pairs(
    table: FloatArray,
    rules: tuple[str, ...],
    groups: dict[str, GroupSummary],
    reasons: list[Notice],
) -> tuple[PairOfRules, ...]:
    columns = list(combinations(range(len(rules)), 2))
    names = [
        Notice("test_of_two_rules", {"first": rules[left], "second": rules[right]})
        for left, right in columns
    ]
    by_t, by_rank = (
        [
            _attempt(reasons, name, test, table[:, left], table[:, right])
            for name, (left, right) in zip(names, columns, strict=True)
        ]
        for test in (paired_t, wilcoxon)
    )
    t_holm, rank_holm = _holm_of(by_t), _holm_of(by_rank)
    return tuple(
        PairOfRules(
            first=rules[left],
            second=rules[right],
            mean_difference=float((table[:, left] - table[:, right]).mean()),
            unpaired_t=_attempt(
                reasons, names[number], unpaired_t, groups[rules[left]], groups[rules[right]]
            ),
            paired_t=by_t[number],
            paired_t_holm=t_holm[number],
            wilcoxon=by_rank[number],
            wilcoxon_holm=rank_holm[number],
        )
        for number, (left, right) in enumerate(columns)
    )


def _attempt(
    reasons: list[Notice],
    about: Notice,
    test: Callable[Given, Answer],
    *values: Given.args,
    **settings: Given.kwargs,
) -> Answer | None:
    try:
        return test(*values, **settings)
    except UndefinedError as error:
        reasons.append(replace(about, values={**about.values, "reason": reason_of(error)}))
        return None


def _holm_of(tests: list[Significance | None]) -> list[float | None]:
    """Holm over the tests that are defined."""
    adjusted = iter(holm([test.p_value for test in tests if test is not None]).tolist())
    return [None if test is None else next(adjusted) for test in tests]


def relative_difference(hits: int, baseline_hits: int) -> float:
    """Nodules hit under a rule against the baseline rule: (TP - TP_base) / TP_base (NIFDC eq. 1).

    Raises:
        UndefinedError: where no nodule is hit under the baseline rule.
    """
    if baseline_hits == 0:
        raise UndefinedError("no_hit_at_baseline")
    return (hits - baseline_hits) / baseline_hits
