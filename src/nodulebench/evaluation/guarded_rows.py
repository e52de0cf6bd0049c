"""Labelled cohort x metrics -> their values on guarded bootstrap replicates, and intervals.

The guarded bootstrap adds a pseudo-patient to every replicate, once at worst and once at best. Its
intervals stay valid near 0 % and 100 %.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import IntervalChoice
from nodulebench.core.results import GuardedInterval
from nodulebench.metrics import Metric, guard_of
from nodulebench.metrics.metric import CaseSums, Guard, Ratio, sum_by_case
from nodulebench.metrics.pseudo_patient import (
    KINDS,
    SINGLE_ICC,
    Kind,
    PseudoPatient,
    pseudo_size,
    with_pseudo_cases,
    without_cases,
)
from nodulebench.statistics.bootstrap import (
    GuardedBootstrap,
    GuardedRatio,
    UnitWeights,
    guarded_interval,
    leave_one_out,
    proportion_of,
    ratio_rows,
)

FEW_UNITS = 10
"""With fewer units that have a trial, the interval rests mainly on the pseudo-patient."""
FEWEST_FOR_RATE = 10
"""On fewer units a rate without an upper limit has no interval."""
FEWEST_FOR_GOOD_RATE = 20
"""On fewer units a rate is approximate, and a difference of rates has no interval."""
FEWEST_UNGUARDED = 20
"""On fewer units a metric without a worst case has no interval."""

ROUNDING = 1e-9
"""Values this near, relative to their size, differ by rounding only."""


@dataclass(frozen=True, slots=True)
class GuardedRows:
    """A metric on every replicate with the worst and with the best pseudo-patient."""

    worst: FloatArray
    """One row per replicate; a column for each point of a metric read at several."""
    best: FloatArray
    units: int
    guard: Guard

    def at(self, columns: int | slice) -> "GuardedRows":
        return replace(self, worst=self.worst[:, columns], best=self.best[:, columns])

    @property
    def mean(self) -> "GuardedRows":
        return replace(self, worst=self.worst.mean(axis=1), best=self.best.mean(axis=1))


@dataclass(frozen=True, eq=False)
class GuardedCohort:
    """A cohort, or those of its cases that count, with its pseudo-patient."""

    cohort: LabelledCohort
    bootstrap: GuardedBootstrap
    is_in: BoolArray | None = None
    """Which cases count; None: all."""
    icc: float = SINGLE_ICC
    falses: int | None = None
    """False positives of the pseudo-patient at worst; None: the maximum over the units."""

    @cached_property
    def nodules_of_unit(self) -> FloatArray:
        """Nodules to find of each unit, in the cases that count."""
        return self._per_unit(sum_by_case(self.cohort, self.cohort.nodule_case))

    @cached_property
    def falses_of_unit(self) -> FloatArray:
        return self._per_unit(sum_by_case(self.cohort, self.cohort.false_case))

    @cached_property
    def pseudo_patient(self) -> PseudoPatient:
        falses = self.falses
        if falses is None:
            falses = max(1, int(self.falses_of_unit.max(initial=0)))
        return PseudoPatient(pseudo_size(self.nodules_of_unit, self.icc), falses)

    @cached_property
    def real_units(self) -> tuple[BoolArray, BoolArray]:
        """The units that determine the weights of the abnormal and of the normal pseudo-case."""
        everyone = self._per_unit(np.ones(self.cohort.case_count)) > 0
        abnormal = self.nodules_of_unit > 0
        return (abnormal if abnormal.any() else everyone), everyone

    def case_weight(self, block: UnitWeights, *, is_padded: bool = True) -> WeightArray:
        """The weights of the cases, followed by those of the pseudo-cases if ``is_padded``."""
        weight: WeightArray = block.weight[:, self.bootstrap.unit_of_case]
        if self.is_in is not None:
            weight = weight * self.is_in
        if not is_padded:
            return weight
        abnormal, normal = (
            block.pseudo(units[:, np.newaxis], is_abnormal=is_first)
            for units, is_first in zip(self.real_units, (True, False), strict=True)
        )
        abnormal *= self.pseudo_patient.share
        return np.concatenate([weight, abnormal, normal], axis=1)

    def ratio(self, metric: Metric, of_case: CaseSums, guard: Guard) -> GuardedRatio:
        """A bound ratio with what the pseudo-patient adds to it."""
        above, below = self._per_unit(of_case.numerator), self._per_unit(of_case.denominator)
        if guard == "trials":
            return proportion_of(above, below, pseudo_size(below, self.icc))
        worst, best = (
            np.zeros((2, 2)) if guard == "none" else self.pseudo_sums(metric, kind)
            for kind in KINDS
        )
        return GuardedRatio(above, below, worst, best, self.real_units)

    def pseudo_sums(self, metric: Metric, kind: Kind) -> FloatArray:
        """The numerator and denominator of a ratio in the two pseudo-cases, by their weights."""
        pseudo_only = with_pseudo_cases(without_cases(self.cohort), kind, self.pseudo_patient)
        sums = sums_of(metric, pseudo_only)
        if sums is None:
            raise TypeError("only a ratio has sums")
        weight = np.array([self.pseudo_patient.share, 1.0])
        return np.stack([sums.numerator * weight, sums.denominator * weight])

    def _per_unit(self, of_case: FloatArray) -> FloatArray:
        return self.bootstrap.per_unit(of_case if self.is_in is None else of_case * self.is_in)


def sums_of(metric: Metric, cohort: LabelledCohort) -> CaseSums | None:
    """The two sums over cases that a bound metric divides; None if it is not a ratio."""
    if isinstance(metric, partial) and isinstance(metric.func, Ratio):
        return metric.func.sums(cohort, **metric.keywords)
    return None


def guarded_rows(guarded: GuardedCohort, metrics: Mapping[str, Metric]) -> dict[str, GuardedRows]:
    """Metrics, by name and bound to their parameters, on every replicate.

    All ratios are computed by one matrix product.
    """
    guards = {name: guard_of(name) for name in metrics}
    sums = {name: sums_of(metric, guarded.cohort) for name, metric in metrics.items()}
    ratios = {
        name: guarded.ratio(metrics[name], of_case, guards[name])
        for name, of_case in sums.items()
        if of_case is not None
    }
    others = {name: metric for name, metric in metrics.items() if name not in ratios}
    has_padded = any(guards[name] != "none" for name in others)
    padded = {
        kind: with_pseudo_cases(guarded.cohort, kind, guarded.pseudo_patient)
        for kind in (KINDS if has_padded else ())
    }
    rows: dict[Kind, dict[str, list[FloatArray]]] = {
        kind: {name: [] for name in metrics} for kind in KINDS
    }
    for block in guarded.bootstrap.blocks():
        if ratios:
            for kind, read in zip(KINDS, ratio_rows(list(ratios.values()), block), strict=True):
                for name, column in zip(ratios, read.T, strict=True):
                    rows[kind][name].append(column)
        weight = guarded.case_weight(block) if has_padded else None
        for name, metric in others.items():
            if guards[name] == "none":
                plain = guarded.case_weight(block, is_padded=False)
                values = dict.fromkeys(KINDS, metric(guarded.cohort, plain))
            else:
                values = {kind: metric(padded[kind], weight) for kind in KINDS}
            for kind, value in values.items():
                rows[kind][name].append(value)
    return {
        name: GuardedRows(
            np.concatenate(rows["worst"][name]),
            np.concatenate(rows["best"][name]),
            units=units_of_metric(guarded, metric, sums[name], guards[name]),
            guard=guards[name],
        )
        for name, metric in metrics.items()
    }


def units_of_metric(
    guarded: GuardedCohort, metric: Metric, of_case: CaseSums | None, guard: Guard
) -> int:
    if of_case is not None:
        counted = (
            of_case.denominator if guarded.is_in is None else of_case.denominator * guarded.is_in
        )
        return int(np.count_nonzero(guarded.bootstrap.per_unit(counted)))
    if guard != "none":
        return int(np.count_nonzero(guarded.real_units[0]))
    # a metric without sums: count the units whose removal changes it
    unit_of_case = guarded.bootstrap.unit_of_case
    whole = metric(guarded.cohort, np.ones((1, len(unit_of_case))))
    blocks = [metric(guarded.cohort, block) for block in leave_one_out(unit_of_case)]
    left_out = np.concatenate(blocks).reshape(guarded.bootstrap.units, -1)
    is_same = np.abs(left_out - whole) <= ROUNDING * np.maximum(1.0, np.abs(whole))
    return int(np.count_nonzero(~is_same.all(axis=1)))


def guarded_metric_interval(
    value: float, rows: GuardedRows, interval: IntervalChoice
) -> GuardedInterval:
    """The interval of a value from its rows, or the reason why it has none."""
    replicates = len(rows.worst)
    counted = {"units": rows.units, "unit": interval.unit}
    if rows.guard == "rate" and rows.units < FEWEST_FOR_RATE:
        return GuardedInterval(
            reason=Notice("too_few_for_rate", {**counted, "needed": FEWEST_FOR_RATE})
        )
    if rows.guard == "none" and 0 < rows.units < FEWEST_UNGUARDED:
        return GuardedInterval(
            reason=Notice("too_few_unguarded", {**counted, "needed": FEWEST_UNGUARDED})
        )
    if not (np.isfinite(rows.worst).all() and np.isfinite(rows.best).all()):
        lost = int(np.count_nonzero(~np.isfinite(rows.worst)))
        return GuardedInterval(
            reason=Notice("no_interval", {"lost": lost, "replicates": replicates})
        )
    low, high = guarded_interval(value, rows.worst, rows.best, interval.level)
    if not high - low > ROUNDING * max(1.0, abs(value)):
        return GuardedInterval(reason=Notice("no_variation"))
    reason = None
    if rows.guard == "rate" and rows.units < FEWEST_FOR_GOOD_RATE:
        reason = Notice("approximate_rate", counted)
    elif rows.guard in ("trials", "cases") and rows.units < FEW_UNITS:
        reason = Notice("few_patients", counted)
    values: dict[str, object] = {"unit": interval.unit, "replicates": replicates}
    method = Notice("bayesian_bootstrap", values)
    if rows.guard != "none":
        method = Notice("guarded_bootstrap", {**values, "icc": SINGLE_ICC})
    return GuardedInterval(low, high, method, reason)
