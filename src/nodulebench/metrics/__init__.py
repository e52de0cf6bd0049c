"""Labelled cohort -> Curve or figure of merit. ``FIGURES`` lists every figure by its name."""

from collections.abc import Callable

import polars as pl

from nodulebench.metrics.facts import FACTS, FigureFacts
from nodulebench.metrics.figure import Ratio
from nodulebench.model.arrays import FloatArray
from nodulebench.model.cohort import LabelledCohort
from nodulebench.model.results import Curve
from nodulebench.registry import Registry, Thing

__all__ = [
    "CURVES",
    "FACTS",
    "FIGURES",
    "TABLES",
    "Figure",
    "FigureFacts",
    "belongs_to",
    "facts_of",
    "meaning_of",
    "name_of",
]

Figure = Callable[..., FloatArray]
"""``figure(cohort, case_weight, **settings)``: one value, or row of values, per replicate."""

FIGURES_OF_MODULE = {
    "operating_point": (
        "recall",
        "miss_rate",
        "precision",
        "f_beta",
        "fp_per_case",
        "fp_per_normal_case",
        "marks_per_case",
        "case_sensitivity",
        "case_specificity",
    ),
    "froc": (
        "sensitivity_at_fp_rate",
        "cpm",
        "cpm_exact",
    ),
    "precision_recall": ("average_precision",),
    "afroc": (
        "afroc_area",
        "wafroc_area",
        "afroc1_area",
        "wafroc1_area",
        "efroc_area",
        "case_roc_area",
    ),
    "lroc": (
        "lroc_area",
        "pcl_at_fpf",
    ),
    "roc": (
        "malignancy_auc",
        "malignancy_accuracy",
        "malignancy_sensitivity",
        "malignancy_specificity",
        "malignancy_precision",
        "malignancy_f_beta",
    ),
    "calibration": (
        "brier_score",
        "expected_calibration_error",
    ),
    "characterisation": (
        "size_error_rate",
        "diameter_error_mm",
        "absolute_diameter_error_mm",
        "density_accuracy",
        "density_accuracy_of_found",
    ),
    "agreement": (
        "density_kappa",
        "type_kappa",
        "category_agreement",
        "category_kappa",
        "category_kappa_linear",
        "category_kappa_quadratic",
    ),
    "segmentation": (
        "mean_dice",
        "mean_iou",
        "pooled_dice",
        "pooled_iou",
    ),
    "time_per_case": (
        "median_seconds_per_case",
        "mean_seconds_per_case",
        "max_seconds_per_case",
        "failed_run_rate",
    ),
}
"""The figures by the file that holds them."""

FIGURES: Registry[Figure] = Registry(
    "figure of merit",
    "figures",
    {
        figure: f"{__name__}.{module}"
        for module, figures in FIGURES_OF_MODULE.items()
        for figure in figures
    },
)

CURVES: Registry[Callable[[LabelledCohort], Curve]] = Registry(
    "curve",
    "curves",
    {
        "afroc_area": f"{__name__}.afroc:afroc_curve",
        "wafroc_area": f"{__name__}.afroc:wafroc_curve",
        "case_roc_area": f"{__name__}.afroc:case_roc_curve",
        "lroc_area": f"{__name__}.lroc:lroc_curve",
        "malignancy_auc": f"{__name__}.roc:malignancy_roc_curve",
        "average_precision": f"{__name__}.precision_recall:precision_recall_curve",
    },
)
"""The curve behind an area, by the figure's name."""

TABLES: Registry[Callable[[LabelledCohort], pl.DataFrame]] = Registry(
    "table",
    "tables",
    {
        "density_accuracy": f"{__name__}.characterisation:density_confusion",
        "expected_calibration_error": f"{__name__}.calibration:reliability_table",
        "malignancy_auc": f"{__name__}.graded:malignancy_cuts",
        "category_kappa_linear": f"{__name__}.graded:category_cuts",
        "category_kappa_quadratic": f"{__name__}.graded:category_cuts",
    },
)
"""The table that belongs to a figure, by the figure's name."""


def name_of(figure: Figure) -> str:
    """The name under which a figure is registered."""
    return figure.name if isinstance(figure, Ratio) else figure.__name__


def meaning_of(figure: Figure) -> str:
    """What a figure means, in one line."""
    if isinstance(figure, Ratio):
        return figure.meaning
    return (figure.__doc__ or "").strip().partition("\n")[0].rstrip(".")


def facts_of(name: str) -> FigureFacts:
    """What is known of a figure; one of another package has it as its attribute ``facts``."""
    if name in FACTS:
        return FACTS[name]
    found: FigureFacts | None = getattr(FIGURES[name], "facts", None)
    return found or FigureFacts(is_higher_better=True)


def belongs_to(figure: str, registry: Registry[Thing]) -> Thing | None:
    """What a registry has for a figure: its curve, its table, its own way of being estimated.

    Other packages are asked only for figures of other packages.
    """
    is_asked = registry.is_built_in(figure) or not FIGURES.is_built_in(figure)
    return registry[figure] if is_asked and figure in registry else None
