"""Labelled cohort x protocol -> the FROC curve, its readings, the CPM and a bootstrap band."""

import numpy as np

from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import Curve, Estimate
from nodulebench.evaluation.estimates import (
    BAND_RATES,
    Estimated,
    bootstrap_blocks,
    leave_one_out_of,
    sound_readings,
    with_sound,
)
from nodulebench.evaluation.guarded_rows import GuardedRows
from nodulebench.metrics.froc import froc_curve, sensitivity_at_fp_rate
from nodulebench.metrics.luna16_program import (
    GRID,
    grid_neighbours,
    grid_sensitivity,
    official_curve,
)
from nodulebench.metrics.score_order import threshold_at
from nodulebench.statistics.intervals import make_estimate, method_of, sorted_index_interval


def read_froc(cohort: LabelledCohort, protocol: TestProtocol) -> Estimated:
    """Read the curve at the protocol's operating points, with intervals.

    Under ``interpolation = "luna16"`` and ``interval.method = "luna16"`` every number is the one
    that the official program gives.
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
    rows = sound_readings(cohort, protocol)
    if rows is not None:
        interval = protocol.interval
        sensitivity = [
            with_sound(one, rows.column(column), interval) for column, one in enumerate(sensitivity)
        ]
        count = len(protocol.operating_points)
        cpm = with_sound(cpm, rows.columns(slice(count)).mean, interval)
        band = band or _sound_band(rows.columns(slice(count, None)), interval.level)
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


def _sound_band(rows: GuardedRows, level: float) -> tuple[Curve, ...]:
    tail = (1 - level) / 2
    low = np.quantile(rows.worst, tail, axis=0)
    return _band(np.asarray(BAND_RATES), low, np.quantile(rows.best, 1 - tail, axis=0))


def _official_bootstrap(
    cohort: LabelledCohort, protocol: TestProtocol, point: FloatArray
) -> tuple[list[Estimate], Estimate, tuple[Curve, ...]]:
    """The official program's bounds, and the interval of the replicates' CPM.

    A replicate without a hit is NaN there and leaves the program's bounds to chance; here it is
    left out, and the estimate says so.
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
    told = Notice("replicates_without_hit", {"lost": lost, "replicates": len(drawn)})
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
            reason=told if lost else None,
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
