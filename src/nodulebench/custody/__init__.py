"""Sequestered test sets: seal them, evaluate on them within a budget, and log every use."""

from typing import TYPE_CHECKING

from nodulebench.core.registry import lazy_names

if TYPE_CHECKING:
    from nodulebench.io.bundle import is_sealed as is_sealed
    from nodulebench.io.bundle import require_local_workers as require_local_workers

_MODULES = {
    "is_sealed": ".io.bundle",
    "require_local_workers": ".io.bundle",
    "seal_bundle": "seal",
    "verify_sealed": "verify",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
