"""The mark rules, one file each. This list is the table of contents."""

from collections.abc import Callable

from nodulebench.core.cohort import Labels
from nodulebench.core.registry import Registry

NAMES = ("luna16", "luna16_clean", "center_hit", "center_distance", "area_overlap")

RULES: Registry[Callable[..., Labels]] = Registry(
    "mark rule", "mark_rules", {name: f"{__name__}.{name}" for name in NAMES}
)
