"""Replicate values of algorithms on the same resamples -> paired differences, P values, margins.

A metric is evaluated once per algorithm and replicate; everything between algorithms is then
arithmetic on those rows. Because each replicate draws the same units for every algorithm, a
difference of two rows is a paired difference.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.comparison import MarginTest
from nodulebench.core.errors import InputError, UndefinedError, UnknownNameError
from nodulebench.core.notices import Notice
from nodulebench.core.results import Estimate
from nodulebench.statistics.bootstrap import Bootstrap, guarded_interval, p_value_above
from nodulebench.statistics.intervals import percentile_interval
from nodulebench.statistics.multiplicity import ADJUSTMENTS

Metric = Callable[[LabelledCohort, WeightArray], FloatArray]
"""One value per row of case weights."""

Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class PairedRows:
    """The difference of two algorithms on every replicate of the guarded bootstrap."""

    low: FloatArray
    """The smaller difference of each replicate, over both assignments of the pseudo-patients;
    ``high`` is the larger."""
    high: FloatArray
    method: Notice
    reason: Notice | None = None
    not_assessable: Callable[[float], Notice | None] = lambda _: None
    """Why not even two perfect algorithms could be shown equivalent within a margin."""

    @classmethod
    def ordered(
        cls, first: FloatArray, other: FloatArray, method: Notice, **rest: Any
    ) -> "PairedRows":
        """Order two rows by value, for a metric with either direction."""
        return cls(np.minimum(first, other), np.maximum(first, other), method, **rest)

    @property
    def negated(self) -> "PairedRows":
        """The same with the sign turned, for a metric whose lower values are better."""
        return replace(self, low=-self.high, high=-self.low)


@dataclass(frozen=True, slots=True)
class Replicates:
    """One metric of several algorithms on the same resamples of the same units."""

    names: tuple[str, ...]
    value: FloatArray
    """The metric of each algorithm on the whole cohort."""
    replicate: FloatArray
    """One row per algorithm, one column per replicate; NaN where undefined."""
    pair: Callable[[str, str], PairedRows] | None = None
    """Of two algorithms their guarded rows; None: intervals are percentiles of the replicates."""

    def row(self, name: str) -> int:
        if name not in self.names:
            raise UnknownNameError(
                f"algorithm '{name}' does not exist. Known: {', '.join(self.names)}."
            )
        return self.names.index(name)


def replicate_metric(
    metric: Metric, cohorts: Mapping[str, LabelledCohort], bootstrap: Bootstrap
) -> Replicates:
    """Evaluate a metric for every algorithm on the same rows of case weights."""
    whole = np.ones((1, len(bootstrap.unit_of_case)), dtype=np.int32)
    for name, cohort in cohorts.items():
        if cohort.case_count != len(bootstrap.unit_of_case):
            raise InputError.at(
                f"algorithm '{name}'",
                f"was labelled on {cohort.case_count} cases, the resamples have "
                f"{len(bootstrap.unit_of_case)}.",
                "Compare algorithms on the same cases.",
            )
    blocks = [
        np.stack([metric(cohort, block) for cohort in cohorts.values()])
        for block in bootstrap.blocks()
    ]
    return Replicates(
        names=tuple(cohorts),
        value=np.array([float(metric(cohort, whole)[0]) for cohort in cohorts.values()]),
        replicate=np.concatenate(blocks, axis=1),
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Algorithm minus baseline in one metric."""

    algorithm: str
    baseline: str
    difference: Estimate
    standard_error: float
    """Standard deviation of the replicates of the difference."""
    p_value: float
    """Two-sided: the smallest 1 - level at which the interval excludes 0; 1 without interval."""
    normal_p_value: float | None
    """Two-sided, difference / standard error as a normal deviate; None with guarded intervals."""
    replicates: int
    undefined_replicates: int
    """Replicates left out because the metric is undefined in them for either algorithm."""
    margin: MarginTest | None
    adjusted_p_value: float
    adjustment: str
    """How the P value was adjusted over a family of comparisons, or ``none``."""

    @property
    def turned(self) -> "Comparison":
        """Baseline minus algorithm; a margin has one direction and is left out."""
        estimate = self.difference
        value, low, high, mean = (
            None if number is None else -number
            for number in (estimate.value, estimate.high, estimate.low, estimate.mean)
        )
        difference = replace(estimate, value=value, low=low, high=high, mean=mean)
        return replace(
            self,
            algorithm=self.baseline,
            baseline=self.algorithm,
            difference=difference,
            margin=None,
        )


