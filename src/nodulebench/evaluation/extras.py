"""What belongs to a rule's result beside figures: curves, confusion, order and size sweeps."""

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, TypeVar

import polars as pl

from nodulebench.core.cohort import LabelledCohort, labelled_cohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.labels import Labels
from nodulebench.core.protocol import RuleChoice, TestProtocol
from nodulebench.core.results import Curve
from nodulebench.metrics import CURVES, TABLES, belongs_to
from nodulebench.metrics.froc import froc_curve

Result = TypeVar("Result")

TABLE_NAMES = {
    "density_accuracy": "density_confusion",
    "expected_calibration_error": "reliability",
    "malignancy_auc": "malignancy_cuts",
    "category_kappa_linear": "category_cuts",
    "category_kappa_quadratic": "category_cuts",
}
"""The name in evaluation.json of the table that belongs to a figure; else the figure's."""


def figure_curves(cohort: LabelledCohort, protocol: TestProtocol) -> list[Curve]:
    """The curves behind the protocol's areas, where they are defined."""
    makers = (belongs_to(figure, CURVES) for figure in protocol.figures)
    found = (_unless_undefined(make, cohort) for make in makers if make is not None)
    return [curve for curve in found if curve is not None]


def figure_tables(cohort: LabelledCohort, protocol: TestProtocol) -> dict[str, Any]:
    """The tables that belong to the protocol's figures, where they are defined."""
    found = {
        TABLE_NAMES.get(figure, figure): _unless_undefined(make, cohort)
        for figure in protocol.figures
        if (make := belongs_to(figure, TABLES)) is not None
    }
    return {name: as_rows(table) for name, table in found.items() if table is not None}


def matching_order(labels: Labels) -> dict[str, Any]:
    """Hits in the reference's order, in reverse, and by optimal assignment, where it matters."""
    return {} if labels.order is None else {"order_sensitivity": asdict(labels.order)}


def size_sweep(
    cohort: LabelledCohort, protocol: TestProtocol, choice: RuleChoice
) -> tuple[dict[str, Any], list[Curve]]:
    """Counts and rates for each tolerance of the protocol's sweep, and a FROC for each.

    Counts are those of the marks that count at the operating point, curves have every mark.
    """
    if protocol.size_limit is None or not protocol.size_limit.sweep_mm:
        return {}, []
    from nodulebench.matching import targets
    from nodulebench.matching.sweep import sweep_size_tolerance

    reference, submission = cohort.reference, cohort.submission
    every = sweep_size_tolerance(reference, submission, protocol, choice)
    sweep = every
    if cohort.threshold is not None:
        counted = protocol.model_copy(update={"score_threshold": cohort.threshold})
        sweep = sweep_size_tolerance(reference, submission, counted, choice)
    table = sweep.table.with_columns(
        sensitivity=pl.col("hit") / (pl.col("hit") + pl.col("missed")),
        fp_per_case=pl.col("false_positive") / cohort.case_count,
    )
    is_target = targets(reference, submission, protocol)
    curves = []
    for tolerance, labels in zip(table["tolerance_mm"], every.labels, strict=True):
        limited = labelled_cohort(reference, submission, labels, is_target)
        curve = _unless_undefined(froc_curve, limited)
        if curve is not None:
            curves.append(replace(curve, name=f"froc_tolerance_{tolerance:g}"))
    return {
        "size_tolerance": {
            "minimum_mm": protocol.size_limit.minimum_mm,
            "sweep": as_rows(table),
            "hits_settle_mm": sweep.hits_settle_mm,
            "false_positives_settle_mm": sweep.false_positives_settle_mm,
        }
    }, curves


def as_rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """A table as it stands in evaluation.json; JSON has no infinity, so it is the word."""
    return [
        {name: _json_value(value) for name, value in row.items()}
        for row in table.iter_rows(named=True)
    ]


def _json_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf"
    return value


def _unless_undefined(
    make: Callable[[LabelledCohort], Result], cohort: LabelledCohort
) -> Result | None:
    try:
        return make(cohort)
    except UndefinedError:
        return None  # the figure itself says why
