"""Labelled cohort x protocol -> results by type, size, density, and any column of the tables."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError, UndefinedError, did_you_mean
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import Estimate, Stratum
from nodulebench.core.tables import CASE_FACTS, NODULES
from nodulebench.evaluation.estimates import (
    bind_settings,
    bootstrap_blocks,
    estimate_metrics,
    exactly,
    guarded_bootstrap_of,
    is_proportion,
    leave_one_out_of,
    replicate_metrics,
    replicate_ratios,
    units_of,
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
from nodulebench.statistics.intervals import count_trial_units, make_estimate, proportion_intervals

BUILT_IN = ("size", "type", "density", "lung_rads_size", "fleischner_size")

KNOWN = (*CASE_FACTS, *(column.name for column in NODULES.further))
"""Columns that a test set may lack: what they say is then not known."""

MOST_DISTINCT_NUMBERS = 8
"""A numeric column with more distinct values is cut at its quartiles."""


@dataclass(frozen=True, slots=True)
class Division:
    """A division of nodules (and perhaps of whole cases) into named strata."""

    names: list[str]
    of_nodule: IntArray
    """The stratum of each nodule, -1 for none."""
    of_case: IntArray | None = None
    """The stratum of each case, where the division is one of cases."""

    def case_count(self, number: int) -> int | None:
        """How many cases a stratum has; None where the division is one of nodules."""
        return None if self.of_case is None else int(np.count_nonzero(self.of_case == number))


def divide(cohort: LabelledCohort, name: str, protocol: TestProtocol) -> Division | None:
    """Divide a cohort by a stratum's name; None where the data do not say.

    Raises:
        InputError: if no table has such a column, and none is known that may have it.
    """
    nodules = cohort.reference.nodules[cohort.nodule_row]
    cases = cohort.reference.cases
    match name:
        case "size":
            return _cut(nodules["diameter_mm"], protocol.size_bins_mm)
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
    raise InputError.at(
        f"protocol '{protocol.name}'",
        f"asks for the stratum '{name}', which is no column of CASES or NODULES.{hint}",
        f"Built in: {', '.join(BUILT_IN)}; columns of CASES: {', '.join(cases.columns)}.",
    )


def strata_notices(cohort: LabelledCohort, protocol: TestProtocol) -> tuple[Notice, ...]:
    """That the test set lacks columns by which the protocol divides it."""
    there = {*cohort.reference.cases.columns, *cohort.reference.nodules.columns}
    absent = [name for name in protocol.strata if name in KNOWN and name not in there]
    return (Notice("strata_not_known", {"columns": absent}),) if absent else ()


def _stated(names: tuple[str, ...], of_nodule: IntArray) -> Division | None:
    """A division into classes, None where no nodule's class is known."""
    return Division(list(names), of_nodule) if (of_nodule >= 0).any() else None


def _cut(size: pl.Series, cuts: tuple[float, ...]) -> Division | None:
    """Bins of diameter in mm; a nodule that was not measured is in none."""
    measured = size.to_numpy()
    measured = np.where(measured > 0, measured, np.nan)
    return _bins(measured, np.asarray(cuts), " mm") if np.isfinite(measured).any() else None


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
    place = {value: index for index, value in enumerate(distinct)}
    of_row = np.array([place.get(value, -1) for value in values.to_list()], dtype=np.int64)
    return Division([str(value) for value in distinct], of_row)


RATIOS_OF_CASES = ("recall", "precision", "fp_per_case")
"""What is computed, beside miss rate and CPM, for a stratum made of whole cases."""

Place = tuple[str, str, str]
"""A rate's place: the division, the stratum, the metric."""


@dataclass(frozen=True, slots=True)
class _Rate:
    """A rate of one stratum."""

    of_case: CaseSums
    """What it divides, case by case, within the stratum."""
    is_in: BoolArray | None = None
    """The cases of the stratum, where it is one of whole cases."""


