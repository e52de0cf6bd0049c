"""Checks that a metric, rule, format or detector of another package must pass.

Each check takes the name under which an item is registered, built in or by an entry point, and
raises an AssertionError that says what is broken::

    from nodulebench.testing import check_metric

    def test_my_metric_keeps_to_the_contract():
        check_metric("my_metric")
"""

from nodulebench.testing.detectors import check_admission_check, check_detector
from nodulebench.testing.formats import check_format, format_cases
from nodulebench.testing.mark_rules import check_mark_rule
from nodulebench.testing.metrics import check_metric
from nodulebench.testing.reference_rules import check_reference_rule

__all__ = [
    "check_admission_check",
    "check_detector",
    "check_format",
    "check_mark_rule",
    "check_metric",
    "check_reference_rule",
    "format_cases",
]
