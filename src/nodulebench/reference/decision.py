"""Verdict: what a rule makes of findings, a nodule or something to be ignored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.reference.grouping import GROUPINGS, Findings
from nodulebench.reference.panel import Panel
from nodulebench.reference.regions import known
from nodulebench.reference.sizes import region_sizes, slice_sizes, volume_equivalent_mm


@dataclass(frozen=True, slots=True)
class Verdict:
    """A nodule of the reference standard, or a finding on which marks do not count."""

    members: IntArray
    """Rows in FINDINGS of what it was made of."""
    center_mm: FloatArray
    diameter_mm: float | None
    """None for a single point, which nobody measured."""
    is_ignored: bool
    size_definition: str
    voxels: IntArray | None = None
    """Column, row and slice of each voxel: n x 3; None where nothing was outlined."""


Rule = Callable[..., list[Verdict]]
"""Panel and keyword parameters -> verdicts on all of its findings."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A verdict before it is measured."""

    members: IntArray
    is_ignored: bool
    voxels: IntArray | None


def hear(
    panel: Panel,
    *,
    grouping: str,
    same_reader: bool,
    is_accepted: Callable[[int, IntArray], bool],
    outline: Callable[[IntArray], IntArray | None],
) -> list[Verdict]:
    """Verdicts on all findings: group them, accept or ignore each group, outline and measure it.

    Args:
        panel: the findings of all readers.
        grouping: how findings are found to be the same nodule, one of GROUPINGS.
        same_reader: whether two findings of one reader can be one nodule by themselves.
        is_accepted: row of the case and rows of a group's findings -> whether it is a nodule.
        outline: rows of a group's findings -> its voxels, None where nothing was outlined.
    """
    group = GROUPINGS[grouping]
    drafts = []
    for case, rows in panel.nodules_by_case():
        for one in group(Findings(panel, case, rows), same_reader).groups:
            members = rows[list(one.members)]
            drafts.append(Draft(members, not is_accepted(case, members), outline(members)))
    return [*measured(panel, drafts), *ignored_points(panel)]


def reader_count(panel: Panel, members: IntArray) -> int:
    """How many readers drew these findings."""
    return len(np.unique(panel.reader[members]))


def votes(panel: Panel, members: IntArray) -> tuple[IntArray, IntArray]:
    """Voxels that any of the findings holds, and by how many readers: n x 3, n.

    Several findings of one reader count once.
    """
    drawn = [panel.regions.of(row) for row in members.tolist()]
    every = np.concatenate(drawn)
    if not len(every):
        return every, np.empty(0, dtype=np.int64)
    low = every.min(axis=0)
    shape = tuple((every.max(axis=0) - low + 1).tolist())
    count = np.zeros(shape, dtype=np.int64)
    for reader in np.unique(panel.reader[members]):
        is_drawn = np.zeros(shape, dtype=np.bool_)
        for row, region in zip(members.tolist(), drawn, strict=True):
            if panel.reader[row] == reader:
                is_drawn[tuple((region - low).T)] = True
        count += is_drawn
    place = np.nonzero(count)
    return np.column_stack(place) + low, count[place]


def shared_voxels(panel: Panel, members: IntArray, share: float) -> IntArray | None:
    """Voxels that at least this share of the readers who drew the nodule hold in common.

    Where no voxel reaches the share, those that most readers have in common; None where nothing
    was outlined.
    """
    voxel, count = votes(panel, members)
    if not len(voxel):
        return None
    outlining = reader_count(panel, members[panel.regions.count[members] > 0])
    shared: IntArray = voxel[count >= min(np.ceil(share * outlining), count.max())]
    return shared


def measured(panel: Panel, drafts: Sequence[Draft]) -> list[Verdict]:
    """Place and measure drafts from their voxels; from their members' means where they have none.

    The definition of size is the panel's where a region alone can answer it, else the volume
    equivalent diameter. What was drawn as boxes alone has the mean of its readers' diameters: the
    corners of a box are no part of the nodule.
    """
    outlined = [number for number, one in enumerate(drafts) if one.voxels is not None]
    regions = [drafts[number].voxels for number in outlined]
    case = np.array([panel.case[drafts[number].members[0]] for number in outlined], dtype=np.int64)
    sizes, definition = _region_diameters(panel, [r for r in regions if r is not None], case)
    size_of = dict(zip(outlined, sizes.tolist(), strict=True))
    verdicts = []
    for number, one in enumerate(drafts):
        if number in size_of and one.voxels is not None:
            center = voxel_center_mm(panel, int(panel.case[one.members[0]]), one.voxels)
            size, name = size_of[number], definition
            if panel.is_boxed[one.members].all():
                size = float(panel.diameter_mm[one.members].mean())
                name = "mean of readers' boxes"
        else:
            center = panel.xyz_mm[one.members].mean(axis=0)
            size, name = float(panel.diameter_mm[one.members].mean()), "mean of readers"
        verdicts.append(Verdict(one.members, center, size, one.is_ignored, name, one.voxels))
    return verdicts


def _region_diameters(
    panel: Panel, regions: list[IntArray], case: IntArray
) -> tuple[FloatArray, str]:
    spacing = panel.spacing_mm[case]
    needs_outlines = panel.size_definition in ("volume_equivalent_with_rim", "outline_extent")
    definition = "volume_equivalent" if needs_outlines else panel.size_definition
    counts = np.array([len(region) for region in regions], dtype=np.int64)
    if definition == "volume_equivalent" or not len(regions):
        return volume_equivalent_mm(counts, spacing), definition
    owner = np.repeat(np.arange(len(regions)), counts)
    slices = slice_sizes(owner, np.concatenate(regions), spacing[:, :2])
    return region_sizes(slices, spacing[:, 2])[definition].to_numpy(), definition


def voxel_center_mm(panel: Panel, case: int, voxels: IntArray) -> FloatArray:
    """The mean position of voxels; an axial slice lies where its outlines say."""
    place = known(panel.places[case])
    middle = voxels.mean(axis=0)
    middle[2] = place.slice_number(voxels[:, 2].astype(np.float64)).mean()
    center: FloatArray = place.to_world(middle[None])[0]
    if place.is_axial:
        heights = panel.slice_heights[case]
        center[2] = np.mean([heights[number] for number in voxels[:, 2].tolist()])
    return center


def ignored_points(panel: Panel) -> list[Verdict]:
    """Findings that are not nodules to be found: each is ignored as it stands."""
    return [
        Verdict(np.array([row]), panel.xyz_mm[row], None, True, "")
        for row in np.flatnonzero(~panel.is_nodule).tolist()
    ]
