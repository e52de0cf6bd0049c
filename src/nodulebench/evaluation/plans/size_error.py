"""Sizes + size error -> a table of what each tolerance costs (the model of Fotin 2008)."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import polars as pl

from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.core.schema import Column, TableSchema
from nodulebench.io.formats import read_reference
from nodulebench.io.table_files import read_table
from nodulebench.statistics.size_error_model import (
    Distribution,
    SizeError,
    Sizes,
    binned_error,
    empirical_error,
    limited_sensitivity,
    lost_fraction,
    normal_error,
    overestimated_share,
)


@dataclass(frozen=True, slots=True)
class ToleranceRow:
    """What one tolerance gives."""

    tolerance_mm: float
    lost: float
    """Share of the nodules of at least the smallest size that are reported too small."""
    sensitivity: float
    overestimated: float | None
    """Share of smaller nodules that are shown; None where none are known."""


@dataclass(frozen=True, slots=True)
class SizeErrorPlan:
    """The table, and the assumptions behind it."""

    assumptions: tuple[Notice, ...]
    rows: tuple[ToleranceRow, ...]


@dataclass(frozen=True, slots=True)
class ErrorModel:
    """How reported sizes differ from true ones, and how that is told."""

    error: SizeError
    told: Notice


OBSERVED = TableSchema(
    "SIZES",
    "One row per nodule: its true and its reported size.",
    (
        Column("true_mm", pl.Float64, "true size", "mm", minimum=0),
        Column("reported_mm", pl.Float64, "reported size", "mm", minimum=0),
    ),
    key=(),
)


def normal_errors(mean_mm: float, sd_mm: float) -> ErrorModel:
    """Errors of a normal distribution, the same at every size."""
    told = Notice("size_error_normal", {"mean_mm": mean_mm, "sd_mm": sd_mm})
    return ErrorModel(normal_error(sd_mm, mean_mm), told)


def observed_errors(path: Path, edges_mm: tuple[float, ...] = ()) -> ErrorModel:
    """Errors as a table shows them: true_mm, reported_mm.

    Args:
        path: the table.
        edges_mm: sizes that part nodules whose errors differ; none: errors are alike at every size.
    """
    table = read_table(path, OBSERVED)
    size = table["true_mm"].to_numpy()
    error = table["reported_mm"].to_numpy() - size
    cuts = sorted(edges_mm)
    edges = [f"{edge:g}" for edge in cuts] or None
    values = {"count": len(error), "file": str(path), "edges_mm": edges}
    model = binned_error(size, error, cuts) if cuts else empirical_error(error)
    return ErrorModel(model, Notice("size_error_observed", values))


def plan_size_error(
    model: ErrorModel,
    *,
    minimum_mm: float,
    tolerances_mm: tuple[float, ...],
    sensitivity: float = 1.0,
    mean_excess_mm: float = 2.0,
    reference: Path | None = None,
) -> SizeErrorPlan:
    """Evaluate the model for each tolerance, with measured or exponential nodule sizes."""
    sizes: Sizes
    if reference is None:
        from scipy.stats import expon

        sizes = cast("Distribution", expon(loc=minimum_mm, scale=mean_excess_mm))
        values = {"minimum_mm": minimum_mm, "excess_mm": mean_excess_mm}
        source = Notice("sizes_exponential", values)
    else:
        nodules = read_reference(reference).nodules
        targets = nodules.filter(~nodules["is_ignored"])["diameter_mm"]
        sizes = targets.filter(targets > 0).to_numpy()
        source = Notice("sizes_observed", {"count": len(sizes), "file": str(reference)})
    error = model.error

    def too_small(tolerance_mm: float) -> float | None:
        try:
            return overestimated_share(
                sizes, error, minimum_mm=minimum_mm, tolerance_mm=tolerance_mm
            )
        except UndefinedError:
            return None

    rows = []
    for tolerance in tolerances_mm:
        lost = lost_fraction(sizes, error, minimum_mm=minimum_mm, tolerance_mm=tolerance)
        rows.append(
            ToleranceRow(
                tolerance, lost, limited_sensitivity(sensitivity, lost), too_small(tolerance)
            )
        )
    return SizeErrorPlan(
        assumptions=(
            source,
            model.told,
            Notice("any_reported_size", {"sensitivity": sensitivity}),
        ),
        rows=tuple(rows),
    )
