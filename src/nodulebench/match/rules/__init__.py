"""The mark rules, one file each. Reading this list is reading what a mark can be judged by."""

from collections.abc import Callable

from nodulebench.match.rules.area_overlap import area_overlap
from nodulebench.match.rules.center_distance import center_distance
from nodulebench.match.rules.center_hit import center_hit
from nodulebench.match.rules.luna16 import luna16
from nodulebench.match.rules.luna16_clean import luna16_clean
from nodulebench.model.labels import Labels
from nodulebench.registry import Registry

RULES: Registry[Callable[..., Labels]] = Registry(
    "mark rule", "mark_rules", (luna16, luna16_clean, center_hit, center_distance, area_overlap)
)
