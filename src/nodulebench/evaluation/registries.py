"""What is registered by name: the one-line meaning of every mark rule and metric."""

import inspect

from nodulebench.matching.rules import RULES
from nodulebench.metrics import METRICS, meaning_of


def rule_meanings() -> dict[str, str]:
    """Mark rule -> the text after its name in the first line of its module."""
    return {
        name: (inspect.getmodule(rule).__doc__ or "").partition("\n")[0].partition(": ")[2]
        for name, rule in RULES.items()
    }


def metric_meanings() -> dict[str, str]:
    return {name: meaning_of(metric) for name, metric in METRICS.items()}
