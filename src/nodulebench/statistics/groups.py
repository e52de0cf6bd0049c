"""One metric of many algorithms under several rules -> mean ± SD, relative difference, all tests.

This is the analysis of the NIFDC paper: what does the choice of the rule do to the results of a
group of algorithms? It is given as published and in its paired form.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, TypeVar

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
from nodulebench.statistics.multiplicity import holm


def summarize_group(values: FloatArray | Sequence[float]) -> GroupSummary:
    group = np.asarray(values, dtype=np.float64)
    if len(group) < 2:
        raise UndefinedError("deviation_too_few")
    return GroupSummary(float(group.mean()), float(group.std(ddof=1)), len(group))


def one_way_anova(groups: Sequence[GroupSummary]) -> Significance:
    from scipy import stats

    if len(groups) < 2:
        raise UndefinedError("anova_too_few")
    mean = np.array([group.mean for group in groups])
    count = np.array([group.count for group in groups])
    within = np.array([(group.count - 1) * group.sd**2 for group in groups]).sum()
    between = (count * (mean - np.average(mean, weights=count)) ** 2).sum()
    degrees = (float(len(groups) - 1), float(count.sum() - len(groups)))
    if not within > 0:
        raise UndefinedError("groups_constant")
    statistic = (between / degrees[0]) / (within / degrees[1])
    return Significance(
        method=Notice("one_way_anova"),
        statistic=float(statistic),
        p_value=float(stats.f.sf(statistic, *degrees)),
        degrees_of_freedom=degrees,
    )


def unpaired_t(first: GroupSummary, second: GroupSummary) -> Significance:
    """Student's t-test of two independent groups with pooled variance, two-sided."""
    from scipy import stats

    if not (first.sd > 0 or second.sd > 0):
        raise UndefinedError("neither_varies")
    result = stats.ttest_ind_from_stats(
        first.mean, first.sd, first.count, second.mean, second.sd, second.count, equal_var=True
    )
    return _significance(Notice("unpaired_t"), result, first.count + second.count - 2)


def repeated_measures_anova(values: FloatArray) -> RepeatedMeasures:
    """Analysis of variance of the same units (rows) under several conditions (columns)."""
    from scipy import stats

    table = _paired_table(values)
    units, conditions = table.shape
    residual = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    between = units * ((table.mean(axis=0) - table.mean()) ** 2).sum()
    error = (residual**2).sum()
    _require_variation(error, table)
    degrees = (float(conditions - 1), float((units - 1) * (conditions - 1)))
    statistic = float((between / degrees[0]) / (error / degrees[1]))
    # from the covariance of the doubly centred values (Greenhouse and Geisser 1959)
    covariance = residual.T @ residual
    shared = (conditions - 1) * (covariance**2).sum()
    epsilon = float(np.trace(covariance) ** 2 / shared)

    def answer(method: Notice, shrink: float) -> Significance:
        shrunk = (shrink * degrees[0], shrink * degrees[1])
        p_value = float(stats.f.sf(statistic, *shrunk))
        return Significance(method, statistic, p_value, shrunk)

    return RepeatedMeasures(
        uncorrected=answer(Notice("repeated_anova"), 1.0),
        corrected=answer(Notice("repeated_anova_corrected"), epsilon),
        epsilon=epsilon,
    )


def friedman(values: FloatArray) -> Significance:
    """Friedman's rank test of the same units (rows) under three or more conditions (columns)."""
    from scipy import stats

    table = _paired_table(values)
    if table.shape[1] < 3:
        raise UndefinedError("friedman_too_few")
    if not (table != table[:, :1]).any():
        raise UndefinedError("conditions_equal")
    result = stats.friedmanchisquare(*table.T)
    return _significance(Notice("friedman"), result, table.shape[1] - 1)


def paired_t(first: FloatArray, second: FloatArray) -> Significance:
    """Student's t-test of the differences between paired values, two-sided."""
    from scipy import stats

    difference = _differences(first, second)
    _require_variation(((difference - difference.mean()) ** 2).sum(), difference)
    result = stats.ttest_1samp(difference, 0.0)
    return _significance(Notice("paired_t"), result, len(difference) - 1)


