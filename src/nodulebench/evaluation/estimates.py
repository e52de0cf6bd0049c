"""Labelled cohort x protocol -> every metric with its interval."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray, WeightArray
from nodulebench.core.cache import cached_on_owner
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError, Problem, UndefinedError, did_you_mean
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.parameters import parameters_of
from nodulebench.core.protocol import IntervalChoice, TestProtocol
from nodulebench.core.registry import Registry
from nodulebench.core.results import Curve, Estimate
from nodulebench.evaluation.guarded_rows import (
    GuardedCohort,
    GuardedRows,
    guarded_metric_interval,
    guarded_rows,
    sums_of,
)
from nodulebench.metrics import METRICS, RATINGS, belongs_to, info_of, name_of
from nodulebench.metrics.froc import froc_curve, sensitivity_at_fp_rate
from nodulebench.metrics.luna16_program import (
    GRID,
    grid_neighbours,
    grid_sensitivity,
    official_curve,
)
from nodulebench.metrics.metric import CaseSums, Ratio, weighted_ratio
from nodulebench.metrics.score_order import threshold_at
from nodulebench.statistics.bootstrap import Bootstrap, GuardedBootstrap, leave_one_out
from nodulebench.statistics.intervals import (
    count_trial_units,
    make_estimate,
    method_of,
    proportion_intervals,
    sorted_index_interval,
)

MetricEstimates = Callable[[LabelledCohort, WeightArray], FloatArray]

BAND_RATES = tuple((2.0 ** np.linspace(-3, 3, 31)).tolist())
"""Where the band around a FROC is drawn, false positives per case."""
GUARDED_REPLICATES = 2000
"""The least number of replicates of a guarded interval that accompanies another method."""


def bind_parameters(metric: Callable[..., FloatArray], protocol: TestProtocol) -> MetricEstimates:
    """The metric with its parameters filled in from the fields of the protocol.

    Raises:
        InputError: if no field has a parameter's name: the parameter could then never be set.
    """
    asked = parameters_of(metric.sums if isinstance(metric, Ratio) else metric)
    fields = type(protocol).model_fields
    strange = [name for name in asked if name not in fields]
    if strange:
        raise InputError(
            Problem(
                f"metric '{name_of(metric)}' parameter '{name}'",
                "is not a field of a protocol, so nothing could set it.",
                did_you_mean(name, fields).strip(),
            )
            for name in strange
        )
    return partial(metric, **{name: getattr(protocol, name) for name in asked})


def shown_name(name: str, protocol: TestProtocol) -> str:
    """The name of a metric in results: F-beta contains its beta."""
    return f"f{protocol.beta:g}" if name == "f_beta" else name


def units_of(cohort: LabelledCohort, interval: IntervalChoice) -> IntArray:
    """For each case the number of the unit (patient or case) that is resampled."""
    if interval.unit == "patient":
        return cohort.reference.unit_of_case
    return np.arange(cohort.case_count)


def bootstrap_blocks(cohort: LabelledCohort, protocol: TestProtocol) -> Iterable[WeightArray]:
    """The resamples that a protocol asks for; none if its method needs none."""
    if protocol.interval.method == "guarded":
        return ()
    return Bootstrap(
        unit_of_case=units_of(cohort, protocol.interval),
        replicates=protocol.interval.bootstraps,
        seed=protocol.seed,
        is_legacy=protocol.interval.method == "luna16",
    ).blocks()


def guarded_bootstrap_of(cohort: LabelledCohort, protocol: TestProtocol) -> GuardedBootstrap | None:
    """The guarded bootstrap; None if the protocol asks for no intervals."""
    interval = protocol.interval
    replicates = interval.bootstraps
    if interval.method != "guarded" and (replicates or interval.method == "jackknife"):
        replicates = max(replicates, GUARDED_REPLICATES)
    if not replicates:
        return None
    return GuardedBootstrap(units_of(cohort, interval), replicates, protocol.seed)


def exactly(protocol: TestProtocol) -> TestProtocol:
    """The protocol without the rounding of the official program, which needs integer weights."""
    if protocol.interpolation != "luna16":
        return protocol
    return protocol.model_copy(update={"interpolation": "linear"})


def with_guarded_interval(
    estimate: Estimate, rows: GuardedRows | None, interval: IntervalChoice
) -> Estimate:
    """Add the guarded interval: as the estimate's interval, or in addition to another method's."""
    if estimate.value is None or rows is None:
        return estimate
    sound = guarded_metric_interval(estimate.value, rows, interval)
    if interval.method != "guarded":
        return replace(estimate, sound=sound)
    has_bounds = sound.low is not None
    return replace(
        estimate,
        low=sound.low,
        high=sound.high,
        level=interval.level if has_bounds else None,
        method=sound.method,
        reason=sound.reason,
    )


def replicate_metrics(
    cohort: LabelledCohort, metrics: Mapping[str, MetricEstimates], blocks: Iterable[WeightArray]
) -> dict[str, FloatArray]:
    """The values of metrics on every row of weights.

    All metrics that are ratios of sums over cases are computed by one matrix product.
    """
    sums = {name: sums_of(metric, cohort) for name, metric in metrics.items()}
    ratios = {name: of_case for name, of_case in sums.items() if of_case is not None}
    values: dict[str, list[FloatArray]] = {name: [] for name in metrics}
    for block in blocks:
        for name, column in zip(
            ratios, replicate_ratios(list(ratios.values()), block), strict=True
        ):
            values[name].append(column)
        for name, metric in metrics.items():
            if name not in ratios:
                values[name].append(metric(cohort, block))
    return {name: np.concatenate(parts) for name, parts in values.items() if parts}


def replicate_ratios(sums: Sequence[CaseSums], case_weight: WeightArray) -> FloatArray:
    """Many ratios at once: one row per ratio, one column per row of weights."""
    if not sums:
        return np.empty((0, len(case_weight)))
    stacked = CaseSums(
        np.column_stack([of_case.numerator for of_case in sums]),
        np.column_stack([of_case.denominator for of_case in sums]),
    )
    return weighted_ratio(stacked, case_weight).T


def estimate_metrics(
    cohort: LabelledCohort, protocol: TestProtocol, names: Iterable[str]
) -> dict[str, Estimate | dict[str, Estimate]]:
    """Metrics by name with intervals; a metric read at several points has an estimate for each."""
    chosen = {name: bind_parameters(METRICS[name], protocol) for name in names}
    everyone = np.ones((1, cohort.case_count), dtype=np.int32)
    points: dict[str, FloatArray] = {}
    estimates: dict[str, Estimate | dict[str, Estimate]] = {}
    for name, metric in chosen.items():
        try:
            points[name] = metric(cohort, everyone)[0]
        except UndefinedError as error:
            estimates[name] = Estimate(None, reason=reason_of(error))
    defined = {name: chosen[name] for name in points}
    interval = protocol.interval
    replicates = replicate_metrics(cohort, defined, bootstrap_blocks(cohort, protocol))
    jackknife = replicate_metrics(cohort, defined, leave_one_out_of(cohort, interval))
    sound = guarded_rows_of(cohort, protocol, points)
    for name, point in points.items():
        drawn, guarded = (replicates.get(name), jackknife.get(name)), sound.get(name)
        if not point.ndim:
            others = _binomial_intervals(cohort, chosen[name], protocol)
            others |= area_intervals(name, cohort, interval)
            units = _trial_units(cohort, chosen[name], interval)
            estimate = make_estimate(float(point), *drawn, interval, others, units)
            estimates[name] = with_guarded_interval(estimate, guarded, interval)
            continue
        estimates[name] = {
            key: with_guarded_interval(
                make_estimate(
                    float(point[column]),
                    _column(drawn[0], column),
                    _column(drawn[1], column),
                    interval,
                ),
                guarded and guarded.column(column),
                interval,
            )
            for column, key in enumerate(column_keys(name, protocol, len(point)))
        }
    return {name: estimates[name] for name in chosen}


def guarded_rows_of(
    cohort: LabelledCohort, protocol: TestProtocol, names: Iterable[str]
) -> dict[str, GuardedRows]:
    """Metrics by name on every replicate of the guarded bootstrap; empty without intervals."""
    bootstrap = guarded_bootstrap_of(cohort, protocol)
    if bootstrap is None:
        return {}
    exact = exactly(protocol)
    metrics = {name: bind_parameters(METRICS[name], exact) for name in names}
    is_read = exact.interpolation == "linear" and "sensitivity_at_fp_rate" in protocol.metrics
    exact_cpm = metrics.pop("cpm_exact", None) if is_read else None
    rows = guarded_rows(GuardedCohort(cohort, bootstrap), metrics)
    readings = guarded_readings(cohort, protocol) if exact_cpm else None
    if readings is not None:  # the same curve at the same points
        rows["cpm_exact"] = readings.columns(slice(len(protocol.operating_points))).mean
    return rows


@cached_on_owner
def guarded_readings(cohort: LabelledCohort, protocol: TestProtocol) -> GuardedRows | None:
    """The FROC at the operating points, then along its band, with the pseudo-patient.

    There is no band if another method draws it.
    """
    bootstrap = guarded_bootstrap_of(cohort, protocol)
    if bootstrap is None:
        return None
    is_guarded_only = protocol.interval.method == "guarded"
    read = partial(
        sensitivity_at_fp_rate,
        operating_points=(*protocol.operating_points, *(BAND_RATES if is_guarded_only else ())),
        interpolation=exactly(protocol).interpolation,
    )
    name = "sensitivity_at_fp_rate"
    return guarded_rows(GuardedCohort(cohort, bootstrap), {name: read})[name]


def points_of(name: str, protocol: TestProtocol) -> Sequence[float | str]:
    """The points at which a metric is read; empty if it is one number."""
    columns = info_of(name).columns
    points: Sequence[float | str] = (
        getattr(protocol, columns) if isinstance(columns, str) and columns else columns
    )
    return points


def column_keys(name: str, protocol: TestProtocol, count: int) -> list[str]:
    """The names of a metric's columns: the points at which it is read, as 0.125 or 8.

    Raises:
        InputError: if the metric does not declare at which points it is read.
    """
    points = points_of(name, protocol)
    if len(points) != count:
        raise InputError.at(
            f"metric '{name}'",
            f"returns {count} values but names {len(points)} points.",
            "Give it an attribute facts = MetricInfo(..., columns=POINTS): their names, or "
            "the field of the protocol that lists them.",
        )
    return [point if isinstance(point, str) else f"{point:g}" for point in points]


def leave_one_out_of(cohort: LabelledCohort, interval: IntervalChoice) -> Iterable[WeightArray]:
    """The rows of weights of the jackknife; empty if the interval's method needs none."""
    if interval.method in ("bca", "jackknife"):
        return leave_one_out(units_of(cohort, interval))
    return ()


