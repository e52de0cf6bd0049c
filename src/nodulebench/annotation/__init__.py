"""Annotation projects: people, their readings and the workflow that turns these into nodules."""

from nodulebench.core.registry import lazy_names

_MODULES = {"analyse_readers": "reader_study", "hold_exam": "exam"}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
