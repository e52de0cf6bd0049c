"""Labelled cohort x protocol -> results by type, size, density, and any column of the tables."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError, UndefinedError, did_you_mean
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import Estimate, Stratum
from nodulebench.core.tables import CASE_FACTS, NODULES
from nodulebench.evaluation.estimates import (
    bind_parameters,
    binomial_intervals,
    estimate_metrics,
    exactly,
    guarded_bootstrap_of,
    replicate_metrics,
    replicate_ratios,
    resampled_weights,
    with_guarded_interval,
)
from nodulebench.evaluation.guarded_rows import GuardedCohort, GuardedRows, guarded_rows, sums_of
from nodulebench.metrics import METRICS, guard_of
from nodulebench.metrics.classes import density_pairs, type_pairs
from nodulebench.metrics.guidelines import (
    FLEISCHNER_SIZES,
    LUNG_RADS,
    fleischner_strata,
    lung_rads_strata,
)
from nodulebench.metrics.metric import CaseSums, sum_by_case
from nodulebench.statistics.bootstrap import GuardedRatio, ratio_rows
from nodulebench.statistics.intervals import make_estimate

BUILT_IN = ("size", "type", "density", "lung_rads_size", "fleischner_size")

KNOWN = (*CASE_FACTS, *(column.name for column in NODULES.further))
"""Columns that a test set may lack; a division by them is then unknown."""

MOST_DISTINCT_NUMBERS = 8
"""A numeric column with more distinct values is cut at its quartiles."""


@dataclass(frozen=True, slots=True)
class Division:
    """A division of nodules (and perhaps of whole cases) into named strata."""

    names: list[str]
    of_nodule: IntArray
    """The stratum of each nodule, -1 for none."""
    of_case: IntArray | None = None
    """The stratum of each case, if whole cases are divided."""


def divide(cohort: LabelledCohort, name: str, protocol: TestProtocol) -> Division | None:
    """Divide a cohort by a stratum's name; None if the data lack the values."""
    nodules = cohort.reference.nodules[cohort.nodule_row]
    cases = cohort.reference.cases
    match name:
        case "size":  # a nodule without a diameter is in no bin
            diameter = nodules["diameter_mm"].to_numpy()
            measured = np.where(diameter > 0, diameter, np.nan)
            is_known = np.isfinite(measured).any()
            return _bins(measured, np.asarray(protocol.size_bins_mm), " mm") if is_known else None
        case "lung_rads_size":
            return _stated(LUNG_RADS, lung_rads_strata(cohort))
        case "fleischner_size":
            return _stated(FLEISCHNER_SIZES, fleischner_strata(cohort))
        case "type" | "density":
            pairs = type_pairs(cohort) if name == "type" else density_pairs(cohort)
            return _stated(pairs.names, pairs.truth)
        case _ if name in cases.columns:
            by_case = _by_value(cases[name])
            if by_case is None:
                return None
            return Division(by_case.names, by_case.of_nodule[cohort.nodule_case], by_case.of_nodule)
        case _ if name in nodules.columns:
            return _by_value(nodules[name])
        case _ if name in KNOWN:
            return None
    hint = did_you_mean(name, (*BUILT_IN, *cases.columns, *KNOWN))
    what = f"asks for the stratum '{name}', which is not a column of CASES or NODULES.{hint}"
    remedy = f"Built in: {', '.join(BUILT_IN)}; columns of CASES: {', '.join(cases.columns)}."
    raise InputError.at(f"protocol '{protocol.name}'", what, remedy)


def _stated(names: tuple[str, ...], of_nodule: IntArray) -> Division | None:
    return Division(list(names), of_nodule) if (of_nodule >= 0).any() else None


def _bins(values: FloatArray, cuts: FloatArray, unit: str) -> Division:
    """Half-open bins: below the first cut, [cut, next cut), and from the last cut up."""
    names = [
        f"<{cuts[0]:g}{unit}",
        *(f"[{low:g}, {high:g}){unit}" for low, high in pairwise(cuts)),
        f"≥{cuts[-1]:g}{unit}",
    ]
    return Division(names, np.where(np.isnan(values), -1, np.searchsorted(cuts, values, "right")))


