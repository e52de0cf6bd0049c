"""Labelled cohort x protocol -> every metric with its interval, and the FROC with its band."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray, WeightArray
from nodulebench.core.cache import cached_on_owner
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.config_model import parameters_of
from nodulebench.core.errors import InputError, Problem, UndefinedError, did_you_mean
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.protocol import IntervalChoice, TestProtocol
from nodulebench.core.results import Curve, Estimate
from nodulebench.evaluation.guarded_rows import (
    GuardedCohort,
    GuardedRows,
    guarded_metric_interval,
    guarded_rows,
    sums_of,
)
from nodulebench.metrics import METRICS, Metric, function_of, info_of, name_of
from nodulebench.metrics.froc import froc_curve, sensitivity_at_fp_rate
from nodulebench.metrics.luna16_program import GRID, grid_neighbours, official_curve
from nodulebench.metrics.metric import CaseSums, Ratio, weighted_ratio
from nodulebench.metrics.score_order import threshold_at
from nodulebench.statistics.bootstrap import Bootstrap, GuardedBootstrap, leave_one_out
from nodulebench.statistics.intervals import (
    make_estimate,
    proportion_intervals,
    sorted_index_interval,
)

BAND_RATES = tuple((2.0 ** np.linspace(-3, 3, 31)).tolist())
"""Where the band around a FROC is drawn, false positives per case."""
GUARDED_REPLICATES = 2000
"""The least number of replicates of a guarded interval that accompanies another method."""


def bind_parameters(metric: Metric, protocol: TestProtocol) -> Metric:
    """The metric with its parameters filled in from the fields of the protocol."""
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


def resampled_weights(
    cohort: LabelledCohort, protocol: TestProtocol
) -> tuple[Iterable[WeightArray], Iterable[WeightArray]]:
    """The resamples that a protocol asks for, and the rows of the jackknife; each in blocks.

    Either is empty if the method of the interval does not need it.
    """
    interval = protocol.interval
    units = units_of(cohort, interval)
    jackknife = leave_one_out(units) if interval.method in ("bca", "jackknife") else ()
    if interval.method == "guarded":
        return (), jackknife
    is_legacy = interval.method == "luna16"
    return Bootstrap(units, interval.bootstraps, protocol.seed, is_legacy).blocks(), jackknife


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
    cohort: LabelledCohort, metrics: Mapping[str, Metric], blocks: Iterable[WeightArray]
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
    resamples, jackknife = resampled_weights(cohort, protocol)
    replicates = replicate_metrics(cohort, defined, resamples)
    left_out = replicate_metrics(cohort, defined, jackknife)
    sound = guarded_rows_of(cohort, protocol, points)
    for name, point in points.items():
        drawn, without, guarded = replicates.get(name), left_out.get(name), sound.get(name)
        if not point.ndim:
            of_case = sums_of(chosen[name], cohort)
            others, units = binomial_intervals(name, of_case, cohort, interval)
            if "delong" in interval.others:
                others |= area_intervals(name, cohort, interval)
            estimate = make_estimate(float(point), drawn, without, interval, others, units)
            estimates[name] = with_guarded_interval(estimate, guarded, interval)
            continue
        readings: dict[str, Estimate] = {}
        for column, key in enumerate(column_keys(name, protocol, len(point))):
            estimate = make_estimate(
                float(point[column]),
                None if drawn is None else drawn[:, column],
                None if without is None else without[:, column],
                interval,
            )
            rows = None if guarded is None else guarded.at(column)
            readings[key] = with_guarded_interval(estimate, rows, interval)
        estimates[name] = readings
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
        rows["cpm_exact"] = readings.at(slice(len(protocol.operating_points))).mean
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


def column_keys(name: str, protocol: TestProtocol, count: int | None = None) -> list[str]:
    """The names of a metric's columns: the points at which it is read, as 0.125 or 8."""
    columns = info_of(name).columns
    points: Sequence[float | str] = (
        getattr(protocol, columns) if isinstance(columns, str) and columns else columns
    )
    if count is not None and len(points) != count:
        raise InputError.at(
            f"metric '{name}'",
            f"returns {count} values but names {len(points)} points.",
            "Give it an attribute facts = MetricInfo(..., columns=POINTS): their names, or "
            "the field of the protocol that lists them.",
        )
    return [point if isinstance(point, str) else f"{point:g}" for point in points]