def _column(values: FloatArray | None, column: int) -> FloatArray | None:
    return None if values is None else values[:, column]


def _binomial_intervals(
    cohort: LabelledCohort, metric: MetricEstimates, protocol: TestProtocol
) -> dict[str, tuple[float, float]]:
    """Intervals of a proportion by the other methods that the protocol lists."""
    of_case = sums_of(metric, cohort)
    if of_case is None or not is_proportion(metric):
        return {}
    return proportion_intervals(
        of_case.numerator,
        of_case.denominator,
        units_of(cohort, protocol.interval),
        protocol.interval,
    )


def area_intervals(
    metric: str, cohort: LabelledCohort, interval: IntervalChoice
) -> dict[str, tuple[float, float]]:
    """DeLong's interval of an area under a ROC curve, if the protocol asks for it."""
    ratings = belongs_to(metric, RATINGS) if "delong" in interval.others else None
    if ratings is None:
        return {}
    from nodulebench.statistics.delong import auc_estimate

    (negative, positive), unit = ratings(cohort), units_of(cohort, interval)
    units = {"positive_unit": unit[positive.case], "negative_unit": unit[negative.case]}
    try:
        auc = auc_estimate(positive.rating, negative.rating, level=interval.level, **units)
    except UndefinedError:
        return {}  # too few of one kind for a variance
    return {} if auc.low is None or auc.high is None else {"delong": (auc.low, auc.high)}