def _by_value(values: pl.Series) -> Division | None:
    """A division by a column's values; many different numbers are cut at their quartiles."""
    known = values.drop_nulls()
    if not len(known):
        return None
    if known.dtype.is_numeric() and known.n_unique() > MOST_DISTINCT_NUMBERS:
        cuts = np.unique(np.quantile(known.to_numpy(), [0.25, 0.5, 0.75]))
        return _bins(values.cast(pl.Float64).to_numpy(), cuts, "")
    distinct = known.unique().sort().to_list()
    key = {value: index for index, value in enumerate(distinct)}
    of_row = np.array([key.get(value, -1) for value in values.to_list()], dtype=np.int64)
    return Division([str(value) for value in distinct], of_row)


RATIOS_OF_CASES = ("recall", "precision", "fp_per_case")
"""Computed for a stratum of whole cases in addition to miss rate and CPM."""

RateKey = tuple[str, str, str]
"""The division, the stratum, the metric."""


@dataclass(frozen=True, slots=True)
class _Rate:
    """A rate of one stratum."""

    of_case: CaseSums
    """Its numerator and denominator, case by case, within the stratum."""
    is_in: BoolArray | None = None


def estimate_strata(
    cohort: LabelledCohort, protocol: TestProtocol
) -> dict[str, dict[str, Stratum]]:
    """Every stratum of the protocol with its nodules, misses and miss rate, with intervals.

    Strata of whole cases also have the protocol's main metrics on those cases only. False
    positives belong to cases, not to nodules: strata of nodules have the protocol's
    ``stratum_metrics`` with the false positives of all cases.
    """
    divisions = {name: divide(cohort, name, protocol) for name in protocol.strata}
    known = {name: division for name, division in divisions.items() if division is not None}
    rates = {
        (name, stratum, metric): rate
        for name, division in known.items()
        for number, stratum in enumerate(division.names)
        for metric, rate in _rates(cohort, protocol, division, number).items()
    }
    estimates = _estimate_rates(cohort, protocol, rates)
    results: dict[str, dict[str, Stratum]] = {name: {} for name in known}
    for name, division in known.items():
        for number, stratum in enumerate(division.names):
            misses = rates[name, stratum, "miss_rate"].of_case
            nodules = int(misses.denominator.sum())
            metrics: dict[str, Estimate] = {}
            cases = None
            if division.of_case is not None:
                is_case_in = division.of_case == number
                cases = int(np.count_nonzero(is_case_in))
                if "cpm" in protocol.metrics:
                    metrics["cpm"] = _case_cpm(cohort, protocol, is_case_in)
                metrics |= {
                    metric: estimates[name, stratum, metric]
                    for metric in RATIOS_OF_CASES
                    if metric in protocol.metrics
                }
            elif protocol.stratum_metrics and nodules:
                is_in = division.of_nodule == number
                metrics = _nodule_metrics(cohort.of_nodules(is_in), protocol)
            results[name][stratum] = Stratum(
                nodules=nodules,
                missed=int(misses.numerator.sum()),
                miss_rate=estimates[name, stratum, "miss_rate"],
                is_too_few=nodules < protocol.minimum_stratum,
                cases=cases,
                metrics=metrics,
            )
    return results


def _nodule_metrics(cohort: LabelledCohort, protocol: TestProtocol) -> dict[str, Estimate]:
    """The protocol's metrics for the nodules of one stratum, as ``metric`` or ``metric@point``."""
    metrics = estimate_metrics(cohort, protocol, protocol.stratum_metrics)
    return {
        name if point is None else f"{name}@{point}": estimate
        for name, read in metrics.items()
        for point, estimate in ({None: read} if isinstance(read, Estimate) else read).items()
    }