def binomial_intervals(
    name: str, of_case: CaseSums | None, cohort: LabelledCohort, interval: IntervalChoice
) -> tuple[dict[str, tuple[float, float]], int]:
    """Of a proportion the intervals by other methods, and the number of units with a trial."""
    metric = METRICS[name]
    if of_case is None or not (isinstance(metric, Ratio) and metric.is_proportion):
        return {}, 0
    units = units_of(cohort, interval)
    others = proportion_intervals(of_case.numerator, of_case.denominator, units, interval)
    return others, len(np.unique(units[of_case.denominator > 0]))


def area_intervals(
    metric: str, cohort: LabelledCohort, interval: IntervalChoice
) -> dict[str, tuple[float, float]]:
    """DeLong's interval of an area under a ROC curve, if the metric is one."""
    ratings = function_of(metric, "ratings")
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


@dataclass(frozen=True, slots=True)
class Estimated:
    """Metrics that were estimated together, and the curves from which they are read."""

    metrics: dict[str, Estimate | dict[str, Estimate]]
    curves: tuple[Curve, ...] = ()


def estimate_all(cohort: LabelledCohort, protocol: TestProtocol) -> Estimated:
    """Every metric of a protocol with its interval, those read from a curve first."""
    ways = {name: function_of(name, "estimator") for name in protocol.metrics}
    together: list[Estimated] = [
        estimate(cohort, protocol) for estimate in dict.fromkeys(ways.values()) if estimate
    ]
    single = estimate_metrics(cohort, protocol, [name for name, way in ways.items() if way is None])
    metrics = {name: metric for group in together for name, metric in group.metrics.items()}
    metrics |= {shown_name(name, protocol): metric for name, metric in single.items()}
    return Estimated(metrics, tuple(curve for group in together for curve in group.curves))


_Band = tuple[FloatArray, FloatArray, FloatArray]
"""Rates, and the lower and the upper end of the band at each."""


def estimate_froc(cohort: LabelledCohort, protocol: TestProtocol) -> Estimated:
    """Read the curve at the protocol's operating points, with intervals.

    With ``interpolation = "luna16"`` and ``interval.method = "luna16"`` every number equals that of
    the official program.
    """
    rates, interval = protocol.operating_points, protocol.interval
    keys = [f"{rate:g}" for rate in rates]
    try:
        is_official = protocol.interpolation == "luna16"
        curve = official_curve(cohort) if is_official else froc_curve(cohort)
    except UndefinedError as error:
        nothing = Estimate(None, reason=reason_of(error))
        names = ("sensitivity_at_fp_rate", "threshold_at_fp_rate")
        return Estimated({"cpm": nothing, **{name: dict.fromkeys(keys, nothing) for name in names}})
    everyone = np.ones((1, cohort.case_count), dtype=np.int32)
    point = sensitivity_at_fp_rate(
        cohort, everyone, operating_points=rates, interpolation=protocol.interpolation
    )[0]
    bootstrap = _official_bootstrap if interval.method == "luna16" else _bootstrap
    sensitivity, cpm, band = bootstrap(cohort, protocol, point)
    rows = guarded_readings(cohort, protocol)
    if rows is not None:
        sensitivity = [
            with_guarded_interval(estimate, rows.at(column), interval)
            for column, estimate in enumerate(sensitivity)
        ]
        cpm = with_guarded_interval(cpm, rows.at(slice(len(rates))).mean, interval)
        if interval.method == "guarded":
            tail, along = (1 - interval.level) / 2, rows.at(slice(len(rates), None))
            low = np.quantile(along.worst, tail, axis=0)
            band = (np.asarray(BAND_RATES), low, np.quantile(along.best, 1 - tail, axis=0))
    thresholds = {
        key: Estimate(score) if np.isfinite(score) else Estimate(None, reason=_TOO_LOW)
        for key, score in zip(keys, (threshold_at(cohort, rate) for rate in rates), strict=True)
    }
    curves = [curve]
    if band is not None:
        axes, no_threshold = (curve.x_name, curve.y_name), np.full(len(band[0]), np.nan)
        for end, height in zip(("froc_low", "froc_high"), band[1:], strict=True):
            curves.append(Curve(end, *axes, band[0], height, no_threshold))
    return Estimated(
        {
            "cpm": cpm,
            "sensitivity_at_fp_rate": dict(zip(keys, sensitivity, strict=True)),
            "threshold_at_fp_rate": thresholds,
        },
        tuple(curves),
    )