def _trial_units(cohort: LabelledCohort, metric: MetricEstimates, interval: IntervalChoice) -> int:
    """The number of units that have a trial of a proportion; 0 for any other metric."""
    of_case = sums_of(metric, cohort)
    if of_case is None or not is_proportion(metric):
        return 0
    return count_trial_units(of_case.denominator, units_of(cohort, interval))


def is_proportion(metric: MetricEstimates) -> bool:
    """Whether a bound metric counts successes among trials."""
    return (
        isinstance(metric, partial) and isinstance(metric.func, Ratio) and metric.func.is_proportion
    )


@dataclass(frozen=True, slots=True)
class Estimated:
    """Metrics that were estimated together, and the curves from which they are read."""

    metrics: dict[str, Estimate | dict[str, Estimate]]
    curves: tuple[Curve, ...] = ()


Estimator = Callable[[LabelledCohort, TestProtocol], Estimated]


ESTIMATORS: Registry[Estimator] = Registry(
    "way to estimate a metric",
    "estimators",
    dict.fromkeys(("sensitivity_at_fp_rate", "cpm"), "nodulebench.evaluation.estimates:read_froc"),
)
"""Metrics that are read from one curve are estimated together; every other one separately."""


def estimate_all(cohort: LabelledCohort, protocol: TestProtocol) -> Estimated:
    """Every metric of a protocol with its interval, those read from a curve first."""
    ways = {name: belongs_to(name, ESTIMATORS) for name in protocol.metrics}
    together = [way(cohort, protocol) for way in dict.fromkeys(ways.values()) if way is not None]
    single = estimate_metrics(cohort, protocol, [name for name, way in ways.items() if way is None])
    metrics = {name: metric for group in together for name, metric in group.metrics.items()}
    for name, estimate in single.items():
        metrics[shown_name(name, protocol)] = estimate
    return Estimated(metrics, tuple(curve for group in together for curve in group.curves))


