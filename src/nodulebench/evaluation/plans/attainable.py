"""Criterion on a bound x test set -> a precise bound, and whether the criterion can be met at all.

A verdict must not depend on the chance of resampling: its bound has more replicates, and ten times
as many if it comes close to the limit. If even a perfect result could not meet the limit on these
patients, the criterion says nothing about an algorithm.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.core.plans import DEMANDS, Criterion
from nodulebench.core.protocol import TestProtocol
from nodulebench.evaluation.estimates import (
    bind_parameters,
    column_keys,
    guarded_bootstrap_of,
    guarded_rows_of,
    shown_name,
)
from nodulebench.evaluation.guarded_rows import (
    FEWEST_FOR_RATE,
    GuardedRows,
    guarded_metric_interval,
    sums_of,
)
from nodulebench.evaluation.strata import stratum_rows
from nodulebench.metrics import METRICS, guard_of, info_of
from nodulebench.metrics.pseudo_patient import SINGLE_ICC, perfect_cohort, pseudo_size
from nodulebench.statistics.bootstrap import (
    bound_reach,
    guarded_interval,
    guarded_p_value,
    proportion_of,
    ratio_rows,
    units_needed,
)

VERDICT_REPLICATES = 10_000
"""The least number of replicates of a bound on which a verdict depends."""
MORE = 10
"""The factor by which replicates increase within two standard errors of the limit."""


@dataclass(frozen=True, slots=True)
class Refined:
    """The bounds of a criterion's metric, precise enough for a verdict."""

    low: float
    high: float
    replicates: int
    p_value: float | None
    """The P value of a criterion that demands evidence, else None."""


def refine(
    criterion: Criterion, cohort: LabelledCohort, protocol: TestProtocol, value: float
) -> Refined | None:
    """The interval of a criterion's metric from as many replicates as the verdict needs."""
    replicates = max(VERDICT_REPLICATES, protocol.interval.bootstraps)
    for count in (replicates, MORE * replicates):
        rows = _rows(criterion, cohort, _drawing(protocol, count))
        if rows is None:
            return None
        low, high = guarded_interval(value, rows.worst, rows.best, protocol.interval.level)
        p_value = _p_value(criterion, rows, value)
        if not _is_close(criterion, rows, protocol.interval.level):
            break
    return Refined(low, high, count, p_value)


def _p_value(criterion: Criterion, rows: GuardedRows, value: float) -> float | None:
    if (criterion.bound, criterion.comparison) not in DEMANDS:
        return None
    is_low = criterion.bound == "low"
    return guarded_p_value(value, rows.worst, rows.best, criterion.limit, is_low=is_low)


def not_assessable(
    criterion: Criterion, cohort: LabelledCohort, protocol: TestProtocol
) -> Notice | None:
    """Why not even a perfect result could meet a criterion on these cases; None: it could.

    Args:
        criterion: the criterion.
        cohort: the cases, with the marks of any algorithm or without marks.
        protocol: the protocol of the test.
    """
    metric = _registered(criterion, protocol)
    is_higher_better = info_of(metric).is_higher_better
    if (criterion.bound, criterion.comparison) not in DEMANDS or is_higher_better is None:
        return None
    if guard_of(metric) == "none" or (criterion.comparison == ">=") != is_higher_better:
        return None
    best = _drawing(protocol, VERDICT_REPLICATES)
    try:
        rows = _perfect_rows(criterion, cohort, best)
    except UndefinedError:
        return None  # what could be shown depends on the marks
    if rows is None:
        return None
    perfect_value = 1.0 if is_higher_better else 0.0
    sound = guarded_metric_interval(perfect_value, rows, best.interval)
    bound = sound.low if is_higher_better else sound.high
    counted = {"units": rows.units, "unit": protocol.interval.unit}
    allowed = abs(perfect_value - criterion.limit)
    if bound is None:  # a rate on too few cases
        _, high = guarded_interval(perfect_value, rows.worst, rows.best, best.interval.level)
        needed = units_needed(rows.units, high, allowed, best.interval.level)
        values = {**counted, "needed": max(FEWEST_FOR_RATE, needed or 0)}
        return Notice("not_assessable", values)
    is_met = bound >= criterion.limit if is_higher_better else bound <= criterion.limit
    if is_met:
        return None
    needed = units_needed(rows.units, abs(perfect_value - bound), allowed, best.interval.level)
    return Notice("not_assessable", {**counted, "needed": needed})


def _rows(
    criterion: Criterion, cohort: LabelledCohort, protocol: TestProtocol
) -> GuardedRows | None:
    """The criterion's metric on every replicate."""
    if criterion.stratum:
        division, _, stratum = criterion.stratum.partition("=")
        return stratum_rows(cohort, protocol, division, stratum, criterion.metric)
    metric, point = _registered(criterion, protocol), criterion.metric.partition("@")[2]
    if metric not in METRICS:
        return None
    rows = guarded_rows_of(cohort, protocol, [metric]).get(metric)
    if rows is None or not point:
        return rows
    return rows.at(column_keys(metric, protocol, rows.worst.shape[1]).index(point))


def _perfect_rows(
    criterion: Criterion, cohort: LabelledCohort, protocol: TestProtocol
) -> GuardedRows | None:
    """The rows of a perfect result: all trials succeed."""
    metric = _registered(criterion, protocol)
    if criterion.stratum or guard_of(metric) != "trials":
        return _rows(criterion, perfect_cohort(cohort), protocol)
    bootstrap = guarded_bootstrap_of(cohort, protocol)
    of_case = sums_of(bind_parameters(METRICS[metric], protocol), cohort)
    if bootstrap is None or of_case is None:
        return None
    trials = bootstrap.per_unit(of_case.denominator)
    successes = trials if info_of(metric).is_higher_better else np.zeros_like(trials)
    ratio = proportion_of(successes, trials, pseudo_size(trials, SINGLE_ICC))
    parts = [ratio_rows([ratio], block) for block in bootstrap.blocks()]
    worst, best = (np.concatenate(part)[:, 0] for part in zip(*parts, strict=True))
    return GuardedRows(worst, best, units=int(np.count_nonzero(trials)), guard="trials")


def _registered(criterion: Criterion, protocol: TestProtocol) -> str:
    """The name under which a criterion's metric is registered."""
    name = criterion.metric.partition("@")[0]
    return "f_beta" if name == shown_name("f_beta", protocol) else name


def _drawing(protocol: TestProtocol, replicates: int) -> TestProtocol:
    """The protocol with guarded intervals from this number of replicates."""
    changed = {"method": "guarded", "bootstraps": replicates}
    interval = protocol.interval.model_copy(update=changed)
    return protocol.model_copy(update={"interval": interval})


def _is_close(criterion: Criterion, rows: GuardedRows, level: float) -> bool:
    """Whether another seed might move the bound to the other side of the limit."""
    tail = (1 - level) / 2
    share = tail if criterion.bound == "low" else 1 - tail
    reaches = [bound_reach(rows_of_kind, share) for rows_of_kind in (rows.worst, rows.best)]
    ends = zip(*reaches, strict=True)
    low, high = map(min, ends) if criterion.bound == "low" else map(max, ends)
    return bool(low <= criterion.limit <= high)
