"""Union: a nodule is what any reader drew."""

from nodulebench.reference.decision import Verdict
from nodulebench.reference.panel import Panel
from nodulebench.reference.rules.votes import majority


def union(panel: Panel, *, grouping: str = "overlap", same_reader: bool = False) -> list[Verdict]:
    """Accept every finding; the outline is the union of all readers', measured anew.

    The output of NIFDC's consistency check (Wang et al., Frontiers in Public Health 2022).

    Args:
        panel: the findings of all readers.
        grouping: how findings are found to be the same nodule.
        same_reader: whether two findings of one reader can be one nodule by themselves.
    """
    return majority(
        panel, minimum_agreement=1, grouping=grouping, same_reader=same_reader, outline_share=0.0
    )
