"""Labelled cohorts -> metrics and curves; ``METRICS`` lists every metric by its name."""

from nodulebench.metrics.metric import (
    METRIC_INFO,
    METRICS,
    Metric,
    MetricInfo,
    function_of,
    guard_of,
    info_of,
    is_lower_better,
    meaning_of,
    name_of,
)

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