def estimate_strata(
    cohort: LabelledCohort, protocol: TestProtocol
) -> dict[str, dict[str, Stratum]]:
    """Every stratum of the protocol with its nodules, misses and miss rate, with intervals.

    Strata made of whole cases also get the protocol's main metrics on those cases alone. False
    positives belong to cases, not to nodules: strata of nodules get the protocol's
    ``stratum_metrics`` with the false positives of all cases.
    """
    divisions = {name: divide(cohort, name, protocol) for name in protocol.strata}
    found = {name: division for name, division in divisions.items() if division is not None}
    rates = {
        (name, stratum, metric): rate
        for name, division in found.items()
        for number, stratum in enumerate(division.names)
        for metric, rate in _rates(cohort, protocol, division, number).items()
    }
    estimates = _estimate_rates(cohort, protocol, rates)
    results: dict[str, dict[str, Stratum]] = {}
    for name, division in found.items():
        results[name] = {}
        for number, stratum in enumerate(division.names):
            misses = rates[name, stratum, "miss_rate"].of_case
            nodules = int(misses.denominator.sum())
            metrics = _case_cpm(cohort, protocol, division, number)
            metrics |= _nodule_metrics(cohort, protocol, division, number)
            if division.of_case is not None:
                metrics |= {
                    metric: estimates[name, stratum, metric]
                    for metric in _ratios_of_cases(protocol)
                }
            results[name][stratum] = Stratum(
                nodules=nodules,
                missed=int(misses.numerator.sum()),
                miss_rate=estimates[name, stratum, "miss_rate"],
                is_too_few=nodules < protocol.minimum_stratum,
                cases=division.case_count(number),
                metrics=metrics,
            )
    return results


