"""Run untrusted algorithms on test sets, isolated and measured."""

from nodulebench.core.registry import lazy_names

_MODULES = {"check_algorithm": "check", "run_algorithm": "run"}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
