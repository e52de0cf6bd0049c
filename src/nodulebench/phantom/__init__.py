"""Synthetic chest CT volumes whose nodules are known exactly."""

from nodulebench.core.registry import lazy_names

_MODULES = {
    "PhantomOptions": "test_set",
    "make_phantoms": "test_set",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
