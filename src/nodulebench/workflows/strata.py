"""Labelled cohort x protocol -> results by type, size, density, and any column of the tables."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.errors import InputError, Problem, UndefinedError
from nodulebench.metrics import FIGURES
from nodulebench.metrics.figure import CaseSums, weighted_ratio
from nodulebench.model.arrays import IntArray
from nodulebench.model.cohort import LabelledCohort
from nodulebench.model.protocol import TestProtocol
from nodulebench.model.results import Estimate, Stratum
from nodulebench.model.tables import DENSITY_OF_TYPE, DENSITIES, NODULE_TYPES
from nodulebench.workflows.estimate import (
    bind_settings,
    bootstrap_of,
    leave_one_out_of,
    make_estimate,
    proportion_intervals,
    replicate_figures,
    units_of,
)

LUNG_RADS_CUTS_MM = (6.0, 8.0, 15.0)
FLEISCHNER_CUTS_MM = (6.0, 8.0)
MOST_DISTINCT_NUMBERS = 8
"""A numeric column with more distinct values is cut at its quartiles."""

FIGURES_OF_CASES = ("recall", "precision", "fp_per_case", "cpm")
"""What is computed, beside the miss rate, for a stratum made of whole cases."""


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
    """Every stratum of the protocol with its nodules, misses and miss rate, with intervals."""
    divisions = {name: divide(cohort, name, protocol) for name in protocol.strata}
    found = {name: division for name, division in divisions.items() if division is not None}
    columns = [(name, number) for name, part in found.items() for number in range(len(part.names))]
    if not columns:
        return {}
    nodules = np.zeros((cohort.case_count, len(columns)))
    misses = np.zeros_like(nodules)
    for column, (name, number) in enumerate(columns):
        is_in = found[name].of_nodule == number
        nodules[:, column] = np.bincount(cohort.nodule_case[is_in], minlength=cohort.case_count)
        is_missed = is_in & ~cohort.is_hit
        misses[:, column] = np.bincount(cohort.nodule_case[is_missed], minlength=cohort.case_count)
    sums = CaseSums(misses, nodules)
    replicates = [weighted_ratio(sums, block) for block in bootstrap_of(cohort, protocol).blocks()]
    jackknife = [
        weighted_ratio(sums, block) for block in leave_one_out_of(cohort, protocol.interval)
    ]
    drawn = np.concatenate(replicates) if replicates else None
    left_out = np.concatenate(jackknife) if jackknife else None

    results: dict[str, dict[str, Stratum]] = {name: {} for name in found}
    for column, (name, number) in enumerate(columns):
        of_case = CaseSums(misses[:, column], nodules[:, column])
        count, missed = int(of_case.denominator.sum()), int(of_case.numerator.sum())
        miss_rate = (
            make_estimate(
                missed / count,
                None if drawn is None else drawn[:, column],
                None if left_out is None else left_out[:, column],
                protocol.interval,
                proportion_intervals(of_case, units_of(cohort, protocol.interval), protocol.interval),
            )
            if count
            else Estimate(None, reason="no nodules in this stratum")
        )
        part = found[name]
        results[name][part.names[number]] = Stratum(
            nodules=count,
            missed=missed,
            miss_rate=miss_rate,
            is_too_few=count < protocol.minimum_stratum,
            cases=None if part.of_case is None else int(np.sum(part.of_case == number)),
            figures={} if part.of_case is None else _case_figures(cohort, protocol, part, number),
        )
    return results


def _case_figures(
    cohort: LabelledCohort, protocol: TestProtocol, division: Division, number: int
) -> dict[str, Estimate]:
    """Figures on the cases of one stratum: the same figures with the other cases' weight 0."""
    if division.of_case is None:
        return {}
    is_in = (division.of_case == number).astype(np.int32)
    names = [name for name in FIGURES_OF_CASES if name in protocol.figures]
    estimates: dict[str, Estimate] = {}
    for name in names:
        figure = bind_settings(FIGURES[name], protocol)
        try:
            value = float(figure(cohort, is_in[np.newaxis, :])[0])
        except UndefinedError as error:
            estimates[name] = Estimate(None, reason=str(error))
            continue
        blocks = (block * is_in for block in bootstrap_of(cohort, protocol).blocks())
        left_out = (block * is_in for block in leave_one_out_of(cohort, protocol.interval))
        estimates[name] = make_estimate(
            value,
            replicate_figures(cohort, {name: figure}, blocks).get(name),
            replicate_figures(cohort, {name: figure}, left_out).get(name),
            protocol.interval,
        )
    return estimates


def _cut(size: pl.Series, cuts: tuple[float, ...]) -> Division | None:
    """Half-open bins: below the first cut, [cut, next cut), and from the last cut up."""
    values = size.to_numpy()
    is_measured = np.isfinite(values) & (values > 0)
    if not is_measured.any():
        return None
    names = [
        f"<{cuts[0]:g} mm",
        *(f"[{low:g}, {high:g}) mm" for low, high in zip(cuts, cuts[1:], strict=False)),
        f"≥{cuts[-1]:g} mm",
    ]
    bins = np.searchsorted(np.asarray(cuts), values, "right")
    return Division(names, np.where(is_measured, bins, -1))


def _classes(values: pl.Series, classes: tuple[str, ...]) -> Division | None:
    if values.null_count() == len(values):
        return None
    numbers = {name: number for number, name in enumerate(classes)}
    return Division(
        list(classes), np.array([numbers.get(value, -1) for value in values], dtype=np.int64)
    )


def _by_value(values: pl.Series) -> Division | None:
    """A division by a column's values; many different numbers are cut at their quartiles."""
    known = values.drop_nulls()
    if not len(known):
        return None
    if known.dtype.is_numeric() and known.n_unique() > MOST_DISTINCT_NUMBERS:
        cuts = np.unique(np.quantile(known.to_numpy(), [0.25, 0.5, 0.75]))
        number = values.cast(pl.Float64).to_numpy()
        names = [
            f"<{cuts[0]:g}",
            *(f"[{low:g}, {high:g})" for low, high in zip(cuts, cuts[1:], strict=False)),
            f"≥{cuts[-1]:g}",
        ]
        bins = np.searchsorted(cuts, number, "right")
        return Division(names, np.where(np.isfinite(number), bins, -1))
    distinct = known.unique().sort().to_list()
    place = {value: index for index, value in enumerate(distinct)}
    of_row = np.array([place.get(value, -1) for value in values.to_list()], dtype=np.int64)
    return Division([str(value) for value in distinct], of_row)

