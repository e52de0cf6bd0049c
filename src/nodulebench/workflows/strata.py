"""Labelled cohort x protocol -> results by type, size, density, and any column of the tables."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from nodulebench.errors import InputError, Problem, UndefinedError
from nodulebench.metrics import FIGURES
from nodulebench.metrics.figure import CaseSums, Ratio, sum_by_case
from nodulebench.model.arrays import BoolArray, FloatArray, IntArray
from nodulebench.model.cohort import LabelledCohort
from nodulebench.model.protocol import TestProtocol
from nodulebench.model.results import Estimate, Stratum
from nodulebench.model.tables import DENSITIES, DENSITY_OF_TYPE, NODULE_TYPES
from nodulebench.workflows.estimate import (
    bind_settings,
    bootstrap_of,
    leave_one_out_of,
    make_estimate,
    proportion_intervals,
    replicate_figures,
    replicate_ratios,
    sums_of,
    units_of,
)

LUNG_RADS_CUTS_MM = (6.0, 8.0, 15.0)
FLEISCHNER_CUTS_MM = (6.0, 8.0)
MOST_DISTINCT_NUMBERS = 8
"""A numeric column with more distinct values is cut at its quartiles."""

FIGURES_OF_CASES = ("recall", "precision", "fp_per_case")
"""What is computed, beside miss rate and CPM, for a stratum made of whole cases."""

Place = tuple[str, int, str]
"""A number's place: the division, the number of the stratum in it, the figure."""


@dataclass(frozen=True, slots=True)
class Division:
    """A division of nodules (and perhaps of whole cases) into named strata."""

    names: list[str]
    of_nodule: IntArray
    """The stratum of each nodule, -1 for none."""
    of_case: IntArray | None = None
    """The stratum of each case, where the division is one of cases."""


def divide(cohort: LabelledCohort, name: str, protocol: TestProtocol) -> Division | None:
    """Divide a cohort by a stratum's name; None where the data do not say.

    Raises:
        InputError: if no table has such a column.
    """
    nodules = cohort.reference.nodules[cohort.nodule_row]
    cases = cohort.reference.cases
    match name:
        case "size":
            return _cut(nodules["diameter_mm"], protocol.size_bins_mm)
        case "lung_rads_size":
            return _cut(nodules["diameter_mm"], LUNG_RADS_CUTS_MM)
        case "fleischner_size":
            return _cut(nodules["diameter_mm"], FLEISCHNER_CUTS_MM)
        case "type":
            return _classes(nodules["type"], NODULE_TYPES)
        case "density":
            derived = nodules["type"].replace_strict(
                DENSITY_OF_TYPE, default=None, return_dtype=pl.String
            )
            said = nodules["density"]
            return _classes(said.zip_with(said.is_not_null(), derived), DENSITIES)
        case _ if name in cases.columns:
            by_case = _by_value(cases[name])
            if by_case is None:
                return None
            return Division(by_case.names, by_case.of_nodule[cohort.nodule_case], by_case.of_nodule)
        case _ if name in nodules.columns:
            return _by_value(nodules[name])
    known = ["size", "type", "density", "lung_rads_size", "fleischner_size"]
    raise InputError(
        Problem(
            f"protocol '{protocol.name}'",
            f"asks for the stratum '{name}', which is no column of CASES or NODULES.",
            f"Built in: {', '.join(known)}; columns of CASES: {', '.join(cases.columns)}.",
        )
    )


def estimate_strata(
    cohort: LabelledCohort, protocol: TestProtocol
) -> dict[str, dict[str, Stratum]]:
    """Every stratum of the protocol with its nodules, misses and miss rate, with intervals.

    Strata made of whole cases also get the protocol's main figures on those cases alone.
    """
    divisions = {name: divide(cohort, name, protocol) for name in protocol.strata}
    found = {name: division for name, division in divisions.items() if division is not None}
    rates: dict[Place, CaseSums] = {}
    for name, part in found.items():
        for number in range(len(part.names)):
            is_in = part.of_nodule == number
            rates[name, number, "miss_rate"] = _misses_of_nodules(cohort, is_in)
            if part.of_case is not None:
                for figure, of_case in _ratios(cohort, protocol).items():
                    rates[name, number, figure] = _on_cases(of_case, part.of_case == number)
    estimates = _estimate_ratios(cohort, protocol, rates)
    return {
        name: {
            stratum: Stratum(
                nodules=int(rates[name, number, "miss_rate"].denominator.sum()),
                missed=int(rates[name, number, "miss_rate"].numerator.sum()),
                miss_rate=estimates[name, number, "miss_rate"],
                is_too_few=rates[name, number, "miss_rate"].denominator.sum()
                < protocol.minimum_stratum,
                cases=None if part.of_case is None else int(np.sum(part.of_case == number)),
                figures=_figures_of_cases(cohort, protocol, part, number)
                | {
                    figure: estimate
                    for (division, place, figure), estimate in estimates.items()
                    if (division, place) == (name, number) and figure != "miss_rate"
                },
            )
            for number, stratum in enumerate(part.names)
        }
        for name, part in found.items()
    }


