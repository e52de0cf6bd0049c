"""Arbitrated: the readers agree, or one of them decides."""

import numpy as np

from nodulebench.core.arrays import IntArray
from nodulebench.core.errors import InputError
from nodulebench.reference.decision import Verdict, decide_groups, reader_count, shared_voxels
from nodulebench.reference.panel import Panel


def arbitrated(
    panel: Panel,
    *,
    arbitrator: str,
    minimum_agreement: int = 0,
    grouping: str = "recursive",
    same_reader: bool = False,
    outline_share: float = 0.5,
    arbitrator_adds: bool = False,
) -> list[Verdict]:
    """Accept what the readers agree on, and of the rest what the arbitrator drew too.

    As in the ITU FG-AI4H labelling panel: at least three experts, one of whom decides disputed
    marks.

    Args:
        panel: the findings of all readers, the arbitrator's among them.
        arbitrator: reader_id of the reader who decides.
        minimum_agreement: how many of the other readers agree without the arbitrator; 0: all of
            them.
        grouping: how findings are merged into nodules.
        same_reader: whether two findings of one reader can be one nodule by themselves.
        outline_share: the share of readers that a voxel of the outline needs.
        arbitrator_adds: whether a finding that only the arbitrator drew is accepted.

    Raises:
        InputError: if the arbitrator has read none of the cases.
    """
    if arbitrator not in panel.readings.reader_ids:
        what = f"has read no case of '{panel.readings.name}'."
        remedy = f"Readers: {', '.join(panel.readings.reader_ids)}."
        raise InputError.at(f"arbitrator '{arbitrator}'", what, remedy)
    is_arbitrators = (panel.readings.findings["reader_id"] == arbitrator).to_numpy()
    sessions = panel.readings.sessions
    arbitrated_cases = sessions.filter(sessions["reader_id"] == arbitrator)["case_id"]
    reads = panel.readings.cases["case_id"].is_in(arbitrated_cases.implode()).to_numpy()
    others = np.asarray(panel.readers_of_case - reads, dtype=np.int64)

    def is_accepted(case: int, members: IntArray) -> bool:
        backed = members[~is_arbitrators[members]]
        if not len(backed):
            return arbitrator_adds
        is_decided = len(backed) < len(members)
        return is_decided or bool(
            reader_count(panel, backed) >= (minimum_agreement or others[case])
        )

    return decide_groups(
        panel,
        grouping=grouping,
        same_reader=same_reader,
        is_accepted=is_accepted,
        outline=lambda members: shared_voxels(panel, members, outline_share),
    )
