"""The reference rules: how the findings of a panel become nodules."""

from nodulebench.core.registry import Registry
from nodulebench.reference.decision import Rule

RULES: Registry[Rule] = Registry(
    "reference rule",
    "reference_rules",
    {
        "luna16": "nodulebench.reference.rules.luna16",
        **dict.fromkeys(("union", "majority", "unanimous"), "nodulebench.reference.rules.votes"),
        "arbitrated": "nodulebench.reference.rules.arbitrated",
        "staple": "nodulebench.reference.rules.staple",
    },
)
