"""The reference rules, one file each. Reading this list is reading how a panel can be heard."""

from nodulebench.reference.verdict import Rule
from nodulebench.registry import Registry

_HERE = "nodulebench.reference.rules."
RULES: Registry[Rule] = Registry(
    "reference rule",
    "reference_rules",
    {
        name: f"{_HERE}{name}"
        for name in ("luna16", "union", "majority", "unanimous", "arbitrated", "staple")
    },
)
