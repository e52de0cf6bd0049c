"""The mark rules, one file each. Reading this list is reading what a mark can be judged by."""

from nodulebench.match.rules.luna16 import luna16
from nodulebench.registry import Registry

RULES = Registry("mark rule", "mark_rules", (luna16,))
