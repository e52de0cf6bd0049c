"""Labelled cohort x protocol -> the FROC, its band, its readings and the CPM, with intervals."""

from functools import partial

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import Curve, Estimate
from nodulebench.evaluation.estimates import (
    BAND_RATES,
    Estimated,
    guarded_readings,
    resampled_weights,
    with_guarded_interval,
)
from nodulebench.metrics.froc import froc_curve, sensitivity_at_fp_rate
from nodulebench.metrics.luna16_program import GRID, grid_neighbours, official_curve
from nodulebench.metrics.score_order import threshold_at
from nodulebench.statistics.intervals import make_estimate, method_of, sorted_index_interval

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
            method=method_of(interval, len(drawn)),
            reason=notice if lost else None,
            mean=float(middle),
        )
        for value, lower, upper, middle in zip(point, *at_rates, strict=True)
    ]
    replicate_cpm = np.full(len(drawn), np.nan)
    replicate_cpm[: len(sampled)] = [np.interp(rates, grid, row).mean() for row in sampled]
    cpm = make_estimate(float(np.mean(point)), replicate_cpm, None, interval)
    return sensitivity, cpm, (grid, low.astype(np.float64), high.astype(np.float64))