def read_froc(cohort: LabelledCohort, protocol: TestProtocol) -> Estimated:
    """Read the curve at the protocol's operating points, with intervals.

    With ``interpolation = "luna16"`` and ``interval.method = "luna16"`` every number equals that of
    the official program.
    """
    keys = [f"{rate:g}" for rate in protocol.operating_points]
    everyone = np.ones((1, cohort.case_count), dtype=np.int32)
    try:
        is_official = protocol.interpolation == "luna16"
        curve = official_curve(cohort) if is_official else froc_curve(cohort)
    except UndefinedError as error:
        nothing = Estimate(None, reason=reason_of(error))
        return _estimated(nothing, dict.fromkeys(keys, nothing), dict.fromkeys(keys, nothing))
    point = _readings(cohort, everyone, protocol, protocol.operating_points)[0]
    threshold = [threshold_at(cohort, rate) for rate in protocol.operating_points]
    is_own = protocol.interval.method == "luna16"
    bootstrap = _official_bootstrap if is_own else _bootstrap
    sensitivity, cpm, band = bootstrap(cohort, protocol, point)
    rows = guarded_readings(cohort, protocol)
    if rows is not None:
        interval = protocol.interval
        sensitivity = [
            with_guarded_interval(estimate, rows.column(column), interval)
            for column, estimate in enumerate(sensitivity)
        ]
        count = len(protocol.operating_points)
        cpm = with_guarded_interval(cpm, rows.columns(slice(count)).mean, interval)
        band = band or _guarded_band(rows.columns(slice(count, None)), interval.level)
    return _estimated(
        cpm,
        dict(zip(keys, sensitivity, strict=True)),
        {
            key: Estimate(float(score))
            if np.isfinite(score)
            else Estimate(None, reason=Notice("rate_too_low"))
            for key, score in zip(keys, threshold, strict=True)
        },
        (curve, *band),
    )


def _estimated(
    cpm: Estimate,
    sensitivity: dict[str, Estimate],
    threshold: dict[str, Estimate],
    curves: tuple[Curve, ...] = (),
) -> Estimated:
    return Estimated(
        {"cpm": cpm, "sensitivity_at_fp_rate": sensitivity, "threshold_at_fp_rate": threshold},
        curves,
    )


