"""Findings of one case -> groups of findings that are the same nodule.

Distance and size of two findings are compared as LUNA16 does: they can be one nodule if their
centres are closer than the mean of their diameters, which is the sum of their radii.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray, linked
from nodulebench.core.registry import Registry
from nodulebench.reference.panel import Panel

Position = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Findings:
    """The nodule findings of one case, numbered 0, 1, 2, ... in the order of reading."""

    panel: Panel
    case: int
    row: IntArray
    """Row in FINDINGS of each."""

    @property
    def center(self) -> list[Position]:
        return [(x, y, z) for x, y, z in self.panel.xyz_mm[self.row].tolist()]

    @property
    def diameter(self) -> list[float]:
        diameters: list[float] = self.panel.diameter_mm[self.row].tolist()
        return diameters

    @property
    def reader(self) -> list[int]:
        readers: list[int] = self.panel.reader[self.row].tolist()
        return readers


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings that are one nodule; the first of them stays when the others are ignored."""

    members: tuple[int, ...]
    center: Position
    diameter: float


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of one case. Every finding is in one of them."""

    groups: tuple[FindingGroup, ...]
    running: tuple[tuple[Position, float], ...] = field(default=())
    """For each finding its position and diameter at the end of a recursive merge."""


Grouper = Callable[[Findings, bool], Grouping]


def recursive(findings: Findings, same_reader: bool) -> Grouping:
    """Merge as LUNA16's reference was actually made.

    From the last finding to the first, each absorbs the close findings after it, again from the
    last, and moves half-way to each one it absorbs. So the result is not the readers' mean: it
    gives them weights of 1/2, 1/4, 1/8, 1/8 in the order of reading. This was found by rebuilding
    the published 1,186 nodules of LUNA16 from LIDC-IDRI's files.
    """
    center, diameter, reader = findings.center, findings.diameter, findings.reader
    members: list[list[int]] = [[number] for number in range(len(reader))]
    is_taken = [False] * len(reader)
    for index in range(len(reader) - 1, -1, -1):
        for other in range(len(reader) - 1, index, -1):
            if is_taken[other] or (reader[index] == reader[other] and not same_reader):
                continue
            if math.dist(center[index], center[other]) < (diameter[index] + diameter[other]) / 2:
                center[index] = _between(center[index], center[other], 0.5)
                diameter[index] = (diameter[index] + diameter[other]) / 2
                members[index] += members[other]
                is_taken[other] = True
    return Grouping(
        groups=tuple(
            FindingGroup(tuple(members[index]), center[index], diameter[index])
            for index in range(len(reader))
            if not is_taken[index]
        ),
        running=tuple(zip(center, diameter, strict=True)),
    )


def linkage(findings: Findings, same_reader: bool) -> Grouping:
    """Single linkage: findings that are connected through close pairs are one nodule."""
    center, diameter = np.array(findings.center), np.array(findings.diameter)
    apart = np.linalg.norm(center[:, None] - center, axis=2)
    is_close = apart < (diameter[:, None] + diameter) / 2
    return _linked(findings, is_close, same_reader=same_reader)


def overlap(findings: Findings, same_reader: bool) -> Grouping:
    """Single linkage of findings that share a voxel."""
    voxels = [findings.panel.regions.of(row) for row in findings.row.tolist()]
    every = np.concatenate(voxels)
    if not len(every):
        return _linked(findings, np.eye(len(voxels), dtype=np.bool_), same_reader=same_reader)
    low = every.min(axis=0)
    shape = tuple((every.max(axis=0) - low + 1).tolist())
    numbers = np.ravel_multi_index(tuple((every - low).T), shape)
    order = np.argsort(numbers, kind="stable")
    owner = np.repeat(np.arange(len(voxels)), [len(voxel) for voxel in voxels])[order]
    shares = np.eye(len(voxels), dtype=np.bool_)
    numbers = numbers[order]
    for step in range(1, len(voxels)):  # owners of one voxel are next to each other
        at = np.flatnonzero(numbers[:-step] == numbers[step:])
        if not len(at):
            break
        shares[owner[at], owner[at + step]] = shares[owner[at + step], owner[at]] = True
    return _linked(findings, shares, same_reader=same_reader)


def first_match(findings: Findings, same_reader: bool) -> Grouping:
    """Each finding joins the first group that is close to it, or begins one; groups keep means."""
    return _joined_in_order(
        findings, same_reader, lambda distances: min(distances, key=lambda d: d[1])
    )


def nearest_match(findings: Findings, same_reader: bool) -> Grouping:
    """Each finding joins the nearest group that is close to it, or begins one."""
    return _joined_in_order(findings, same_reader, min)


def closest_pair(findings: Findings, same_reader: bool) -> Grouping:
    """The two closest groups are joined, again and again, while any two are close."""
    reader = findings.reader
    groups = [
        FindingGroup((number,), place, size)
        for number, (place, size) in enumerate(zip(findings.center, findings.diameter, strict=True))
    ]
    while True:
        pairs = [
            (math.dist(groups[index].center, groups[other].center), index, other)
            for index in range(len(groups))
            for other in range(index)
            if _is_close(groups[index], groups[other])
            and (same_reader or not _share_reader(groups[index], groups[other], reader))
        ]
        if not pairs:
            return Grouping(tuple(groups))
        _, absorbed, other = min(pairs)
        groups[other] = _joined(groups[other], groups[absorbed])
        del groups[absorbed]


def outline_distance(findings: Findings, same_reader: bool) -> Grouping:
    """Single linkage of findings whose outlines are no further apart than a slice is thick.

    While a group has more than four members, the distance is reduced by a tenth (as in pylidc's
    ``cluster_annotations``: Hancock and Magnan, Journal of Medical Imaging 3 (2016) 044504).
    """
    from scipy.spatial import cKDTree

    given = findings.panel.readings.cases.row(findings.case, named=True).get("slice_thickness_mm")
    reach = float(findings.panel.spacing_mm[findings.case, 2] if given is None else given)
    points = _outline_points(findings)
    low = np.array([point.min(axis=0) for point in points])
    high = np.array([point.max(axis=0) for point in points])
    # the gap between two boxes; outlines cannot be nearer than the boxes around them
    gap = np.maximum(np.maximum(low[:, None] - high, low - high[:, None]), 0)
    nearest = np.linalg.norm(gap, axis=2)
    for number, other in np.argwhere(np.tril(nearest <= reach, -1)).tolist():
        apart = float(np.min(cKDTree(points[number]).query(points[other])[0]))
        nearest[number, other] = nearest[other, number] = apart
    while True:
        grouping = _linked(findings, nearest <= reach, same_reader=same_reader)
        most = max(len(group.members) for group in grouping.groups)
        if most <= _MOST_MEMBERS or reach * _SHRINK < _LEAST_REACH_MM:
            return grouping
        reach *= _SHRINK


_MOST_MEMBERS, _SHRINK, _LEAST_REACH_MM = 4, 0.9, 0.1

GROUPINGS: Registry[Grouper] = Registry(
    "way to group findings",
    "groupings",
    dict.fromkeys(
        (
            "recursive",
            "linkage",
            "overlap",
            "first_match",
            "nearest_match",
            "closest_pair",
            "outline_distance",
        ),
        __name__,
    ),
)


def mean_of(findings: Findings, members: tuple[int, ...]) -> FindingGroup:
    """A group at the plain mean of its members, with their mean diameter."""
    rows = findings.row[list(members)]
    x, y, z = findings.panel.xyz_mm[rows].mean(axis=0).tolist()
    return FindingGroup(members, (x, y, z), float(findings.panel.diameter_mm[rows].mean()))


def _between(first: Position, other: Position, share: float) -> Position:
    x, y, z = (a * (1 - share) + b * share for a, b in zip(first, other, strict=True))
    return (x, y, z)


def _joined(first: FindingGroup, other: FindingGroup) -> FindingGroup:
    share = len(other.members) / (len(first.members) + len(other.members))
    return FindingGroup(
        first.members + other.members,
        _between(first.center, other.center, share),
        first.diameter * (1 - share) + other.diameter * share,
    )


def _is_close(first: FindingGroup, other: FindingGroup) -> bool:
    return math.dist(first.center, other.center) < (first.diameter + other.diameter) / 2


def _share_reader(first: FindingGroup, other: FindingGroup, reader: list[int]) -> bool:
    return not {reader[m] for m in first.members}.isdisjoint(reader[m] for m in other.members)


def _joined_in_order(
    findings: Findings,
    same_reader: bool,
    choose: Callable[[list[tuple[float, int]]], tuple[float, int]],
) -> Grouping:
    reader = findings.reader
    groups: list[FindingGroup] = []
    for number, (place, size) in enumerate(zip(findings.center, findings.diameter, strict=True)):
        new = FindingGroup((number,), place, size)
        close = [
            (math.dist(group.center, place), at)
            for at, group in enumerate(groups)
            if _is_close(group, new) and (same_reader or not _share_reader(group, new, reader))
        ]
        if close:
            _, at = choose(close)
            groups[at] = _joined(groups[at], new)
        else:
            groups.append(new)
    return Grouping(tuple(groups))


def _linked(findings: Findings, is_close: BoolArray, *, same_reader: bool) -> Grouping:
    """Connected components, in the order of their first members."""
    reader = np.array(findings.reader)
    allowed = is_close if same_reader else is_close & (reader[:, None] != reader)
    component = linked(allowed)
    return Grouping(
        tuple(
            mean_of(findings, tuple(np.flatnonzero(component == first).tolist()))
            for first in np.unique(component)
        )
    )


def _outline_points(findings: Findings) -> list[FloatArray]:
    """The points of each finding's outlines in mm; its position, where it has none."""
    outlines = findings.panel.outlines
    first, stop = np.searchsorted(outlines.case, [findings.case, findings.case + 1])
    start, end = np.searchsorted(outlines.points.owner, [first, stop])
    outline = outlines.points.owner[start:end]
    xyz = np.column_stack(
        [outlines.points.x[start:end], outlines.points.y[start:end], outlines.z_mm[outline]]
    )
    owner = outlines.finding[outline]
    return [
        xyz[owner == row] if (owner == row).any() else findings.panel.xyz_mm[[row]]
        for row in findings.row.tolist()
    ]