def _rates(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> dict[str, _Rate]:
    is_in = division.of_nodule == number
    misses = sum_by_case(cohort, cohort.nodule_case[is_in & ~cohort.is_hit])
    nodules = sum_by_case(cohort, cohort.nodule_case[is_in])
    rates = {"miss_rate": _Rate(CaseSums(misses, nodules))}
    if division.of_case is None:
        return rates
    is_case_in = division.of_case == number
    for name in RATIOS_OF_CASES:
        if name not in protocol.metrics:
            continue
        of_case = sums_of(bind_parameters(METRICS[name], protocol), cohort)
        if of_case is not None:
            within = CaseSums(of_case.numerator * is_case_in, of_case.denominator * is_case_in)
            rates[name] = _Rate(within, is_case_in)
    return rates


def _estimate_rates(
    cohort: LabelledCohort, protocol: TestProtocol, rates: dict[RateKey, _Rate]
) -> dict[RateKey, Estimate]:
    """All rates of all strata with their intervals, computed by one matrix product."""
    sums, interval = [rate.of_case for rate in rates.values()], protocol.interval
    drawn = [
        [replicate_ratios(sums, block) for block in blocks]
        for blocks in resampled_weights(cohort, protocol)
    ]
    replicates, jackknife = (
        np.concatenate(parts, axis=1) if parts else [None] * len(sums) for parts in drawn
    )
    counted = {key: rate for key, rate in rates.items() if rate.of_case.denominator.any()}
    sound = _guarded_rows(cohort, protocol, counted)
    estimates = {}
    for (key, rate), row, without in zip(rates.items(), replicates, jackknife, strict=True):
        if key not in counted:
            estimates[key] = Estimate(None, reason=Notice("empty_stratum"))
            continue
        of_case = rate.of_case
        others, trial_units = binomial_intervals(key[-1], of_case, cohort, interval)
        value = float(of_case.numerator.sum() / of_case.denominator.sum())
        estimate = make_estimate(value, row, without, interval, others, trial_units)
        estimates[key] = with_guarded_interval(estimate, sound.get(key), interval)
    return estimates


def stratum_rows(
    cohort: LabelledCohort, protocol: TestProtocol, division: str, stratum: str, metric: str
) -> GuardedRows | None:
    """One metric of one stratum on every replicate of the guarded bootstrap.

    None if the stratum, its metric or its interval does not exist.
    """
    divided = divide(cohort, division, protocol)
    if divided is None or stratum not in divided.names:
        return None
    number = divided.names.index(stratum)
    if metric == "cpm":
        is_in = None if divided.of_case is None else divided.of_case == number
        return None if is_in is None else _cpm_rows(cohort, protocol, is_in)
    rates = {
        (division, stratum, name): rate
        for name, rate in _rates(cohort, protocol, divided, number).items()
        if name == metric and rate.of_case.denominator.any()
    }
    return next(iter(_guarded_rows(cohort, protocol, rates).values()), None)


def _guarded_rows(
    cohort: LabelledCohort, protocol: TestProtocol, rates: dict[RateKey, _Rate]
) -> dict[RateKey, GuardedRows]:
    """All rates on every replicate of the guarded bootstrap, each with its own pseudo-patient."""
    bootstrap = guarded_bootstrap_of(cohort, protocol)
    if bootstrap is None or not rates:
        return {}
    ratios: dict[RateKey, GuardedRatio] = {}
    for key, rate in rates.items():
        metric = bind_parameters(METRICS[key[-1]], protocol)
        guarded = GuardedCohort(cohort, bootstrap, rate.is_in)
        ratios[key] = guarded.ratio(metric, rate.of_case, guard_of(key[-1]))
    blocks = [ratio_rows(list(ratios.values()), block) for block in bootstrap.blocks()]
    worst, best = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return {
        key: GuardedRows(
            worst[:, column],
            best[:, column],
            units=int(np.count_nonzero(ratio.denominator)),
            guard=guard_of(key[-1]),
        )
        for column, (key, ratio) in enumerate(ratios.items())
    }


def _case_cpm(cohort: LabelledCohort, protocol: TestProtocol, is_in: BoolArray) -> Estimate:
    """The CPM on the cases of one stratum: the other cases have weight 0."""
    metric, interval = bind_parameters(METRICS["cpm"], protocol), protocol.interval
    try:
        value = float(metric(cohort, is_in[np.newaxis, :].astype(np.int32))[0])
    except UndefinedError as error:
        return Estimate(None, reason=reason_of(error))
    replicates, jackknife = (
        replicate_metrics(cohort, {"cpm": metric}, (block * is_in for block in blocks)).get("cpm")
        for blocks in resampled_weights(cohort, protocol)
    )
    estimate = make_estimate(value, replicates, jackknife, interval)
    rows = None if estimate.value is None else _cpm_rows(cohort, protocol, is_in)
    return with_guarded_interval(estimate, rows, interval)


def _cpm_rows(
    cohort: LabelledCohort, protocol: TestProtocol, is_in: BoolArray
) -> GuardedRows | None:
    """The CPM on the cases of one stratum, on every replicate of the guarded bootstrap."""
    bootstrap = guarded_bootstrap_of(cohort, protocol)
    if bootstrap is None:
        return None
    exact = {"cpm": bind_parameters(METRICS["cpm"], exactly(protocol))}
    return guarded_rows(GuardedCohort(cohort, bootstrap, is_in), exact)["cpm"]
