"""Sizes + size error -> a table of what each tolerance costs (the model of Fotin 2008)."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from nodulebench.errors import UndefinedError
from nodulebench.formats import read_reference
from nodulebench.statistics.size_model import (
    Distribution,
    Sizes,
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
    """The table, and the assumptions behind it in words."""

    assumptions: tuple[str, ...]
    rows: tuple[ToleranceRow, ...]


def plan_size_error(
    *,
    minimum_mm: float,
    error_mean_mm: float,
    error_sd_mm: float,
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
    error = normal_error(error_sd_mm, error_mean_mm)

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
            f"Reported size = true size + normal error, mean {error_mean_mm:g}, "
            f"SD {error_sd_mm:g} mm.",
            f"Sensitivity to nodules of any reported size: {sensitivity:g}.",
        ),
        rows=tuple(rows),
    )
