"""Majority: a nodule is what at least k of the n readers of its case drew."""

from collections.abc import Callable

from nodulebench.core.arrays import IntArray
from nodulebench.reference.decision import Verdict, decide_groups, reader_count, shared_voxels
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
    common; position and size are those of this outline.

    Args:
        panel: the findings of all readers.
        minimum_agreement: how many readers it takes; 0: more than half of those who read the case.
        grouping: how findings are merged into nodules.
        same_reader: whether two findings of one reader can be one nodule by themselves.
        outline_share: the share of readers that a voxel needs.
    """
    return decide_groups(
        panel,
        grouping=grouping,
        same_reader=same_reader,
        is_accepted=enough_readers(panel, minimum_agreement),
        outline=lambda members: shared_voxels(panel, members, outline_share),
    )


def enough_readers(panel: Panel, minimum: int) -> Callable[[int, IntArray], bool]:
    """Whether enough readers drew findings of a case; 0: more than half of those who read it."""
    return lambda case, members: (
        reader_count(panel, members) >= (minimum or int(panel.readers_of_case[case]) // 2 + 1)
    )


def unanimous(
    panel: Panel,
    *,
    grouping: str = "recursive",
    same_reader: bool = False,
    outline_share: float = 0.5,
) -> list[Verdict]:
    """Accept what all readers of a case drew; ignore what any of them did not.

    Args:
        panel: the findings of all readers.
        grouping: how findings are merged into nodules.
        same_reader: whether two findings of one reader can be one nodule by themselves.
        outline_share: the share of readers that a voxel of the outline needs.
    """
    return decide_groups(
        panel,
        grouping=grouping,
        same_reader=same_reader,
        is_accepted=lambda case, members: (
            reader_count(panel, members) >= int(panel.readers_of_case[case])
        ),
        outline=lambda members: shared_voxels(panel, members, outline_share),
    )


def union(panel: Panel, *, grouping: str = "overlap", same_reader: bool = False) -> list[Verdict]:
    """Accept every finding; the outline is the union of all readers', and is measured.

    The output of NIFDC's consistency check (Wang et al., Frontiers in Public Health 2022).

    Args:
        panel: the findings of all readers.
        grouping: how findings are merged into nodules.
        same_reader: whether two findings of one reader can be one nodule by themselves.
    """
    return majority(
        panel, minimum_agreement=1, grouping=grouping, same_reader=same_reader, outline_share=0.0
    )
