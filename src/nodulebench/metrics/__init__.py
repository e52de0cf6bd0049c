"""Labelled cohorts -> metrics and curves; ``METRICS`` lists every metric by its name."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal

from nodulebench.core.arrays import FloatArray
from nodulebench.core.registry import Registry
from nodulebench.metrics.metric import METRIC_INFO, Guard, MetricInfo, Ratio, first_line

__all__ = [
    "METRICS",
    "METRIC_INFO",
    "Metric",
    "MetricInfo",
    "function_of",
    "guard_of",
    "info_of",
    "is_lower_better",
    "meaning_of",
    "name_of",
]


Metric = Callable[..., FloatArray]
"""``metric(cohort, case_weight, **settings)``: one value, or row of values, per replicate."""

METRICS: Registry[Metric] = Registry(
    "metric",
    "metrics",
    {name: f"{__name__}.{info.module}" for name, info in METRIC_INFO.items()},
)


def name_of(metric: Metric) -> str:
    return metric.name if isinstance(metric, Ratio) else metric.__name__


def meaning_of(metric: Metric) -> str:
    return metric.meaning if isinstance(metric, Ratio) else first_line(metric)


def info_of(name: str) -> MetricInfo:
    """The facts about a metric; one of another package has them as its attribute ``facts``."""
    if name in METRIC_INFO:
        return METRIC_INFO[name]
    own: MetricInfo | None = getattr(METRICS[name], "facts", None)
    return own or MetricInfo(is_higher_better=True)


def function_of(
    name: str, kind: Literal["curve", "table", "ratings", "estimator"]
) -> Callable[..., Any] | None:
    """The function of a kind that belongs to a metric; None: it has none."""
    module, _, function = getattr(info_of(name), kind).rpartition(":")
    if not function:
        return None
    metric = METRICS[name]
    own = (metric.sums if isinstance(metric, Ratio) else metric).__module__
    made: Callable[..., Any] = getattr(import_module(module or own), function)
    return made


def guard_of(name: str) -> Guard:
    metric = METRICS[name]
    is_proportion = isinstance(metric, Ratio) and metric.is_proportion
    return info_of(name).guard or ("trials" if is_proportion else "none")


def is_lower_better(metric: str) -> bool:
    """Whether lower values of a metric, as results name it, are better."""
    return metric in METRICS and info_of(metric).is_higher_better is False
