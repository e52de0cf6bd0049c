"""NODULES x PRIORS -> the change of each nodule since earlier scans: new, growing, stable.

Growth is an increase of the mean diameter by more than 1.5 mm within twelve months (Lung-RADS 2022,
American College of Radiology); the same increase over a longer time is slow growth.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from nodulebench.core.errors import Problems, raise_problems
from nodulebench.core.schema import Column, TableSchema, optional
from nodulebench.core.tables import DENSITIES, DENSITY_OF_TYPE, IN_CASE, NODULES, Reference
from nodulebench.io.bundle import write_reference
from nodulebench.io.formats import read_reference
from nodulebench.io.table_files import read_table
from nodulebench.metrics.classes import NO_CLASS
from nodulebench.metrics.guidelines import LUNG_RADS, follow_up_class, mean_diameter_mm

GROWTH_MM = 1.5
YEAR_DAYS = 365
CHANGES = ("new", "growing", "slowly_growing", "stable")
_SIZES = ("long_mm", "short_mm", "diameter_mm")
PRIORS = TableSchema(
    "PRIORS",
    "One row per nodule and earlier scan of its patient: what it was then.",
    (
        IN_CASE,
        Column("nodule_id", pl.String, "the nodule"),
        Column("date", pl.Date, "day of the scan, YYYY-MM-DD"),
        Column("prior_date", pl.Date, "day of the earlier scan"),
        optional("prior_case_id", pl.String, "the earlier scan, where the test set has it"),
        optional("prior_nodule_id", pl.String, "the nodule there; empty: see the sizes"),
        *(
            optional(f"prior_{name}", pl.Float64, "size then; all empty: it was not present", "mm")
            for name in _SIZES
        ),
    ),
    key=("case_id", "nodule_id", "prior_date"),
)


Sizes = Mapping[tuple[object, ...], float | None]
"""Case and nodule -> mean diameter; None: not measured."""


class Change(NamedTuple):
    """How a nodule changed."""

    change: str | None
    """One of ``CHANGES``; None where sizes were not measured."""
    growth_mm: float | None
    """Of the mean diameter, since the latest scan that shows the nodule."""
    prior_days: int
    """Since the latest earlier scan."""


def changes(reference: Reference, priors: pl.DataFrame) -> pl.DataFrame:
    """How the nodules changed for which PRIORS has earlier scans.

    Raises:
        InputError: for rows about nodules that the reference does not have, and for days that are
            not before the scan.
    """
    keys = ("case_id", "nodule_id")
    rows_of = reference.nodules.select(*keys, *_SIZES).iter_rows()
    sizes: dict[tuple[object, ...], float | None] = {row[:2]: mean_mm(*row[2:]) for row in rows_of}
    _require_valid(priors, sizes)
    rows = []
    for key, part in priors.sort("prior_date").group_by(keys, maintain_order=True):
        then = []
        for row in part.iter_rows(named=True):
            size = mean_mm(*(row[f"prior_{name}"] for name in _SIZES))
            if size is None and row["prior_nodule_id"] is not None:  # from the test set
                size = sizes[row["prior_case_id"], row["prior_nodule_id"]]
            then.append((row["date"], row["prior_date"], size))
        rows.append((*key, *change_of(sizes[key], then)))
    kinds = {
        **dict.fromkeys((*keys, "change"), pl.String),
        "growth_mm": pl.Float64,
        "prior_days": pl.Int64,
    }
    return pl.DataFrame(rows, schema=kinds, orient="row")


def change_of(now_mm: float | None, then: list[tuple[date, date, float | None]]) -> Change:
    """How a nodule changed; ``then``: day of the scan, of an earlier one, the mean diameter there.

    The earliest scan comes first. A size now of None was not measured, one then: not present.
    """
    days = (then[-1][0] - then[-1][1]).days
    seen = [((at - before).days, size) for at, before, size in then if size is not None]
    if not seen:
        return Change("new", None, days)
    if now_mm is None:
        return Change(None, None, days)
    growths = [(apart, now_mm - size) for apart, size in seen]
    # growth within twelve months: all growth of a shorter time, a share of a longer one
    if any(growth * min(1.0, YEAR_DAYS / apart) > GROWTH_MM for apart, growth in growths):
        kind = "growing"
    else:
        kind = "slowly_growing" if growths[0][1] > GROWTH_MM else "stable"
    return Change(kind, growths[-1][1], days)


def mean_mm(
    long_mm: float | None, short_mm: float | None, diameter_mm: float | None
) -> float | None:
    if long_mm is not None and short_mm is not None:
        return (long_mm + short_mm) / 2
    return diameter_mm


def _require_valid(priors: pl.DataFrame, sizes: Sizes) -> None:
    problems = Problems()
    for row in priors.iter_rows(named=True):
        where = f"PRIORS case '{row['case_id']}' nodule '{row['nodule_id']}'"
        earlier = (row["prior_case_id"], row["prior_nodule_id"])
        has_size = any(row[f"prior_{name}"] is not None for name in _SIZES)
        if (row["case_id"], row["nodule_id"]) not in sizes:
            problems.add(where, "is not in the reference.", "Remove the row, or correct its names.")
        elif row["prior_date"] >= row["date"]:
            problems.add(where, f"{row['prior_date']} is not before {row['date']}.")
        elif row["prior_nodule_id"] is not None and not has_size and sizes.get(earlier) is None:
            problems.add(
                where,
                f"the size of '{row['prior_nodule_id']}' in '{row['prior_case_id']}' is not known.",
                "Give prior_diameter_mm, or both axes.",
            )
    raise_problems(problems)


_ADDED = ("change", "growth_mm", "prior_days")


def classify_changes(source: Path, priors: Path, out: Path, cases: Path | None = None) -> Reference:
    """Read a reference and its priors, classify the changes and write a bundle."""
    classified = with_priors(read_reference(source, cases=cases), read_table(priors, PRIORS))
    write_reference(classified, out)
    return classified


def with_priors(reference: Reference, priors: pl.DataFrame) -> Reference:
    """The reference with the changes of its nodules.

    NODULES get ``change``, ``growth_mm`` and ``prior_days``, and the Lung-RADS 2022 ``category``
    where none is given. Nodules that PRIORS does not name stay unchanged.
    """
    known = reference.nodules.drop(*_ADDED, strict=False)
    joined = known.join(
        changes(reference, priors), on=["case_id", "nodule_id"], how="left", maintain_order="left"
    )
    categories = pl.Series("category", _categories(joined), dtype=pl.String)
    nodules = joined.with_columns(category=pl.coalesce("category", categories))
    return replace(reference, nodules=NODULES.arrange(nodules))


def _categories(nodules: pl.DataFrame) -> list[str | None]:
    density = nodules["density"].fill_null(
        nodules["type"].replace_strict(DENSITY_OF_TYPE, default=None, return_dtype=pl.String)
    )
    number = {name: at for at, name in enumerate(DENSITIES)}
    long_mm, short_mm = (
        np.floor(nodules[name].to_numpy().astype(np.float64) * 10 + 0.5 + 1e-9) / 10
        for name in ("long_mm", "short_mm")
    )
    diameter = nodules["diameter_mm"].to_numpy().astype(np.float64)
    has_part = "solid_part_mm" in nodules.columns
    classes = follow_up_class(
        mean_diameter_mm(long_mm, short_mm, diameter),
        density.replace_strict(number, default=NO_CLASS, return_dtype=pl.Int64).to_numpy(),
        nodules["solid_part_mm"].to_numpy().astype(np.float64)
        if has_part
        else np.full(nodules.height, np.nan),
        nodules["change"].to_list(),
        nodules["prior_days"].fill_null(0).to_numpy(),
    )
    return [None if number == NO_CLASS else LUNG_RADS[number] for number in classes.tolist()]
