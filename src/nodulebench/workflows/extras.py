"""What belongs to a rule's result beside figures: curves, confusion, order and size sweeps."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import polars as pl

from nodulebench.errors import UndefinedError
from nodulebench.match import targets
from nodulebench.match.sweep import order_sensitivity, sweep_size_tolerance
from nodulebench.metrics.afroc import afroc_curve, case_roc_curve, wafroc_curve
from nodulebench.metrics.calibration import reliability_table
from nodulebench.metrics.characterisation import confusion_table
from nodulebench.metrics.classes import density_pairs
from nodulebench.metrics.froc import froc_curve
from nodulebench.metrics.graded import malignancy_cuts
from nodulebench.metrics.lroc import lroc_curve
from nodulebench.metrics.roc import malignancy_roc_curve
from nodulebench.model.cohort import LabelledCohort, labelled_cohort
from nodulebench.model.protocol import RuleChoice, TestProtocol
from nodulebench.model.results import Curve

Result = TypeVar("Result")

CURVE_OF_FIGURE: dict[str, Callable[[LabelledCohort], Curve]] = {
    "afroc_area": afroc_curve,
    "wafroc_area": wafroc_curve,
    "case_roc_area": case_roc_curve,
    "lroc_area": lroc_curve,
    "malignancy_auc": malignancy_roc_curve,
}
"""The curve that stands behind an area."""

TABLE_OF_FIGURE: dict[str, tuple[str, Callable[[LabelledCohort], pl.DataFrame]]] = {
    "density_accuracy": (
        "density_confusion",
        lambda cohort: confusion_table(cohort, density_pairs(cohort)),
    ),
    "expected_calibration_error": ("reliability", reliability_table),
    "malignancy_auc": ("malignancy_cuts", malignancy_cuts),
}
"""The table that belongs to a figure, under its name in evaluation.json."""


def figure_curves(cohort: LabelledCohort, protocol: TestProtocol) -> list[Curve]:
    """The curves behind the protocol's areas, where they are defined."""
    found = (
        _unless_undefined(draw, cohort)
        for figure, draw in CURVE_OF_FIGURE.items()
        if figure in protocol.figures
    )
    return [curve for curve in found if curve is not None]


def figure_tables(cohort: LabelledCohort, protocol: TestProtocol) -> dict[str, Any]:
    """The tables that belong to the protocol's figures, where they are defined."""
    found = {
        name: _unless_undefined(build, cohort)
        for figure, (name, build) in TABLE_OF_FIGURE.items()
        if figure in protocol.figures
    }
    return {name: as_rows(table) for name, table in found.items() if table is not None}


def matching_order(
    cohort: LabelledCohort, protocol: TestProtocol, choice: RuleChoice
) -> dict[str, Any]:
    """Hits in the reference's order, in reverse, and by optimal assignment, where it matters."""
    try:
        order = order_sensitivity(cohort.reference, cohort.submission, protocol, choice)
    except UndefinedError:
        return {}
    return {
        "order_sensitivity": {
            "in_order": order.in_order,
            "reversed_order": order.reversed_order,
            "optimal": order.optimal,
        }
    }


def size_sweep(
    cohort: LabelledCohort, protocol: TestProtocol, choice: RuleChoice
) -> tuple[dict[str, Any], list[Curve]]:
    """Counts and rates for each tolerance of the protocol's sweep, and a FROC for each."""
    if protocol.size_limit is None or not protocol.size_limit.sweep_mm:
        return {}, []
    reference, submission = cohort.reference, cohort.submission
    sweep = sweep_size_tolerance(reference, submission, protocol, choice)
    table = sweep.table.with_columns(
        sensitivity=pl.col("hit") / (pl.col("hit") + pl.col("missed")),
        fp_per_case=pl.col("false_positive") / cohort.case_count,
    )
    is_target = targets(reference, submission, protocol)
    curves = []
    for tolerance, labels in zip(table["tolerance_mm"], sweep.labels, strict=True):
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