def _bootstrap(
    cohort: LabelledCohort, protocol: TestProtocol, point: FloatArray
) -> tuple[list[Estimate], Estimate, tuple[Curve, ...]]:
    """Intervals from exact readings of every replicate."""
    rates = (*protocol.operating_points, *BAND_RATES)
    count = len(protocol.operating_points)
    blocks = [
        _readings(cohort, block, protocol, rates) for block in bootstrap_blocks(cohort, protocol)
    ]
    left_out = [
        _readings(cohort, block, protocol, protocol.operating_points)
        for block in leave_one_out_of(cohort, protocol.interval)
    ]
    replicates = np.concatenate(blocks) if blocks else None
    jackknife = np.concatenate(left_out) if left_out else None
    sensitivity = [
        make_estimate(
            float(point[column]),
            None if replicates is None else replicates[:, column],
            None if jackknife is None else jackknife[:, column],
            protocol.interval,
        )
        for column in range(count)
    ]
    cpm = make_estimate(
        float(np.mean(point)),
        None if replicates is None else replicates[:, :count].mean(axis=1),
        None if jackknife is None else jackknife.mean(axis=1),
        protocol.interval,
    )
    at_band = np.empty((0, 0)) if replicates is None else replicates[:, count:]
    at_band = at_band[np.isfinite(at_band).all(axis=1)]
    if len(at_band) < 2:
        return sensitivity, cpm, ()
    tail = (1 - protocol.interval.level) / 2
    low, high = np.quantile(at_band, [tail, 1 - tail], axis=0)
    return sensitivity, cpm, _band(np.asarray(BAND_RATES), low, high)


def _guarded_band(rows: GuardedRows, level: float) -> tuple[Curve, ...]:
    tail = (1 - level) / 2
    low = np.quantile(rows.worst, tail, axis=0)
    return _band(np.asarray(BAND_RATES), low, np.quantile(rows.best, 1 - tail, axis=0))


def _official_bootstrap(
    cohort: LabelledCohort, protocol: TestProtocol, point: FloatArray
) -> tuple[list[Estimate], Estimate, tuple[Curve, ...]]:
    """The official program's bounds, and the interval of the replicates' CPM.

    A replicate without a hit is NaN in the official program and makes its bounds random. Here such
    replicates are left out, and the estimate gives their number.
    """
    interval, rates = protocol.interval, np.asarray(protocol.operating_points)
    index = grid_neighbours((*protocol.operating_points, *BAND_RATES))
    blocks = [
        grid_sensitivity(cohort, block, index) for block in bootstrap_blocks(cohort, protocol)
    ]
    drawn = np.concatenate(blocks) if blocks else np.empty((0, len(index)), dtype=np.float32)
    sampled = drawn[np.isfinite(drawn).all(axis=1)]
    if len(sampled) < 2:
        reason = Notice("no_interval_without_hits") if len(drawn) else None
        plain = [Estimate(float(value), reason=reason) for value in point]
        return plain, Estimate(float(np.mean(point)), reason=reason), ()
    grid, lost = GRID[index], len(drawn) - len(sampled)
    notice = Notice("replicates_without_hit", {"lost": lost, "replicates": len(drawn)})
    low, high = sorted_index_interval(sampled, interval.level)
    mean = sampled.mean(axis=0, dtype=np.float64)
    at_rates = [np.interp(rates, grid, bound) for bound in (low, high, mean)]
    sensitivity = [
        Estimate(
            value=float(value),
            low=float(lower),
            high=float(upper),
            level=interval.level,
            method=method_of(interval, len(drawn)),
            reason=notice if lost else None,
            mean=float(middle),
        )
        for value, lower, upper, middle in zip(point, *at_rates, strict=True)
    ]
    replicate_cpm = np.full(len(drawn), np.nan)
    replicate_cpm[: len(sampled)] = [np.interp(rates, grid, row).mean() for row in sampled]
    cpm = make_estimate(float(np.mean(point)), replicate_cpm, None, interval)
    return sensitivity, cpm, _band(grid, low.astype(np.float64), high.astype(np.float64))


def _readings(
    cohort: LabelledCohort, weight: WeightArray, protocol: TestProtocol, rates: tuple[float, ...]
) -> FloatArray:
    return sensitivity_at_fp_rate(
        cohort, weight, operating_points=rates, interpolation=protocol.interpolation
    )


def _band(rate: FloatArray, low: FloatArray, high: FloatArray) -> tuple[Curve, ...]:
    axes = ("false positives per case", "sensitivity")
    no_threshold = np.full(len(rate), np.nan)
    return (
        Curve("froc_low", *axes, rate, low, no_threshold),
        Curve("froc_high", *axes, rate, high, no_threshold),
    )
