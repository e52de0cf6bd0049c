"""Unanimous: a nodule is what every reader of its case drew."""

from nodulebench.reference.decision import Verdict, hear, reader_count, shared_voxels
from nodulebench.reference.panel import Panel


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
        grouping: how findings are found to be the same nodule.
        same_reader: whether two findings of one reader can be one nodule by themselves.
        outline_share: the share of readers that a voxel of the outline needs.
    """
    return hear(
        panel,
        grouping=grouping,
        same_reader=same_reader,
        is_accepted=lambda case, members: (
            reader_count(panel, members) >= int(panel.readers_of_case[case])
        ),
        outline=lambda members: shared_voxels(panel, members, outline_share),
    )
