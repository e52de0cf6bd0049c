"""Evaluate marks against a reference: metrics, comparisons, plans, checks and result folders."""

from nodulebench.core.registry import lazy_names

_MODULES = {
    "EvaluateOptions": "service",
    "check_files": "check",
    "compare_folder": "comparison.service",
    "evaluate_files": "service",
    "freeze_files": "plans",
    "verify_folder": "verify",
    "write_report": "report",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
