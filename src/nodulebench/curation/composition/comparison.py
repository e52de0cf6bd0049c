"""Two test sets -> how far what they consist of differs, and which of them is harder."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.core.tables import DENSITY_OF_TYPE, Reference
from nodulebench.curation.composition.counts import Shares, compose, counted_nodules

SMALL_MM = 6.0
"""Nodules below are small."""
DIFFICULTIES = (
    *("nodules_per_case", "median_diameter_mm", "small_share", "subsolid_share"),
    *("not_seen_by_all_share", "near_vessel_share", "near_cavity_share", "subtlety"),
)
"""What makes the nodules of a set hard to find."""
SUBSOLID = ("part_solid", "ground_glass")


@dataclass(frozen=True, slots=True)
class ShareDifference:
    """A column whose values both sets state: the share of each value in both."""

    column: str
    table: str
    shares: dict[str, tuple[float, float]]
    distance: float
    """Half the sum of all differences: 0 where the sets are alike, 1 where they share nothing."""


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Something that makes nodules hard to find, in both sets; None: not known."""

    name: str
    first: float | None
    second: float | None


@dataclass(frozen=True, slots=True)
class SetComparison:
    """What two test sets consist of, beside each other."""

    totals: dict[str, tuple[int, int]]
    differences: tuple[ShareDifference, ...]
    """The most different column first."""
    one_sided: tuple[str, ...]
    """Columns that only one of the sets states."""
    difficulty: tuple[Difficulty, ...]


def compare_sets(first: Reference, second: Reference) -> SetComparison:
    """How the composition of two test sets differs; what is not stated is a value of its own."""
    one, other = compose(first), compose(second)
    shares = [{(part.table, part.column): part for part in made.shares} for made in (one, other)]
    both = [key for key in shares[0] if key in shares[1]]
    found = [_difference(shares[0][key], shares[1][key]) for key in both]
    alone = [key[1] for key in {**shares[0], **shares[1]} if key not in both]
    easy, hard = (_difficulty(reference) for reference in (first, second))
    return SetComparison(
        totals={
            name: (one.totals.get(name, 0), other.totals.get(name, 0))
            for name in {**one.totals, **other.totals}
        },
        differences=tuple(sorted(found, key=lambda part: -part.distance)),
        one_sided=tuple(alone),
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
    distance = sum(abs(one - other) for one, other in shares.values()) / 2
    return ShareDifference(first.column, first.table, shares, distance)


def _difficulty(reference: Reference) -> dict[str, float | None]:
    """What makes a set hard, as numbers; shares are among the nodules that state it."""
    nodules = counted_nodules(reference)
    density = nodules["density"].fill_null(
        nodules["type"].replace_strict(DENSITY_OF_TYPE, default=None, return_dtype=pl.String)
    )
    diameter = nodules["diameter_mm"].drop_nulls().to_numpy()
    readers = nodules["agreement"]
    is_partly_seen = readers < (readers.max() or 0)
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
        "subtlety": _mean(nodules, "subtlety"),
    }


def _share(holds: pl.Series) -> float | None:
    """The share of rows for which something holds, among those that say."""
    stated = holds.drop_nulls()
    return int(stated.sum()) / len(stated) if len(stated) else None


def _mean(table: pl.DataFrame, column: str) -> float | None:
    if column not in table.columns:
        return None
    values = table[column].cast(pl.Float64, strict=False).drop_nulls().to_numpy()
    return float(values.mean()) if len(values) else None
