"""Labelled cohorts -> metrics and curves; ``METRICS`` lists every metric by its name."""

from collections.abc import Callable
from typing import Literal

import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.registry import Item, Registry
from nodulebench.core.results import Curve
from nodulebench.metrics.metric import (
    METRIC_INFO,
    METRICS_OF_MODULE,
    Guard,
    MetricInfo,
    Ratio,
    first_line,
)
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

_HERE = "nodulebench.metrics"


def _functions(kind: Literal["curve", "table", "ratings"]) -> dict[str, str]:
    """The functions of a kind, by the names of their metrics."""
    paths = {name: getattr(info, kind) for name, info in METRIC_INFO.items()}
    return {name: f"{_HERE}.{path}" for name, path in paths.items() if path}


METRICS: Registry[Metric] = Registry(
    "metric",
    "metrics",
    {name: f"{_HERE}.{module}" for module, metrics in METRICS_OF_MODULE for name in metrics},
)

RATINGS: Registry[Callable[[LabelledCohort], tuple[Ratings, Ratings]]] = Registry(
    "ratings behind an area", "ratings", _functions("ratings")
)
"""Negatives and positives whose ROC an area is, by the metric's name."""

CURVES: Registry[Callable[[LabelledCohort], Curve]] = Registry(
    "curve", "curves", _functions("curve")
)
"""The curve behind an area, by the metric's name."""

TABLES: Registry[Callable[[LabelledCohort], pl.DataFrame]] = Registry(
    "table", "tables", _functions("table")
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
