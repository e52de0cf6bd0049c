"""STAPLE: a nodule is what k of n readers drew; its outline weighs readers by how good they are."""

import numpy as np

from nodulebench.core.arrays import IntArray
from nodulebench.reference.decision import Verdict, hear, votes
from nodulebench.reference.panel import Panel
from nodulebench.reference.rules.reference_staple import estimate_truth
from nodulebench.reference.rules.votes import enough_readers


def staple(
    panel: Panel,
    *,
    minimum_agreement: int = 0,
    grouping: str = "recursive",
    same_reader: bool = False,
    probability: float = 0.5,
    margin: int = 1,
) -> list[Verdict]:
    """Accept what enough readers drew; outline it where STAPLE holds nodule to be likely.

    The readers who drew the nodule are weighed; one who did not has no say in where it ends.

    Args:
        panel: the findings of all readers.
        minimum_agreement: how many readers it takes; 0: more than half of those who read the case.
        grouping: how findings are found to be the same nodule.
        same_reader: whether two findings of one reader can be one nodule by themselves.
        probability: how likely a voxel has to be nodule.
        margin: voxels around the union of the outlines that count as background.
    """
    return hear(
        panel,
        grouping=grouping,
        same_reader=same_reader,
        is_accepted=enough_readers(panel, minimum_agreement),
        outline=lambda members: likely_voxels(
            panel, members, probability=probability, margin=margin
        ),
    )


def likely_voxels(
    panel: Panel, members: IntArray, *, probability: float, margin: int
) -> IntArray | None:
    """The voxels that STAPLE holds to be nodule; the most likely ones where none reaches it.

    Of a single reader the outline is taken as it is.
    """
    outlined = [row for row in members.tolist() if len(panel.regions.of(row))]
    if not outlined:
        return None
    readers = np.unique(panel.reader[outlined])
    if len(readers) == 1:
        return votes(panel, np.array(outlined))[0]
    every = np.concatenate([panel.regions.of(row) for row in outlined])
    low = every.min(axis=0) - margin
    shape = tuple((every.max(axis=0) + margin - low + 1).tolist())
    drawn = np.zeros((len(readers), *shape), dtype=np.bool_)
    for row in outlined:
        which = int(np.searchsorted(readers, panel.reader[row]))
        drawn[which, *(panel.regions.of(row) - low).T] = True
    likely = estimate_truth(drawn.reshape(len(readers), -1)).probability.reshape(shape)
    found: IntArray = np.argwhere(likely >= min(probability, float(likely.max()))) + low
    return found