def paired_difference(
    replicates: Replicates,
    algorithm: str,
    baseline: str,
    *,
    level: float = 0.95,
    margin: float | None = None,
    better: Better = "higher",
) -> Comparison:
    """The difference of two algorithms with its interval, P values and, given a margin, its tests.

    Margins (the largest loss that does not matter) are tested by the two-sided interval, so at 0.95
    non-inferiority is tested one-sided at 0.025, equivalence at 0.025 twice.
    """
    first, second = replicates.row(algorithm), replicates.row(baseline)
    value = float(replicates.value[first] - replicates.value[second])
    if margin is not None and not margin > 0:
        raise InputError.at(
            "margin", f"{margin:g} is not positive.", "Give the largest loss allowed."
        )
    if replicates.pair is not None:
        if not np.isfinite(value):
            raise UndefinedError("difference_undefined")
        pair = replicates.pair(algorithm, baseline)
        return _guarded_difference((algorithm, baseline), value, pair, level, margin, better)
    rows = replicates.replicate[first] - replicates.replicate[second]
    drawn = rows[np.isfinite(rows)]
    if not np.isfinite(value) or len(drawn) < 2:
        raise UndefinedError("difference_undefined")
    low, high = percentile_interval(drawn, level)
    standard_error = float(drawn.std(ddof=1))
    p_value = min(1.0, 2 * min(p_value_above(drawn, 0.0), p_value_above(-drawn, 0.0)))
    return Comparison(
        algorithm=algorithm,
        baseline=baseline,
        difference=Estimate(
            value, low, high, level, Notice("paired_bootstrap"), mean=float(drawn.mean())
        ),
        standard_error=standard_error,
        p_value=p_value,
        normal_p_value=min(1.0, 2 * _upper_tail(abs(value), standard_error)),
        replicates=len(drawn),
        undefined_replicates=len(rows) - len(drawn),
        margin=None
        if margin is None
        else _margin_test(value, drawn, (low, high), level, margin, better),
        adjusted_p_value=p_value,
        adjustment="none",
    )


def _guarded_difference(
    names: tuple[str, str],
    value: float,
    rows: PairedRows,
    level: float,
    margin: float | None,
    better: Better,
) -> Comparison:
    """The same from guarded rows: verdicts and P values agree with the interval."""
    difference = Estimate(value, reason=rows.reason)
    p_value = 1.0
    if rows.reason is None:
        low, high = guarded_interval(value, rows.low, rows.high, level)
        difference = Estimate(value, low, high, level, rows.method)
        sides = (p_value_above(rows.low, 0.0, value), p_value_above(-rows.high, 0.0, -value))
        p_value = min(1.0, 2 * min(sides))
    middle = (rows.low + rows.high) / 2
    return Comparison(
        *names,
        difference=difference,
        standard_error=float(middle.std(ddof=1)),
        p_value=p_value,
        normal_p_value=None,
        replicates=len(middle),
        undefined_replicates=0,
        margin=None if margin is None else _guarded_margin_test(difference, rows, margin, better),
        adjusted_p_value=p_value,
        adjustment="none",
    )


def _guarded_margin_test(
    difference: Estimate, rows: PairedRows, margin: float, better: Better
) -> MarginTest:
    """Non-inferiority, equivalence and superiority by the guarded interval, as far as it goes."""
    if difference.low is None or difference.high is None or difference.level is None:
        return MarginTest(margin, reason=difference.reason)
    is_up = better == "higher"
    low, high = (difference.low, difference.high) if is_up else (-difference.high, -difference.low)
    gains = rows if is_up else rows.negated
    gain = (difference.value or 0.0) if is_up else -(difference.value or 0.0)
    too_low = p_value_above(gains.low, -margin, gain)
    too_high = p_value_above(-gains.high, -margin, -gain)
    is_non_inferior = low > -margin
    # a loss beyond the margin that is certain needs no more patients
    is_open = not is_non_inferior and high >= -margin
    return MarginTest(
        margin=margin,
        is_non_inferior=is_non_inferior,
        is_equivalent=is_non_inferior and high < margin,
        is_superior=low > 0,
        non_inferiority_p=too_low,
        equivalence_p=max(too_low, too_high),
        method=Notice("guarded_against_margin", {"level": difference.level, "better": better}),
        reason=rows.not_assessable(margin) if is_open else None,
    )


def compare_all(
    replicates: Replicates,
    *,
    level: float = 0.95,
    margin: float | None = None,
    better: Better = "higher",
    adjustment: str = "holm",
) -> tuple[Comparison, ...]:
    """Every pair of algorithms, P values adjusted over all pairs."""
    comparisons = [
        paired_difference(replicates, *pair, level=level, margin=margin, better=better)
        for pair in combinations(replicates.names, 2)
    ]
    adjusted = ADJUSTMENTS[adjustment]([comparison.p_value for comparison in comparisons])
    return tuple(
        replace(comparison, adjusted_p_value=float(p), adjustment=adjustment)
        for comparison, p in zip(comparisons, adjusted, strict=True)
    )


def _margin_test(
    value: float,
    drawn: FloatArray,
    bounds: tuple[float, float],
    level: float,
    margin: float,
    better: Better,
) -> MarginTest:
    # turned so that positive differences are good
    low, high = bounds if better == "higher" else (-bounds[1], -bounds[0])
    gain, gains = (value, drawn) if better == "higher" else (-value, -drawn)
    standard_error = float(drawn.std(ddof=1))
    too_low, too_high = p_value_above(gains, -margin), p_value_above(-gains, -margin)
    too_low_normal = _upper_tail(gain + margin, standard_error)
    too_high_normal = _upper_tail(margin - gain, standard_error)
    return MarginTest(
        margin=margin,
        is_non_inferior=low > -margin,
        is_equivalent=low > -margin and high < margin,
        is_superior=low > 0,
        non_inferiority_p=too_low,
        non_inferiority_normal_p=too_low_normal,
        equivalence_p=max(too_low, too_high),
        equivalence_normal_p=max(too_low_normal, too_high_normal),
        method=Notice("interval_against_margin", {"level": level, "better": better}),
    )


def _upper_tail(distance: float, standard_error: float) -> float:
    """P(normal deviate > distance / standard error); a difference that never varies is certain."""
    if standard_error > 0:
        return 1 - NormalDist().cdf(distance / standard_error)
    return 0.5 if distance == 0 else float(distance < 0)
