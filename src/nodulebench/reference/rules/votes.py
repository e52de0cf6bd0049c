"""Majority: a nodule is what at least k of the n readers of its case drew."""

from collections.abc import Callable

from nodulebench.core.arrays import IntArray
from nodulebench.reference.decision import Verdict, hear, reader_count, shared_voxels
from nodulebench.reference.panel import Panel


def majority(
    panel: Panel,
    *,
    minimum_agreement: int = 0,
    grouping: str = "recursive",
    same_reader: bool = False,
    outline_share: float = 0.5,
) -> list[Verdict]:
    """Accept what enough readers drew; ignore what fewer did.

    The outline holds the voxels that at least a share of the readers who drew the nodule have in
    common, and the nodule is placed and measured there.

    Args:
        panel: the findings of all readers.
        minimum_agreement: how many readers it takes; 0: more than half of those who read the case.
        grouping: how findings are found to be the same nodule.
        same_reader: whether two findings of one reader can be one nodule by themselves.
        outline_share: the share of readers that a voxel needs.
    """
    return hear(
        panel,
        grouping=grouping,
        same_reader=same_reader,
        is_accepted=enough_readers(panel, minimum_agreement),
        outline=lambda members: shared_voxels(panel, members, outline_share),
    )


def enough_readers(panel: Panel, minimum: int) -> Callable[[int, IntArray], bool]:
    """Whether so many readers drew findings of a case; 0: more than half of those who read it."""
    return lambda case, members: (
        reader_count(panel, members) >= (minimum or int(panel.readers_of_case[case]) // 2 + 1)
    )
