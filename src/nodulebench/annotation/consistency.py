"""Readings of one case by several readers -> the slices on which they agree, and candidates.

On each slice the readers' boxes are clustered: two boxes of different readers belong together if
they overlap or the centre of one is in the other. A slice is consistent if every cluster on it
has all readers. Findings that share a cluster on any slice are one candidate nodule.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field

from nodulebench.annotation.readings import Box, Reading
from nodulebench.core.arrays import BoolArray, FloatArray, IntArray, linked
from nodulebench.core.config_model import ConfigModel


class ConsistencyRule(ConfigModel):
    """When two readers' boxes on a slice count as the same finding."""

    minimum_iou: float = Field(default=0, ge=0, lt=1)
    """Their intersection over union must exceed this."""
    center_in_box: bool = True
    """Whether it also suffices that the centre of one is in the other, edges included."""
    disputes_slices: bool = True
    """Whether one inconsistent slice makes a nodule disputed; else only a reader who has not drawn
    it at all."""


@dataclass(frozen=True, slots=True)
class SliceCluster:
    """Boxes on one slice that count as the same finding."""

    box: Box
    findings: tuple[tuple[str, str], ...]
    """Reader and finding id of each box."""
    is_consistent: bool
    """Whether all readers have a box in it."""

    @property
    def reader_ids(self) -> tuple[str, ...]:
        return tuple(sorted({reader for reader, _ in self.findings}))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible nodule: the findings of readers that belong together."""

    candidate_id: str
    findings: tuple[tuple[str, str], ...]
    clusters: tuple[SliceCluster, ...]
    is_disputed: bool

    @property
    def reader_ids(self) -> tuple[str, ...]:
        return tuple(sorted({reader for reader, _ in self.findings}))

    @property
    def boxes(self) -> tuple[Box, ...]:
        return tuple(cluster.box for cluster in self.clusters)

    @property
    def inconsistent_slices(self) -> tuple[int, ...]:
        apart = {cluster.box.slice_index for cluster in self.clusters if not cluster.is_consistent}
        return tuple(sorted(apart))


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """The comparison of the readings of one case."""

    case_id: str
    reader_ids: tuple[str, ...]
    candidates: tuple[Candidate, ...]

    @property
    def inconsistent_slices(self) -> tuple[int, ...]:
        return tuple(
            sorted({at for candidate in self.candidates for at in candidate.inconsistent_slices})
        )

    @property
    def is_consistent(self) -> bool:
        return not self.inconsistent_slices


_RULE = ConsistencyRule()


def check_consistency(readings: Sequence[Reading], rule: ConsistencyRule = _RULE) -> CaseCheck:
    """Compare one reading per reader; candidates are numbered from the feet upwards."""
    ordered = sorted(readings, key=lambda reading: reading.reader_id)
    readers = tuple(reading.reader_id for reading in ordered)
    owners = [(reading.reader_id, finding) for reading in ordered for finding in reading.findings]
    rows = [
        (number, readers.index(reader), drawn)
        for number, (reader, finding) in enumerate(owners)
        for drawn in finding.slices
    ]
    names = [(owners[number][0], owners[number][1].finding_id) for number, _, _ in rows]
    owner = np.array([number for number, _, _ in rows], dtype=np.int64)
    reader = np.array([number for _, number, _ in rows], dtype=np.int64)
    level = np.array([drawn.slice_index for _, _, drawn in rows], dtype=np.int64)
    boxes = np.array(
        [(d.center_x_mm, d.center_y_mm, d.length_mm, d.width_mm) for _, _, d in rows]
    ).reshape(-1, 4)
    is_near = _is_same(boxes, rule) & (level[:, None] == level) & (reader[:, None] != reader)
    cluster = linked(is_near)
    candidate = linked(is_near | (owner[:, None] == owner))
    groups = []
    for first in np.unique(candidate):
        members = np.flatnonzero(candidate == first)
        clusters = tuple(
            sorted(
                (
                    _slice_cluster(
                        boxes, level, names, members[cluster[members] == number], readers
                    )
                    for number in np.unique(cluster[members])
                ),
                key=lambda slice_cluster: _place(slice_cluster.box),
            )
        )
        findings = tuple(
            (owners[number][0], owners[number][1].finding_id)
            for number in np.unique(owner[members])
        )
        groups.append((findings, clusters))
    groups.sort(key=lambda group: (_place(group[1][0].box), group[0]))
    return CaseCheck(
        case_id=ordered[0].case_id,
        reader_ids=readers,
        candidates=tuple(
            Candidate(
                f"candidate-{number + 1}",
                findings,
                clusters,
                is_disputed=_is_disputed(findings, clusters, readers, rule),
            )
            for number, (findings, clusters) in enumerate(groups)
        ),
    )


def lone_candidate(reading: Reading, candidate_id: str) -> Candidate:
    (lone,) = check_consistency([reading]).candidates
    clusters = tuple(replace(cluster, is_consistent=False) for cluster in lone.clusters)
    return Candidate(candidate_id, lone.findings, clusters, is_disputed=True)


def _place(box: Box) -> tuple[float, ...]:
    return box.slice_index, box.center_x_mm, box.center_y_mm


def _is_disputed(
    findings: Sequence[tuple[str, str]],
    clusters: Sequence[SliceCluster],
    readers: Sequence[str],
    rule: ConsistencyRule,
) -> bool:
    if rule.disputes_slices:
        return not all(cluster.is_consistent for cluster in clusters)
    return {reader for reader, _ in findings} != set(readers)


def _slice_cluster(
    boxes: FloatArray,
    level: IntArray,
    names: Sequence[tuple[str, str]],
    members: IntArray,
    readers: Sequence[str],
) -> SliceCluster:
    low = (boxes[members, :2] - boxes[members, 2:] / 2).min(axis=0)
    high = (boxes[members, :2] + boxes[members, 2:] / 2).max(axis=0)
    center, extent = ((low + high) / 2).tolist(), (high - low).tolist()
    findings = tuple(names[row] for row in members)
    return SliceCluster(
        Box(int(level[members[0]]), center[0], center[1], extent[0], extent[1]),
        findings,
        is_consistent={reader for reader, _ in findings} == set(readers),
    )


def _is_same(boxes: FloatArray, rule: ConsistencyRule) -> BoolArray:
    center, half = boxes[:, :2], boxes[:, 2:] / 2
    low = np.maximum((center - half)[:, None], (center - half)[None])
    high = np.minimum((center + half)[:, None], (center + half)[None])
    shared = np.prod(np.maximum(high - low, 0.0), axis=2)
    area = np.prod(boxes[:, 2:], axis=1)
    both = area[:, None] + area[None] - shared
    iou = np.divide(shared, both, out=np.zeros_like(shared), where=both > 0)
    is_same: BoolArray = iou > rule.minimum_iou
    if rule.center_in_box:
        holds = (np.abs(center[:, None] - center[None]) <= half[:, None]).all(axis=2)
        is_same = is_same | holds | holds.T
    return is_same