def wilcoxon(first: FloatArray, second: FloatArray) -> Significance:
    """Wilcoxon's signed-rank test of paired values, two-sided; equal pairs are left out."""
    from scipy import stats

    difference = _differences(first, second)
    difference = difference[difference != 0]
    if not len(difference):
        raise UndefinedError("pairs_equal")
    has_ties = len(np.unique(np.abs(difference))) < len(difference)
    is_exact = not has_ties and len(difference) <= 50
    result = stats.wilcoxon(difference, method="exact" if is_exact else "approx")
    return _significance(Notice("wilcoxon_exact" if is_exact else "wilcoxon_normal"), result)


def _significance(method: Notice, result: Any, *degrees: int) -> Significance:
    statistic, p_value = float(result.statistic), float(result.pvalue)
    return Significance(method, statistic, p_value, tuple(map(float, degrees)))


def _paired_table(values: FloatArray) -> FloatArray:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise UndefinedError("paired_too_few")
    return table


def _differences(first: FloatArray, second: FloatArray) -> FloatArray:
    table = _paired_table(np.stack([first, second], axis=-1))
    return table[:, 0] - table[:, 1]


def _require_variation(error: float, values: FloatArray) -> None:
    if not error > 1e-24 * max(float(np.square(values).sum()), 1e-300):
        raise UndefinedError("differences_constant")


Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class RuleEffect:
    """The effect of the rules on one metric of a group of algorithms; an undefined test is None."""

    groups: dict[str, GroupSummary]
    one_way: Significance | None
    """As published: the rules as independent groups."""
    repeated: RepeatedMeasures | None
    friedman: Significance | None
    pairs: tuple[PairOfRules, ...]
    reasons: tuple[Notice, ...] = ()


def rule_effect(values: FloatArray, rules: tuple[str, ...]) -> RuleEffect:
    """All tests of one metric between rules.

    Values have one row per algorithm and one column per rule.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(rules):
        what = f"have the shape {table.shape}, for {len(rules)} rules."
        remedy = "Give one row per algorithm and one column per rule."
        raise InputError.at("values by rule", what, remedy)
    if not np.isfinite(table).all():
        raise UndefinedError("undefined_for_some")
    groups = {rule: summarize_group(column) for rule, column in zip(rules, table.T, strict=True)}
    reasons: list[Notice] = []

    def attempt(name: str, test: Callable[[], Answer]) -> Answer | None:
        return _attempt(reasons, Notice("test_of_rules", {"test": name}), test)

    return RuleEffect(
        groups=groups,
        one_way=attempt("one_way", lambda: one_way_anova(list(groups.values()))),
        repeated=attempt("repeated", lambda: repeated_measures_anova(table)),
        friedman=attempt("friedman", lambda: friedman(table)),
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
            _attempt(reasons, name, partial(test, table[:, left], table[:, right]))
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
                reasons,
                names[number],
                partial(unpaired_t, groups[rules[left]], groups[rules[right]]),
            ),
            paired_t=by_t[number],
            paired_t_holm=t_holm[number],
            wilcoxon=by_rank[number],
            wilcoxon_holm=rank_holm[number],
        )
        for number, (left, right) in enumerate(columns)
    )


def _attempt(reasons: list[Notice], about: Notice, test: Callable[[], Answer]) -> Answer | None:
    try:
        return test()
    except UndefinedError as error:
        reasons.append(replace(about, values={**about.values, "reason": reason_of(error)}))
        return None


def _holm_of(tests: list[Significance | None]) -> list[float | None]:
    adjusted = iter(holm([test.p_value for test in tests if test is not None]).tolist())
    return [None if test is None else next(adjusted) for test in tests]


def relative_difference(hits: int, baseline_hits: int) -> float:
    """Hits under a rule against the baseline rule: (TP - TP_base) / TP_base (NIFDC eq. 1)."""
    if baseline_hits == 0:
        raise UndefinedError("no_hit_at_baseline")
    return (hits - baseline_hits) / baseline_hits
