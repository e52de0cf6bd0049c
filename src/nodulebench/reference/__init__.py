"""Reference standards: merge the findings of readers into nodules by a rule."""

from nodulebench.core.registry import lazy_names

_MODULES = {
    "RULES": "rules",
    "build_reference": "build",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
