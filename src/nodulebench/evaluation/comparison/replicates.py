"""Labelled cohorts of several algorithms x metrics -> their values on the same resamples."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.protocol import IntervalChoice, TestProtocol
from nodulebench.evaluation.estimates import (
    bind_parameters,
    column_keys,
    exactly,
    replicate_metrics,
    shown_name,
)
from nodulebench.evaluation.guarded_rows import (
    FEWEST_FOR_GOOD_RATE,
    FEWEST_UNGUARDED,
    ROUNDING,
    GuardedCohort,
    guarded_rows,
    sums_of,
    units_of_metric,
)
from nodulebench.metrics import METRICS, Metric, guard_of, info_of
from nodulebench.metrics.pseudo_patient import Kind, paired_icc, perfect_cohort
from nodulebench.statistics.bootstrap import (
    Bootstrap,
    GuardedBootstrap,
    GuardedRatio,
    RatioSums,
    guarded_interval,
    ratio_sums,
    units_needed,
)
from nodulebench.statistics.paired import PairedRows, Replicates


def _means(names: Iterable[str]) -> dict[str, str]:
    """The metrics that are the mean of another one of these, which is read at several points."""
    of = {name: info_of(name).mean_of for name in names}
    return {name: read for name, read in of.items() if read in of}


@dataclass(frozen=True, eq=False)
class _AlgorithmReplicates:
    """The metrics of one algorithm on every replicate, with any pseudo-patient."""

    cohort: LabelledCohort
    metrics: Mapping[str, Metric]
    bootstrap: GuardedBootstrap

    @cached_property
    def guarded(self) -> GuardedCohort:
        """The cohort; its pseudo-patient has one false positive, as curves need it.

        Further ones would score as low as the lowest mark, where a curve ends.
        """
        plain = GuardedCohort(self.cohort, self.bootstrap, falses=1)
        return replace(plain, icc=paired_icc(int(np.count_nonzero(plain.nodules_of_unit))))

    @cached_property
    def ratios(self) -> dict[str, GuardedRatio]:
        sums = {name: sums_of(metric, self.cohort) for name, metric in self.metrics.items()}
        return {
            name: self.guarded.ratio(self.metrics[name], of_case, guard_of(name))
            for name, of_case in sums.items()
            if of_case is not None
        }

    @cached_property
    def sums(self) -> RatioSums:
        ratios = list(self.ratios.values())
        parts = [ratio_sums(ratios, block) for block in self.bootstrap.blocks()]
        names = ("above", "below", "abnormal", "normal")
        return RatioSums(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
        )

    @cached_property
    def read(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """The other metrics at worst and at best, a column for each point."""
        means = _means(self.metrics)
        asked = {
            name: metric
            for name, metric in self.metrics.items()
            if name not in self.ratios and name not in means
        }
        rows = guarded_rows(self.guarded, asked)
        readings = {name: (row.worst, row.best) for name, row in rows.items()}
        for name, of in means.items():
            readings[name] = (readings[of][0].mean(axis=1), readings[of][1].mean(axis=1))
        return readings

    def rows(self, metric: str, column: int | None, kind: Kind, falses: int) -> FloatArray:
        if metric not in self.ratios:
            both = self.read[metric][kind == "best"]
            return both if column is None else both[:, column]
        ratio = self.ratios[metric]
        pseudo = ratio.worst if kind == "worst" else ratio.best
        if guard_of(metric) in ("cases", "rate"):
            guarded = replace(self.guarded, falses=falses)
            pseudo = guarded.pseudo_sums(self.metrics[metric], kind)
        return self.sums.column(list(self.ratios).index(metric)).read(pseudo)

    def units(self, metric: str) -> int:
        of_case = sums_of(self.metrics[metric], self.cohort)
        return units_of_metric(self.guarded, self.metrics[metric], of_case, guard_of(metric))


@dataclass(frozen=True, eq=False)
class GuardedPairs:
    """Several algorithms on the same replicates, for comparisons in pairs."""

    cohorts: Mapping[str, LabelledCohort]
    metrics: Mapping[str, Mapping[str, Metric]]
    """Algorithm -> the metrics that are defined for it, bound to their parameters."""
    bootstrap: GuardedBootstrap
    interval: IntervalChoice

    @cached_property
    def each(self) -> dict[str, _AlgorithmReplicates]:
        return {
            name: _AlgorithmReplicates(cohort, self.metrics[name], self.bootstrap)
            for name, cohort in self.cohorts.items()
        }

    def rows(self, metric: str, column: int | None, first: str, second: str) -> PairedRows:
        algorithm, other = self.each[first], self.each[second]
        more = algorithm.guarded.falses_of_unit - other.guarded.falses_of_unit
        worst, best = (
            algorithm.rows(metric, column, "worst", _largest_excess(more))
            - other.rows(metric, column, "best", 1),
            algorithm.rows(metric, column, "best", 1)
            - other.rows(metric, column, "worst", _largest_excess(-more)),
        )
        units = min(algorithm.units(metric), other.units(metric))
        return PairedRows.ordered(
            worst,
            best,
            self._method(metric, algorithm.guarded.icc),
            reason=self._no_interval(metric, units, worst, best),
            not_assessable=partial(self._not_assessable, metric, column, first, units),
        )

    def redrawn(self, times: int, metric: str, *names: str) -> "GuardedPairs":
        return replace(
            self,
            cohorts={name: self.cohorts[name] for name in names},
            metrics={name: {metric: self.metrics[name][metric]} for name in names},
            bootstrap=replace(self.bootstrap, replicates=times * self.bootstrap.replicates),
        )

    def _method(self, metric: str, icc: float) -> Notice:
        values = {"unit": self.interval.unit, "replicates": self.bootstrap.replicates}
        if guard_of(metric) == "none":
            return Notice("bayesian_paired_bootstrap", values)
        return Notice("guarded_paired_bootstrap", {**values, "icc": icc})

    def _no_interval(
        self, metric: str, units: int, worst: FloatArray, best: FloatArray
    ) -> Notice | None:
        counted = {"units": units, "unit": self.interval.unit}
        guard = guard_of(metric)
        if guard == "rate" and units < FEWEST_FOR_GOOD_RATE:
            return Notice("too_few_for_rate", {**counted, "needed": FEWEST_FOR_GOOD_RATE})
        if guard == "none" and units < FEWEST_UNGUARDED:
            return Notice("too_few_unguarded", {**counted, "needed": FEWEST_UNGUARDED})
        rows = np.concatenate([worst, best])
        if not np.isfinite(rows).all():
            lost = int(np.count_nonzero(~np.isfinite(worst)))
            return Notice("no_interval", {"lost": lost, "replicates": len(worst)})
        return None if np.ptp(rows) > ROUNDING else Notice("no_variation")

    def _not_assessable(
        self, metric: str, column: int | None, name: str, units: int, margin: float
    ) -> Notice | None:
        """The reason why not even two perfect algorithms could be shown equal within a margin."""
        if guard_of(metric) == "none":
            return None
        try:
            gap = self._perfect_gap(metric, column, name)
        except UndefinedError:
            return None  # what could be shown depends on the marks
        if gap < margin:
            return None
        needed = units_needed(units, gap, margin, self.interval.level)
        values = {"units": units, "unit": self.interval.unit, "needed": needed}
        return Notice("not_assessable", values)

    def _perfect_gap(self, metric: str, column: int | None, name: str) -> float:
        """How far from 0 the interval of two perfect algorithms reaches."""
        algorithm = self.each[name]
        if guard_of(metric) == "trials":
            ratio = algorithm.ratios[metric]
            sums = algorithm.sums.column(list(algorithm.ratios).index(metric))
            perfect = replace(sums, above=sums.below)
            worst, best = perfect.read(ratio.worst), perfect.read(ratio.best)
        else:
            metrics = {metric: algorithm.metrics[metric]}
            ideal = _AlgorithmReplicates(perfect_cohort(algorithm.cohort), metrics, self.bootstrap)
            worst, best = (ideal.rows(metric, column, kind, 1) for kind in ("worst", "best"))
        low, high = guarded_interval(0.0, worst - best, best - worst, self.interval.level)
        return max(-low, high)


def _largest_excess(falses: FloatArray) -> int:
    return max(1, int(falses.max(initial=0)))


@dataclass(frozen=True, slots=True)
class Reading:
    """A metric, and the point at which it is read if it is read at several."""

    metric: str
    shown: str
    point: str = ""

    def __str__(self) -> str:
        return f"{self.shown} at {self.point}" if self.point else self.shown


@dataclass(frozen=True, slots=True)
class Drawn:
    """Metrics of several algorithms on the same resamples."""

    replicates: dict[Reading, Replicates]
    """For each reading the algorithms for which it is defined; there may be none."""
    undefined: dict[tuple[str, str], Notice]
    """Metric and algorithm -> why the metric is undefined for it."""
    pairs: GuardedPairs | None = None
    """The algorithms on the guarded bootstrap; None: intervals are percentiles of replicates."""


def draw_readings(
    cohorts: Mapping[str, LabelledCohort],
    protocol: TestProtocol,
    names: Iterable[str],
    bootstrap: Bootstrap,
    *,
    is_guarded: bool = True,
) -> Drawn:
    """Evaluate metrics for every algorithm on the whole cohort and on every resample.

    Ranks are read from resamples; intervals too, unless they are guarded.
    """
    metrics = {name: bind_parameters(METRICS[name], protocol) for name in names}
    whole = np.ones((1, len(bootstrap.unit_of_case)), dtype=np.int32)
    undefined: dict[tuple[str, str], Notice] = {}
    defined: dict[str, dict[str, Metric]] = {}
    for algorithm, cohort in cohorts.items():
        defined[algorithm] = {}
        for name, metric in metrics.items():
            try:
                metric(cohort, whole)
            except UndefinedError as error:
                undefined[name, algorithm] = reason_of(error)
            else:
                defined[algorithm][name] = metric
    values = {
        algorithm: _read(cohort, protocol, defined[algorithm], [whole])
        for algorithm, cohort in cohorts.items()
    }
    blocks: dict[str, list[dict[Reading, FloatArray]]] = {algorithm: [] for algorithm in cohorts}
    for block in bootstrap.blocks():
        for algorithm, cohort in cohorts.items():
            blocks[algorithm].append(_read(cohort, protocol, defined[algorithm], [block]))
    readings = {reading: None for read in values.values() for reading in read}
    read_metrics = {reading.metric for reading in readings}
    for name in metrics:
        if name not in read_metrics:
            readings[Reading(name, shown_name(name, protocol))] = None
    together = {reading: _together(reading, values, blocks) for reading in readings}
    if not is_guarded:
        return Drawn(together, undefined)
    exact = exactly(protocol)
    pairs = GuardedPairs(
        cohorts,
        {
            algorithm: {name: bind_parameters(METRICS[name], exact) for name in own_metrics}
            for algorithm, own_metrics in defined.items()
        },
        GuardedBootstrap(bootstrap.unit_of_case, bootstrap.replicates, bootstrap.seed),
        protocol.interval,
    )
    guarded = {
        reading: replace(replicates, pair=partial(pairs.rows, *column_of(reading, protocol)))
        for reading, replicates in together.items()
    }
    return Drawn(guarded, undefined, pairs)


def column_of(reading: Reading, protocol: TestProtocol) -> tuple[str, int | None]:
    if not reading.point:
        return reading.metric, None
    return reading.metric, column_keys(reading.metric, protocol).index(reading.point)


def _read(
    cohort: LabelledCohort,
    protocol: TestProtocol,
    metrics: Mapping[str, Metric],
    blocks: Iterable[WeightArray],
) -> dict[Reading, FloatArray]:
    """Every reading on every row of weights. Means are not computed again."""
    means = _means(metrics)
    asked = {name: metric for name, metric in metrics.items() if name not in means}
    values = replicate_metrics(cohort, asked, blocks)
    read: dict[Reading, FloatArray] = {}
    for name in metrics:
        shown = shown_name(name, protocol)
        if name in means:
            read[Reading(name, shown)] = values[means[name]].mean(axis=1)
        elif values[name].ndim == 2:
            for column, key in enumerate(column_keys(name, protocol, values[name].shape[1])):
                read[Reading(name, shown, key)] = values[name][:, column]
        else:
            read[Reading(name, shown)] = values[name]
    return read


def _together(
    reading: Reading,
    values: Mapping[str, dict[Reading, FloatArray]],
    blocks: Mapping[str, list[dict[Reading, FloatArray]]],
) -> Replicates:
    names = [algorithm for algorithm, read in values.items() if reading in read]
    if not names:
        return Replicates((), np.empty(0), np.empty((0, 0)))
    return Replicates(
        names=tuple(names),
        value=np.array([float(values[name][reading][0]) for name in names]),
        replicate=np.stack(
            [np.concatenate([part[reading] for part in blocks[name]]) for name in names]
        ),
    )
