"""Labelled cohorts -> metrics and curves; ``METRICS`` lists every metric by its name."""

from collections.abc import Callable

import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.registry import Item, Registry
from nodulebench.core.results import Curve
from nodulebench.metrics.metric import METRIC_INFO, Guard, MetricInfo, Ratio, first_line
from nodulebench.metrics.ratings import Ratings

__all__ = [
    "CURVES",
    "METRICS",
    "METRIC_INFO",
    "RATINGS",
    "TABLES",
    "Metric",
    "MetricInfo",
    "belongs_to",
    "guard_of",
    "info_of",
    "meaning_of",
    "name_of",
]


Metric = Callable[..., FloatArray]
"""``metric(cohort, case_weight, **settings)``: one value, or row of values, per replicate."""

METRICS: Registry[Metric] = Registry(
    "metric",
    "metrics",
    {
        "recall": "nodulebench.metrics.operating_point",
        "miss_rate": "nodulebench.metrics.operating_point",
        "precision": "nodulebench.metrics.operating_point",
        "f_beta": "nodulebench.metrics.operating_point",
        "fp_per_case": "nodulebench.metrics.operating_point",
        "fp_per_normal_case": "nodulebench.metrics.operating_point",
        "marks_per_case": "nodulebench.metrics.operating_point",
        "case_sensitivity": "nodulebench.metrics.operating_point",
        "case_specificity": "nodulebench.metrics.operating_point",
        "sensitivity_at_fp_rate": "nodulebench.metrics.froc",
        "cpm": "nodulebench.metrics.froc",
        "cpm_exact": "nodulebench.metrics.froc",
        "average_precision": "nodulebench.metrics.operating_point",
        "afroc_area": "nodulebench.metrics.afroc",
        "wafroc_area": "nodulebench.metrics.afroc",
        "afroc1_area": "nodulebench.metrics.afroc",
        "wafroc1_area": "nodulebench.metrics.afroc",
        "efroc_area": "nodulebench.metrics.afroc",
        "case_roc_area": "nodulebench.metrics.afroc",
        "case_sensitivity_at_fpf": "nodulebench.metrics.afroc",
        "case_roc_area_until_fpf": "nodulebench.metrics.afroc",
        "lroc_area": "nodulebench.metrics.lroc",
        "pcl_at_fpf": "nodulebench.metrics.lroc",
        "malignancy_auc": "nodulebench.metrics.malignancy",
        "malignancy_sensitivity_at_fpf": "nodulebench.metrics.malignancy",
        "malignancy_auc_until_fpf": "nodulebench.metrics.malignancy",
        "malignancy_accuracy": "nodulebench.metrics.malignancy",
        "malignancy_sensitivity": "nodulebench.metrics.malignancy",
        "malignancy_specificity": "nodulebench.metrics.malignancy",
        "malignancy_precision": "nodulebench.metrics.malignancy",
        "malignancy_f_beta": "nodulebench.metrics.malignancy",
        "brier_score": "nodulebench.metrics.malignancy",
        "expected_calibration_error": "nodulebench.metrics.malignancy",
        "size_error_rate": "nodulebench.metrics.characterisation",
        "diameter_error_mm": "nodulebench.metrics.characterisation",
        "absolute_diameter_error_mm": "nodulebench.metrics.characterisation",
        "density_accuracy": "nodulebench.metrics.characterisation",
        "density_accuracy_of_found": "nodulebench.metrics.characterisation",
        "density_kappa": "nodulebench.metrics.characterisation",
        "type_kappa": "nodulebench.metrics.characterisation",
        "category_agreement": "nodulebench.metrics.characterisation",
        "category_kappa": "nodulebench.metrics.characterisation",
        "category_kappa_linear": "nodulebench.metrics.characterisation",
        "category_kappa_quadratic": "nodulebench.metrics.characterisation",
        "mean_dice": "nodulebench.metrics.segmentation",
        "mean_iou": "nodulebench.metrics.segmentation",
        "pooled_dice": "nodulebench.metrics.segmentation",
        "pooled_iou": "nodulebench.metrics.segmentation",
        "median_seconds_per_case": "nodulebench.metrics.time_per_case",
        "mean_seconds_per_case": "nodulebench.metrics.time_per_case",
        "max_seconds_per_case": "nodulebench.metrics.time_per_case",
        "failed_run_rate": "nodulebench.metrics.time_per_case",
    },
)

RATINGS: Registry[Callable[[LabelledCohort], tuple[Ratings, Ratings]]] = Registry(
    "ratings behind an area",
    "ratings",
    {
        "case_roc_area": "nodulebench.metrics.afroc:case_ratings",
        "malignancy_auc": "nodulebench.metrics.malignancy:benign_and_malignant",
    },
)
"""Negatives and positives whose ROC an area is, by the metric's name."""

CURVES: Registry[Callable[[LabelledCohort], Curve]] = Registry(
    "curve",
    "curves",
    {
        "afroc_area": "nodulebench.metrics.afroc:afroc_curve",
        "wafroc_area": "nodulebench.metrics.afroc:wafroc_curve",
        "case_roc_area": "nodulebench.metrics.afroc:case_roc_curve",
        "lroc_area": "nodulebench.metrics.lroc:lroc_curve",
        "malignancy_auc": "nodulebench.metrics.malignancy:malignancy_roc_curve",
        "average_precision": "nodulebench.metrics.operating_point:precision_recall_curve",
    },
)
"""The curve behind an area, by the metric's name."""

TABLES: Registry[Callable[[LabelledCohort], pl.DataFrame]] = Registry(
    "table",
    "tables",
    {
        "density_accuracy": "nodulebench.metrics.characterisation:density_confusion",
        "expected_calibration_error": "nodulebench.metrics.malignancy:reliability_table",
        "malignancy_auc": "nodulebench.metrics.malignancy:malignancy_cuts",
        "category_kappa_linear": "nodulebench.metrics.malignancy:category_cuts",
        "category_kappa_quadratic": "nodulebench.metrics.malignancy:category_cuts",
    },
)
"""The table that belongs to a metric, by the metric's name."""


def name_of(metric: Metric) -> str:
    """The name under which a metric is registered."""
    return metric.name if isinstance(metric, Ratio) else metric.__name__


def meaning_of(metric: Metric) -> str:
    """What a metric means, in one line."""
    return metric.meaning if isinstance(metric, Ratio) else first_line(metric)


def info_of(name: str) -> MetricInfo:
    """The facts about a metric; one of another package has them as its attribute ``facts``."""
    if name in METRIC_INFO:
        return METRIC_INFO[name]
    own: MetricInfo | None = getattr(METRICS[name], "facts", None)
    return own or MetricInfo(is_higher_better=True)


def guard_of(name: str) -> Guard:
    """How the interval of a metric is guarded near perfect results."""
    metric = METRICS[name]
    is_proportion = isinstance(metric, Ratio) and metric.is_proportion
    return info_of(name).guard or ("trials" if is_proportion else "none")


def belongs_to(metric: str, registry: Registry[Item]) -> Item | None:
    """The entry of a registry for a metric: its curve, its table or its estimator.

    Other packages are asked only for metrics of other packages.
    """
    is_asked = registry.is_built_in(metric) or not METRICS.is_built_in(metric)
    return registry[metric] if is_asked and metric in registry else None


def is_lower_better(metric: str) -> bool:
    """Whether lower values of a metric, as results name it, are better."""
    return metric in METRICS and info_of(metric).is_higher_better is False
