"""Labelled cohort -> its division by type, size, density, or any column of the tables."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError, did_you_mean
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.tables import CASE_FACTS, NODULES
from nodulebench.metrics.classes import density_pairs, type_pairs
from nodulebench.metrics.fleischner import FLEISCHNER_SIZES, fleischner_strata
from nodulebench.metrics.guidelines import LUNG_RADS, lung_rads_strata

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
