"""Sizes + size error -> a table of what each tolerance costs (the model of Fotin 2008)."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import polars as pl

from nodulebench.errors import UndefinedError
from nodulebench.formats import read_reference
from nodulebench.model.schema import Column, TableSchema
from nodulebench.statistics.size_model import (
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
from nodulebench.storage.table_file import read_table


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
    """The table, and the assumptions behind it in words."""

    assumptions: tuple[str, ...]
    rows: tuple[ToleranceRow, ...]


@dataclass(frozen=True, slots=True)
class ErrorModel:
    """How reported sizes differ from true ones, and in words."""

    error: SizeError
    words: str


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
    return ErrorModel(
        normal_error(sd_mm, mean_mm),
        f"Reported size = true size + normal error, mean {mean_mm:g}, SD {sd_mm:g} mm.",
    )


def observed_errors(path: Path, edges_mm: tuple[float, ...] = ()) -> ErrorModel:
    """Errors as a table shows them: true_mm, reported_mm.

    Args:
        path: the table.
        edges_mm: sizes that part nodules whose errors differ; none: errors are alike at every size.
    """
    table = read_table(path, OBSERVED)
    size = table["true_mm"].to_numpy()
    error = table["reported_mm"].to_numpy() - size
    words = f"Errors of size are those of {len(error)} nodules of {path}"
    if not edges_mm:
        return ErrorModel(empirical_error(error), f"{words}, alike at every size.")
    cuts = sorted(edges_mm)
    shown = ", ".join(f"{edge:g}" for edge in cuts)
    return ErrorModel(binned_error(size, error, cuts), f"{words}, apart at {shown} mm.")


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
        source = (
            f"Sizes of at least {minimum_mm:g} mm are exponential, {mean_excess_mm:g} mm above it "
            "on average."
        )
    else:
        nodules = read_reference(reference).nodules
        targets = nodules.filter(~nodules["is_ignored"])["diameter_mm"]
        sizes = targets.filter(targets > 0).to_numpy()
        source = f"Sizes are those of {len(sizes)} nodules of {reference}."
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
            model.words,
            f"Sensitivity to nodules of any reported size: {sensitivity:g}.",
        ),
        rows=tuple(rows),
    )