_TOO_LOW = Notice("rate_too_low")


def _bootstrap(
    cohort: LabelledCohort, protocol: TestProtocol, point: FloatArray
) -> tuple[list[Estimate], Estimate, _Band | None]:
    """Intervals from exact readings of every replicate; no band from fewer than two of them."""
    interval, rates = protocol.interval, protocol.operating_points
    read = partial(sensitivity_at_fp_rate, cohort, interpolation=protocol.interpolation)
    resamples, jackknife = resampled_weights(cohort, protocol)
    drawn = [read(block, operating_points=(*rates, *BAND_RATES)) for block in resamples]
    left_out = [read(block, operating_points=rates) for block in jackknife]
    replicates = np.concatenate(drawn) if drawn else None
    without = np.concatenate(left_out) if left_out else None
    sensitivity = [
        make_estimate(
            float(value),
            None if replicates is None else replicates[:, column],
            None if without is None else without[:, column],
            interval,
        )
        for column, value in enumerate(point)
    ]
    cpm = make_estimate(
        float(np.mean(point)),
        None if replicates is None else replicates[:, : len(rates)].mean(axis=1),
        None if without is None else without.mean(axis=1),
        interval,
    )
    if replicates is None:
        return sensitivity, cpm, None
    at_band = replicates[:, len(rates) :]
    at_band = at_band[np.isfinite(at_band).all(axis=1)]
    if len(at_band) < 2:
        return sensitivity, cpm, None
    tail = (1 - interval.level) / 2
    low, high = np.quantile(at_band, [tail, 1 - tail], axis=0)
    return sensitivity, cpm, (np.asarray(BAND_RATES), low, high)


def _official_bootstrap(
    cohort: LabelledCohort, protocol: TestProtocol, point: FloatArray
) -> tuple[list[Estimate], Estimate, _Band | None]:
    """The official program's bounds, and the interval of the replicates' CPM.

    The program samples each bootstrap curve at the rates of its grid, in single precision. A
    replicate without a hit is NaN there and makes its bounds random. Here such replicates are left
    out, and the estimate gives their number.
    """
    interval, rates = protocol.interval, np.asarray(protocol.operating_points)
    grid = GRID[grid_neighbours((*protocol.operating_points, *BAND_RATES))]
    read = partial(
        sensitivity_at_fp_rate, operating_points=tuple(grid.tolist()), interpolation="luna16"
    )
    resamples, _ = resampled_weights(cohort, protocol)
    blocks = [read(cohort, block).astype(np.float32) for block in resamples]
    drawn = np.concatenate(blocks) if blocks else np.empty((0, len(grid)), dtype=np.float32)
    sampled = drawn[np.isfinite(drawn).all(axis=1)]
    if len(sampled) < 2:
        reason = Notice("no_interval_without_hits") if len(drawn) else None
        plain = [Estimate(float(value), reason=reason) for value in point]
        return plain, Estimate(float(np.mean(point)), reason=reason), None
    lost = len(drawn) - len(sampled)
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
            method=Notice("luna16_bootstrap", {"replicates": len(drawn)}),
            reason=notice if lost else None,
            mean=float(middle),
        )
        for value, lower, upper, middle in zip(point, *at_rates, strict=True)
    ]
    replicate_cpm = np.full(len(drawn), np.nan)
    replicate_cpm[: len(sampled)] = [np.interp(rates, grid, row).mean() for row in sampled]
    cpm = make_estimate(float(np.mean(point)), replicate_cpm, None, interval)
    return sensitivity, cpm, (grid, low.astype(np.float64), high.astype(np.float64))
