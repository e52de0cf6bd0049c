"""Built-in candidate detectors, classifiers and networks whose behaviour is known."""

from nodulebench.core.registry import lazy_names

_MODULES = {
    "DETECTORS": "candidates",
    "detect_set": "detect",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
