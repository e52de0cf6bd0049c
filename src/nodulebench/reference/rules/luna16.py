"""LUNA16: findings that at least three of four readers marked; all other findings are ignored."""

from typing import Literal

import numpy as np

from nodulebench.reference.decision import Verdict, ignored_points, reader_count, shared_voxels
from nodulebench.reference.grouping import FindingGroup, Findings, mean_of, recursive
from nodulebench.reference.panel import Panel


def luna16(
    panel: Panel,
    *,
    minimum_agreement: int = 3,
    counts: Literal["findings", "readers"] = "findings",
    average: Literal["recursive", "mean"] = "recursive",
    same_reader: bool = False,
) -> list[Verdict]:
    """Merge findings as the reference standard of LUNA16 was actually made.

    Position and diameter of a nodule come from a recursive merge, not from a plain mean (see
    ``grouping.recursive``). Marks on a nodule are counted, not readers: eight nodules of LUNA16
    have more than four. Single findings are ignored, not nodules: all findings in the order of
    reading except the first one of each accepted nodule, at their positions after the merge. This
    is what the published ``annotations_excluded.csv`` holds.

    Setio et al., Medical Image Analysis 42 (2017) 1-13. The paper states that positions and
    diameters are averaged; the method was found by rebuilding the published tables.

    Args:
        panel: the findings of all readers.
        minimum_agreement: how many it takes to accept a nodule.
        counts: whether findings or readers are counted.
        average: recursive, as published; or the plain mean of the members, with ignored findings
            at their readers' positions.
        same_reader: whether two findings of one reader can be one nodule by themselves.
    """
    accepted: list[Verdict] = []
    ignored: list[Verdict] = []
    manner = "recursive mean" if average == "recursive" else "mean"
    for case, rows in panel.nodules_by_case():
        findings = Findings(panel, case, rows)
        grouping = recursive(findings, same_reader)
        is_first = np.zeros(len(rows), dtype=np.bool_)
        for group in grouping.groups:
            members = rows[list(group.members)]
            agreement = len(members) if counts == "findings" else reader_count(panel, members)
            if agreement >= minimum_agreement:
                is_first[group.members[0]] = True
                merged = group if average == "recursive" else mean_of(findings, group.members)
                accepted.append(_nodule(panel, findings, merged, manner))
        for number in np.flatnonzero(~is_first).tolist():
            center, diameter = grouping.running[number]
            row = int(rows[number])
            if average == "mean":
                center, diameter = findings.center[number], findings.diameter[number]
            ignored.append(
                Verdict(
                    rows[[number]],
                    np.array(center),
                    diameter,
                    True,
                    f"{manner} of {panel.definition_of(rows[[number]])}",
                    panel.regions.of(row) if len(panel.regions.of(row)) else None,
                )
            )
    others = [*ignored, *ignored_points(panel)]
    return [*accepted, *sorted(others, key=lambda verdict: int(verdict.members[0]))]


def _nodule(panel: Panel, findings: Findings, group: FindingGroup, manner: str) -> Verdict:
    members = findings.row[list(group.members)]
    return Verdict(
        members=members,
        center_mm=np.array(group.center),
        diameter_mm=group.diameter,
        is_ignored=False,
        size_definition=f"{manner} of {panel.definition_of(members)}",
        voxels=shared_voxels(panel, members, 0.5),
    )