def _misses_of_nodules(cohort: LabelledCohort, is_in: BoolArray) -> CaseSums:
    return CaseSums(
        sum_by_case(cohort, cohort.nodule_case[is_in & ~cohort.is_hit]),
        sum_by_case(cohort, cohort.nodule_case[is_in]),
    )


def _ratios(cohort: LabelledCohort, protocol: TestProtocol) -> dict[str, CaseSums]:
    """The sums behind those figures of cases that are ratios."""
    wanted = [name for name in FIGURES_OF_CASES if name in protocol.figures]
    sums = {name: sums_of(bind_settings(FIGURES[name], protocol), cohort) for name in wanted}
    return {name: of_case for name, of_case in sums.items() if of_case is not None}


def _on_cases(of_case: CaseSums, is_in: BoolArray) -> CaseSums:
    return CaseSums(of_case.numerator * is_in, of_case.denominator * is_in)


def _estimate_ratios(
    cohort: LabelledCohort, protocol: TestProtocol, rates: dict[Place, CaseSums]
) -> dict[Place, Estimate]:
    """All rates of all strata with their intervals, by one matrix product."""
    sums, interval = list(rates.values()), protocol.interval
    drawn = [replicate_ratios(sums, block) for block in bootstrap_of(cohort, protocol).blocks()]
    left_out = [replicate_ratios(sums, block) for block in leave_one_out_of(cohort, interval)]
    replicates = np.concatenate(drawn, axis=1) if drawn else [None] * len(sums)
    jackknife = np.concatenate(left_out, axis=1) if left_out else [None] * len(sums)
    units = units_of(cohort, interval)
    estimates = {}
    for (place, of_case), row, without in zip(rates.items(), replicates, jackknife, strict=True):
        count = of_case.denominator.sum()
        if not count:
            estimates[place] = Estimate(None, reason="nothing to count in this stratum")
            continue
        figure = FIGURES[place[-1]]
        is_proportion = isinstance(figure, Ratio) and figure.is_proportion
        others = proportion_intervals(of_case, units, interval) if is_proportion else {}
        value = float(of_case.numerator.sum() / count)
        estimates[place] = make_estimate(value, row, without, interval, others)
    return estimates


def _figures_of_cases(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> dict[str, Estimate]:
    """Figures that are no ratios, on the cases of one stratum: the other cases' weight is 0."""
    if division.of_case is None or "cpm" not in protocol.figures:
        return {}
    is_in = (division.of_case == number).astype(np.int32)
    figure = bind_settings(FIGURES["cpm"], protocol)
    try:
        value = float(figure(cohort, is_in[np.newaxis, :])[0])
    except UndefinedError as error:
        return {"cpm": Estimate(None, reason=str(error))}
    replicates, jackknife = (
        replicate_figures(cohort, {"cpm": figure}, (block * is_in for block in blocks)).get("cpm")
        for blocks in (
            bootstrap_of(cohort, protocol).blocks(),
            leave_one_out_of(cohort, protocol.interval),
        )
    )
    return {"cpm": make_estimate(value, replicates, jackknife, protocol.interval)}


def _cut(size: pl.Series, cuts: tuple[float, ...]) -> Division | None:
    """Bins of diameter in mm; a diameter that was not measured (negative) is in none."""
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


def _classes(values: pl.Series, classes: tuple[str, ...]) -> Division | None:
    if values.null_count() == len(values):
        return None
    number = {name: index for index, name in enumerate(classes)}
    numbers = values.replace_strict(number, default=-1, return_dtype=pl.Int64)
    return Division(list(classes), numbers.to_numpy())


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