def _nodule_metrics(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> dict[str, Estimate]:
    """The protocol's metrics for the nodules of one stratum; at a point: ``metric@point``."""
    is_in = division.of_nodule == number
    if division.of_case is not None or not protocol.stratum_metrics or not is_in.any():
        return {}
    found = estimate_metrics(cohort.of_nodules(is_in), protocol, protocol.stratum_metrics)
    return {
        name if point is None else f"{name}@{point}": one
        for name, read in found.items()
        for point, one in ({None: read} if isinstance(read, Estimate) else read).items()
    }


def _ratios_of_cases(protocol: TestProtocol) -> list[str]:
    return [name for name in RATIOS_OF_CASES if name in protocol.metrics]


def _rates(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> dict[str, _Rate]:
    """The rates of one stratum."""
    is_in = division.of_nodule == number
    rates = {"miss_rate": _Rate(_misses_of_nodules(cohort, is_in))}
    if division.of_case is not None:
        is_case_in = division.of_case == number
        for name in _ratios_of_cases(protocol):
            of_case = sums_of(bind_settings(METRICS[name], protocol), cohort)
            if of_case is not None:
                within = CaseSums(of_case.numerator * is_case_in, of_case.denominator * is_case_in)
                rates[name] = _Rate(within, is_case_in)
    return rates


def _misses_of_nodules(cohort: LabelledCohort, is_in: BoolArray) -> CaseSums:
    return CaseSums(
        sum_by_case(cohort, cohort.nodule_case[is_in & ~cohort.is_hit]),
        sum_by_case(cohort, cohort.nodule_case[is_in]),
    )


def _estimate_rates(
    cohort: LabelledCohort, protocol: TestProtocol, rates: dict[Place, _Rate]
) -> dict[Place, Estimate]:
    """All rates of all strata with their intervals, by one matrix product."""
    sums, interval = [rate.of_case for rate in rates.values()], protocol.interval
    drawn = [replicate_ratios(sums, block) for block in bootstrap_blocks(cohort, protocol)]
    left_out = [replicate_ratios(sums, block) for block in leave_one_out_of(cohort, interval)]
    replicates = np.concatenate(drawn, axis=1) if drawn else [None] * len(sums)
    jackknife = np.concatenate(left_out, axis=1) if left_out else [None] * len(sums)
    counted = {place: rate for place, rate in rates.items() if rate.of_case.denominator.any()}
    sound = _guarded_rows(cohort, protocol, counted)
    units = units_of(cohort, interval)
    estimates = {}
    for (place, rate), row, without in zip(rates.items(), replicates, jackknife, strict=True):
        if place not in counted:
            estimates[place] = Estimate(None, reason=Notice("empty_stratum"))
            continue
        of_case = rate.of_case
        others, trial_units = {}, 0
        if is_proportion(bind_settings(METRICS[place[-1]], protocol)):
            others = proportion_intervals(of_case.numerator, of_case.denominator, units, interval)
            trial_units = count_trial_units(of_case.denominator, units)
        value = float(of_case.numerator.sum() / of_case.denominator.sum())
        one = make_estimate(value, row, without, interval, others, trial_units)
        estimates[place] = with_guarded_interval(one, sound.get(place), interval)
    return estimates


def stratum_rows(
    cohort: LabelledCohort, protocol: TestProtocol, division: str, stratum: str, metric: str
) -> GuardedRows | None:
    """One metric of one stratum on every replicate of the guarded bootstrap.

    None where the stratum, its metric or its interval does not exist.
    """
    found = divide(cohort, division, protocol)
    if found is None or stratum not in found.names:
        return None
    number = found.names.index(stratum)
    if metric == "cpm":
        return _cpm_rows(cohort, protocol, found, number)
    rates = {
        (division, stratum, name): rate
        for name, rate in _rates(cohort, protocol, found, number).items()
        if name == metric and rate.of_case.denominator.any()
    }
    return next(iter(_guarded_rows(cohort, protocol, rates).values()), None)


def _guarded_rows(
    cohort: LabelledCohort, protocol: TestProtocol, rates: dict[Place, _Rate]
) -> dict[Place, GuardedRows]:
    """All rates on every replicate of the guarded bootstrap, each beside its own unseen patient."""
    bootstrap = guarded_bootstrap_of(cohort, protocol)
    if bootstrap is None or not rates:
        return {}
    ratios: dict[Place, GuardedRatio] = {}
    for place, rate in rates.items():
        metric = bind_settings(METRICS[place[-1]], protocol)
        guarded = GuardedCohort(cohort, bootstrap, rate.is_in)
        ratios[place] = guarded.ratio(metric, rate.of_case, guard_of(place[-1]))
    blocks = [ratio_rows(list(ratios.values()), block) for block in bootstrap.blocks()]
    worst, best = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return {
        place: GuardedRows(
            worst[:, column],
            best[:, column],
            units=int(np.count_nonzero(ratio.denominator)),
            guard=guard_of(place[-1]),
        )
        for column, (place, ratio) in enumerate(ratios.items())
    }


def _case_cpm(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> dict[str, Estimate]:
    """The CPM on the cases of one stratum: the other cases' weight is 0."""
    if division.of_case is None or "cpm" not in protocol.metrics:
        return {}
    is_in = division.of_case == number
    metric = bind_settings(METRICS["cpm"], protocol)
    try:
        value = float(metric(cohort, is_in[np.newaxis, :].astype(np.int32))[0])
    except UndefinedError as error:
        return {"cpm": Estimate(None, reason=reason_of(error))}

    def within(blocks: Iterable[WeightArray]) -> FloatArray | None:
        return replicate_metrics(cohort, {"cpm": metric}, (block * is_in for block in blocks)).get(
            "cpm"
        )

    interval = protocol.interval
    one = make_estimate(
        value,
        within(bootstrap_blocks(cohort, protocol)),
        within(leave_one_out_of(cohort, interval)),
        interval,
    )
    rows = None if one.value is None else _cpm_rows(cohort, protocol, division, number)
    return {"cpm": with_guarded_interval(one, rows, interval)}


def _cpm_rows(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> GuardedRows | None:
    """The CPM on the cases of one stratum, on every replicate of the guarded bootstrap."""
    bootstrap = guarded_bootstrap_of(cohort, protocol)
    if bootstrap is None or division.of_case is None:
        return None
    exact = {"cpm": bind_settings(METRICS["cpm"], exactly(protocol))}
    return guarded_rows(GuardedCohort(cohort, bootstrap, division.of_case == number), exact)["cpm"]
