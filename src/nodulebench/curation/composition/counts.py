"""Tables of a test set -> its composition: counts, shares and ranges, and which strata are thin."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import polars as pl

from nodulebench.core.tables import DENSITIES, NODULE_TYPES, Reference

_OF_CASES = """
    vendor model scan_kind kernel_class slice_thickness_mm sex country hospital is_public
    ethics_approval
"""
_OF_NODULES = """
    type density size malignancy malignancy_source truth pathology_type pathology_stage
    pathology_method pathology_confirmed is_near_vessel is_near_cavity agreement
"""
SHARES = {"cases": _OF_CASES.split(), "nodules": _OF_NODULES.split()}
"""Table -> columns whose values are counted; what is absent is left out."""
RANGES = (
    ("tube_voltage_kv", "kV"),
    ("tube_current_ma", "mA"),
    ("exposure_mas", "mAs"),
    ("dose_msv", "mSv"),
    ("spacing_x_mm", "mm"),
    ("spacing_z_mm", "mm"),
    ("age", "years"),
)
SIZE_BINS_MM = (4.0, 6.0, 10.0)
ORDERED = {"type": NODULE_TYPES, "density": DENSITIES}
NOT_STATED = "not stated"


@dataclass(frozen=True, slots=True)
class Shares:
    """How often each value of a column occurs."""

    column: str
    table: str
    counts: dict[str, int]

    @property
    def total(self) -> int:
        """Rows of the table."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Range:
    """Smallest, mean and largest value of a column."""

    column: str
    unit: str
    low: float
    mean: float
    high: float
    stated: int


@dataclass(frozen=True, slots=True)
class ThinStratum:
    """A stratum whose interval would be wide."""

    column: str
    value: str
    nodules: int
    half_width: float


@dataclass(frozen=True, slots=True)
class Composition:
    """What a test set consists of."""

    totals: dict[str, int]
    shares: tuple[Shares, ...]
    ranges: tuple[Range, ...]


Found = TypeVar("Found")
HalfWidth = Callable[[float, int], float]
"""Expected share and number of trials -> how far an interval reaches to its wider side."""


def compose(reference: Reference) -> Composition:
    """Counts, shares and ranges of a test set."""
    cases, nodules = reference.cases, counted_nodules(reference)
    totals = {
        "cases": cases.height,
        "patients": int(reference.unit_of_case.max()) + 1 if cases.height else 0,
        **{
            name: cases[column].drop_nulls().n_unique()
            for name, column in (("hospitals", "hospital"), ("provinces", "province"))
            if column in cases.columns
        },
        "nodules": nodules.height,
        "ignored findings": reference.nodules.height - nodules.height,
    }
    tables = {"cases": cases, "nodules": nodules}
    shares = (
        count_values(tables[name], column, name) for name in SHARES for column in SHARES[name]
    )
    return Composition(
        totals,
        tuple(_present(shares)),
        tuple(_present(_range(cases, column, unit) for column, unit in RANGES)),
    )


def _present(found: Iterable[Found | None]) -> Iterator[Found]:
    return (one for one in found if one is not None)


def thin_strata(
    reference: Reference,
    columns: tuple[str, ...],
    half_width: HalfWidth,
    *,
    expected: float,
    largest: float,
) -> tuple[ThinStratum, ...]:
    """Strata whose sensitivity would be known less well than wanted.

    Args:
        reference: the test set.
        columns: of NODULES, else of CASES; ``size`` is the diameter in bins.
        half_width: how wide an interval becomes.
        expected: the sensitivity that is expected.
        largest: how far an interval may reach to one side.
    """
    nodules = counted_nodules(reference)
    of_case = [
        name for name in columns if name in reference.cases.columns and name not in nodules.columns
    ]
    joined = nodules.join(reference.cases.select("case_id", *of_case), on="case_id", how="left")
    found = []
    for column in columns:
        shares = count_values(joined, column, "nodules")
        for value, count in ({} if shares is None else shares.counts).items():
            reach = half_width(expected, count) if count else 1.0
            if value != NOT_STATED and reach > largest:
                found.append(ThinStratum(column, value, count, reach))
    return tuple(found)


def counted_nodules(reference: Reference) -> pl.DataFrame:
    """The nodules that have to be found, with their size bin."""
    nodules = reference.nodules.filter(~pl.col("is_ignored").fill_null(False))
    diameter = nodules["diameter_mm"]
    place = np.searchsorted(SIZE_BINS_MM, diameter.fill_null(0.0).to_numpy(), side="right")
    size = pl.Series("size", np.array(_bin_names())[place].tolist(), dtype=pl.String)
    return nodules.with_columns(size=pl.when(diameter.is_not_null()).then(size))


def _bin_names() -> list[str]:
    edges = [f"{edge:g}" for edge in SIZE_BINS_MM]
    between = [f"[{low}, {high}) mm" for low, high in pairwise(edges)]
    return [f"<{edges[0]} mm", *between, f"≥{edges[-1]} mm"]


def count_values(table: pl.DataFrame, column: str, name: str) -> Shares | None:
    """How often each value occurs, the known order first, else by count; None without a value."""
    if column not in table.columns:
        return None
    texts = table[column].cast(pl.String).str.strip_chars().replace("", None)
    if texts.null_count() == table.height:
        return None
    pairs = [(value, count) for value, count in texts.value_counts().iter_rows() if value]
    counted: dict[str, int] = dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
    if column == "size":
        counted = {name: counted.get(name, 0) for name in _bin_names()}
    elif column in ORDERED:
        counted = {value: counted.get(value, 0) for value in ORDERED[column]}
    elif table[column].dtype.is_numeric():
        counted = dict(sorted(counted.items(), key=lambda item: float(item[0])))
    empty = texts.null_count()
    return Shares(column, name, {**counted, **({NOT_STATED: empty} if empty else {})})


def _range(cases: pl.DataFrame, column: str, unit: str) -> Range | None:
    if column not in cases.columns:
        return None
    numbers = cases[column].cast(pl.Float64, strict=False).drop_nulls()
    if numbers.is_empty():
        return None
    values = numbers.to_numpy()
    return Range(column, unit, values.min(), values.mean(), values.max(), len(values))
