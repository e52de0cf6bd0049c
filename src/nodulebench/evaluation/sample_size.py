"""How large a test must be: one calculator for each question."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import polars as pl

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.config_model import checked
from nodulebench.core.errors import InputError, UndefinedError, UnknownNameError
from nodulebench.core.notices import Notice
from nodulebench.core.schema import Column, TableSchema
from nodulebench.evaluation.comparison.compare import better_of
from nodulebench.evaluation.estimates import bind_parameters, units_of
from nodulebench.evaluation.recompute import load_unchanged
from nodulebench.io.formats import read_reference
from nodulebench.io.json_files import read_json
from nodulebench.io.table_files import read_table
from nodulebench.metrics import METRICS, info_of
from nodulebench.statistics.mrmc import Components
from nodulebench.statistics.sample_size.auc import size_for_auc, size_for_auc_difference
from nodulebench.statistics.sample_size.comparisons import (
    PilotOptions,
    size_for_paired_detection,
    size_from_pilot,
)
from nodulebench.statistics.sample_size.false_positives import (
    size_for_false_positive_limit,
    size_for_false_positives,
)
from nodulebench.statistics.sample_size.proportions import size_for_acceptance, size_for_sensitivity
from nodulebench.statistics.sample_size.readers import size_for_reader_study
from nodulebench.statistics.sample_size.result import Plan
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

__all__ = [
    "Components",
    "Plan",
    "nodules_of_patients",
    "pilot_study",
    "size_for_acceptance",
    "size_for_auc",
    "size_for_auc_difference",
    "size_for_false_positive_limit",
    "size_for_false_positives",
    "size_for_paired_detection",
    "size_for_reader_study",
    "size_for_sensitivity",
]


def nodules_of_patients(path: Path) -> dict[str, float]:
    reference = read_reference(path)
    is_target = ~reference.nodules["is_ignored"].to_numpy()
    patients = reference.unit_of_case[reference.nodule_case[is_target]]
    counts = np.unique(patients, return_counts=True)[1]
    if not counts.size:
        raise InputError.at(str(path), "has no nodule to find.", "Give another pilot.")
    return {"nodules_per_patient": float(counts.mean()), "nodules_sd": float(counts.std())}


def pilot_study(path: Path) -> tuple[Components, int]:
    """Components and number of cases of a study that ``annotate observer analyse --out`` wrote."""
    content = read_json(path)
    fields = content if isinstance(content, dict) else {}
    if "components" not in fields or "cases" not in fields:
        remedy = "Give the file that 'annotate observer analyse --out' wrote for two treatments."
        raise InputError.at(path, "has no variance components of a reader study.", remedy)
    return checked(Components, fields["components"], str(path)), checked(
        int, fields["cases"], str(path)
    )


GROWTH = (0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8)


@dataclass(frozen=True, kw_only=True, slots=True)
class PilotPlanOptions:
    """The pilot from which a test is planned, and the question of the test."""

    folder: Path
    """The folder that ``evaluate --out`` wrote for the pilot set."""
    algorithm: str
    baseline: str
    metric: str = "cpm"
    """A metric that is better when higher."""
    rule: str | None = None
    """A rule of the protocol; None: the first."""
    margin: float = 0.0
    """0 for superiority, positive for non-inferiority."""
    difference: float | None = None
    """Plan for this difference instead of the pilot's."""
    sizes: tuple[int, ...] = ()
    """Numbers of patients (or cases, if the protocol resamples these) to try; empty: from half
    the pilot's number to eight times it."""
    simulations: int = 1000
    """Simulated test sets for each size."""
    power: float = 0.8


def plan_from_pilot(options: PilotPlanOptions) -> Plan:
    """Simulate test sets of several sizes from the pilot's patients: how often do tests pass?"""
    evaluated = load_unchanged(options.folder)
    protocol = evaluated.protocol
    rule = options.rule or protocol.rules[0].name
    if rule not in evaluated.cohorts:
        raise UnknownNameError(f"there is no rule '{rule}'. Known: {', '.join(evaluated.cohorts)}.")
    cohorts = evaluated.cohorts[rule]
    first, second = (_algorithm(cohorts, name) for name in (options.algorithm, options.baseline))
    _require_single_merit(options.metric)
    units = units_of(first, protocol.interval)
    sizes = tuple(sorted(set(options.sizes))) or _sizes(int(units.max(initial=0)) + 1)
    return size_from_pilot(
        bind_parameters(METRICS[options.metric], protocol),
        first,
        second,
        unit_of_case=units,
        options=PilotOptions(
            sizes=sizes,
            simulations=options.simulations,
            seed=protocol.seed,
            margin=options.margin,
            assumed_difference=options.difference,
            level=protocol.interval.level,
            power=options.power,
            unit=f"{protocol.interval.unit}s",
        ),
    )


def _algorithm(cohorts: dict[str, LabelledCohort], name: str) -> LabelledCohort:
    if name not in cohorts:
        raise UnknownNameError(f"there is no algorithm '{name}'. Known: {', '.join(cohorts)}.")
    return cohorts[name]


def _require_single_merit(name: str) -> None:
    _ = METRICS[name]  # an unknown name suggests near ones
    if better_of(name) != "higher" or info_of(name).columns:
        what = "is not one number that is better when higher."
        remedy = "Plan with such a metric: cpm, recall, an area."
        raise InputError.at(f"metric '{name}'", what, remedy)


def _sizes(pilot: int) -> tuple[int, ...]:
    return tuple(sorted({max(2, round(share * pilot)) for share in GROWTH}))


@dataclass(frozen=True, slots=True)
class ToleranceRow:
    """The results for one tolerance."""

    tolerance_mm: float
    lost: float
    """Share of the nodules of at least the smallest size that are reported too small."""
    sensitivity: float
    overestimated: float | None
    """Share of smaller nodules that are shown; None if no smaller nodules are known."""


@dataclass(frozen=True, slots=True)
class SizeErrorPlan:
    """The table and its assumptions."""

    assumptions: tuple[Notice, ...]
    rows: tuple[ToleranceRow, ...]


@dataclass(frozen=True, slots=True)
class ErrorModel:
    """How reported sizes differ from true ones, with a description for people."""

    error: SizeError
    description: Notice


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
    description = Notice("size_error_normal", {"mean_mm": mean_mm, "sd_mm": sd_mm})
    return ErrorModel(normal_error(sd_mm, mean_mm), description)


def observed_errors(path: Path, edges_mm: tuple[float, ...] = ()) -> ErrorModel:
    """Errors from a table of observed sizes: true_mm, reported_mm.

    Nodules of the sizes between two edges have different errors from the others.
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
            model.description,
            Notice("any_reported_size", {"sensitivity": sensitivity}),
        ),
        rows=tuple(rows),
    )
