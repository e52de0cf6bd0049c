"""Tables of a test set -> its composition: counts, shares and ranges, and thin strata."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from nodulebench.core.tables import DENSITIES, DENSITY_OF_TYPE, NODULE_TYPES, Reference

_OF_CASES = """
    vendor model scan_kind kernel_class slice_thickness_mm sex country hospital is_public
    ethics_approval
"""
_OF_NODULES = """
    type density size malignancy malignancy_source truth pathology_type pathology_stage
    pathology_method pathology_confirmed is_near_vessel is_near_cavity agreement
"""
SHARES = {"cases": _OF_CASES.split(), "nodules": _OF_NODULES.split()}
"""Table -> columns whose values are counted; absent columns are skipped."""
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
    """The composition of a test set."""

    totals: dict[str, int]
    shares: tuple[Shares, ...]
    ranges: tuple[Range, ...]


HalfWidth = Callable[[float, int], float]
"""Expected share and number of trials -> how far an interval extends to its wider side."""


def compose(reference: Reference) -> Composition:
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
    ranges = (_range(cases, column, unit) for column, unit in RANGES)
    return Composition(
        totals,
        tuple(share for share in shares if share is not None),
        tuple(range_ for range_ in ranges if range_ is not None),
    )


def thin_strata(
    reference: Reference,
    columns: tuple[str, ...],
    half_width: HalfWidth,
    *,
    expected: float,
    largest: float,
) -> tuple[ThinStratum, ...]:
    """Strata in which the interval of sensitivity would extend too far to one side.

    ``columns`` are those of NODULES, else of CASES; ``size`` is the diameter in bins.
    """
    nodules = counted_nodules(reference)
    of_case = [
        name for name in columns if name in reference.cases.columns and name not in nodules.columns
    ]
    joined = nodules.join(reference.cases.select("case_id", *of_case), on="case_id", how="left")
    strata = []
    for column in columns:
        shares = count_values(joined, column, "nodules")
        for value, count in ({} if shares is None else shares.counts).items():
            reach = half_width(expected, count) if count else 1.0
            if value != NOT_STATED and reach > largest:
                strata.append(ThinStratum(column, value, count, reach))
    return tuple(strata)


def counted_nodules(reference: Reference) -> pl.DataFrame:
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


SMALL_MM = 6.0
"""Nodules below are small."""
DIFFICULTIES = (
    *("nodules_per_case", "median_diameter_mm", "small_share", "subsolid_share"),
    *("not_seen_by_all_share", "near_vessel_share", "near_cavity_share", "subtlety"),
)
"""Measures of how hard the nodules of a set are to find."""
SUBSOLID = ("part_solid", "ground_glass")


@dataclass(frozen=True, slots=True)
class ShareDifference:
    """A column with values in both sets: the share of each value in both."""

    column: str
    table: str
    shares: dict[str, tuple[float, float]]
    distance: float
    """Half the sum of all differences: 0 where the sets are alike, 1 where no value is shared."""


@dataclass(frozen=True, slots=True)
class Difficulty:
    """A measure of how hard nodules are to find, in both sets; None: not known."""

    name: str
    first: float | None
    second: float | None


@dataclass(frozen=True, slots=True)
class SetComparison:
    """The compositions of two test sets."""

    totals: dict[str, tuple[int, int]]
    differences: tuple[ShareDifference, ...]
    """The most different column first."""
    one_sided: tuple[str, ...]
    """Columns that only one of the sets has."""
    difficulty: tuple[Difficulty, ...]


def compare_sets(first: Reference, second: Reference) -> SetComparison:
    """Compare the composition of two test sets; a missing value counts as a separate value."""
    left, right = compose(first), compose(second)
    shares = [{(part.table, part.column): part for part in made.shares} for made in (left, right)]
    both = [key for key in shares[0] if key in shares[1]]
    differences = [_difference(shares[0][key], shares[1][key]) for key in both]
    unpaired = [key[1] for key in {**shares[0], **shares[1]} if key not in both]
    easy, hard = (_difficulty(reference) for reference in (first, second))
    return SetComparison(
        totals={
            name: (left.totals.get(name, 0), right.totals.get(name, 0))
            for name in {**left.totals, **right.totals}
        },
        differences=tuple(sorted(differences, key=lambda part: -part.distance)),
        one_sided=tuple(unpaired),
        difficulty=tuple(Difficulty(name, easy[name], hard[name]) for name in DIFFICULTIES),
    )


def _difference(first: Shares, second: Shares) -> ShareDifference:
    values = {**first.counts, **second.counts}
    shares = {
        value: (
            first.counts.get(value, 0) / first.total,
            second.counts.get(value, 0) / second.total,
        )
        for value in values
    }
    distance = sum(abs(left - right) for left, right in shares.values()) / 2
    return ShareDifference(first.column, first.table, shares, distance)


def _difficulty(reference: Reference) -> dict[str, float | None]:
    """How hard a set is, as numbers; shares are among the nodules with a value."""
    nodules = counted_nodules(reference)
    density = nodules["density"].fill_null(
        nodules["type"].replace_strict(DENSITY_OF_TYPE, default=None, return_dtype=pl.String)
    )
    diameter = nodules["diameter_mm"].drop_nulls().to_numpy()
    readers = nodules["agreement"]
    is_partly_seen = readers < (readers.max() or 0)
    subtlety = np.empty(0)
    if "subtlety" in nodules.columns:
        subtlety = nodules["subtlety"].cast(pl.Float64, strict=False).drop_nulls().to_numpy()
    return {
        "nodules_per_case": nodules.height / reference.cases.height
        if reference.cases.height
        else None,
        "median_diameter_mm": float(np.median(diameter)) if len(diameter) else None,
        "small_share": _share(nodules["diameter_mm"] < SMALL_MM),
        "subsolid_share": _share(density.is_in(SUBSOLID)),
        "not_seen_by_all_share": _share(is_partly_seen),
        **{
            f"{name}_share": _share(nodules[f"is_{name}"]) if f"is_{name}" in nodules else None
            for name in ("near_vessel", "near_cavity")
        },
        "subtlety": float(subtlety.mean()) if len(subtlety) else None,
    }


def _share(holds: pl.Series) -> float | None:
    stated = holds.drop_nulls()
    return int(stated.sum()) / len(stated) if len(stated) else None
