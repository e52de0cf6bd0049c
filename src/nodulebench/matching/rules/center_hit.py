"""Center hit: the centre of a mark's box is in the nodule's region on the same slice."""

from dataclasses import replace
from typing import Literal

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray, unroll
from nodulebench.core.cache import cached_on_owner
from nodulebench.core.cohort import Labels
from nodulebench.core.notices import Notice
from nodulebench.imaging.outlines import Outlines, areas_mm2, is_inside, no_outlines, read_outlines
from nodulebench.matching.assignment import Assignment, Duplicates, one_to_one_labels
from nodulebench.matching.pairs import first_of_each
from nodulebench.matching.scene import (
    NEGLIGIBLE_MM,
    Boxes,
    Scene,
    SharedSlices,
    best_slices,
    boxless_notices,
    shared_slices,
)


def center_hit(
    scene: Scene,
    *,
    region: Literal["contour", "box"] = "contour",
    tie_break: Literal["space", "z"] = "space",
    assignment: Assignment = "greedy",
    duplicates: Duplicates = "false_positive",
) -> Labels:
    """Label marks by NIFDC's first rule.

    A mark qualifies for a nodule if on any slice the centre of its box is in the nodule's
    region, edge included. Of several marks the one nearest to the nodule's largest slice is the
    hit: the shortest distance from the centre of any of its boxes to the centre of the nodule's
    box there. Further marks on the nodule stay free for other nodules, else they are false
    positives. A nodule's largest slice has the largest contour (box, if a contour is missing); of
    equal ones the lowest.

    Wang et al., Frontiers in Public Health 10 (2022).

    Args:
        scene: marks and nodules with boxes per slice.
        region: the contour where there is one, else the box; or always the box.
        tie_break: distance to the largest slice in space, or along z only.
        assignment: nodules in the reference's order (published), or as many hits as possible.
        duplicates: whether further marks on a nodule are left out or count as false positives.
    """
    shared = shared_slices(scene, "center_hit")
    nodules = shared.nodules
    outlines = _outlines(nodules) if region == "contour" else no_outlines(len(nodules.owner))
    largest = _largest_slices(nodules, outlines, scene.nodule_count)
    inside = np.flatnonzero(_is_center_inside(shared, outlines))
    inside = inside[best_slices(shared.mark[inside], shared.nodule[inside], np.zeros(len(inside)))]
    mark, nodule = shared.mark[inside], shared.nodule[inside]
    cost, without = _distance_to_slice(
        scene, shared, mark, largest[nodule], is_along_z=tie_break == "z"
    )
    guessed = (Notice("spacing_unknown", {"pairs": without}),) if without else ()
    labels = one_to_one_labels(
        scene,
        mark,
        nodule,
        cost,
        assignment=assignment,
        duplicates=duplicates,
        notices=(*guessed, *boxless_notices(scene, shared)),
    )
    drawn = int(np.count_nonzero(outlines.is_drawn))
    regions = {"contours": drawn, "boxes": len(outlines.corners) - drawn}
    return replace(labels, remarks=(Notice("nodule_regions", regions),))


@cached_on_owner
def _outlines(nodules: Boxes) -> Outlines:
    return read_outlines(nodules.contour)


def _is_center_inside(shared: SharedSlices, outlines: Outlines) -> BoolArray:
    center = shared.marks.center_mm[shared.mark_box]
    apart = np.abs(center - shared.nodules.center_mm[shared.nodule_box])
    box = shared.nodule_box
    in_box = (apart[:, 0] <= shared.nodules.length_mm[box] / 2 + NEGLIGIBLE_MM) & (
        apart[:, 1] <= shared.nodules.width_mm[box] / 2 + NEGLIGIBLE_MM
    )
    in_outline = is_inside(outlines, box, center[:, 0], center[:, 1], edge_mm=NEGLIGIBLE_MM)
    return np.where(outlines.is_drawn[box], in_outline, in_box)


def _largest_slices(nodules: Boxes, outlines: Outlines, count: int) -> IntArray:
    """For each nodule its box on its largest slice, -1 without boxes."""
    is_outlined = np.ones(count, dtype=np.bool_)
    is_outlined[nodules.owner[~outlines.is_drawn]] = False
    area = np.where(
        is_outlined[nodules.owner], areas_mm2(outlines), nodules.length_mm * nodules.width_mm
    )
    order = np.lexsort((nodules.slice_index, -area, nodules.owner))
    best = order[first_of_each(nodules.owner[order])]
    largest = np.full(count, -1, dtype=np.int64)
    largest[nodules.owner[best]] = best
    return largest


def _distance_to_slice(
    scene: Scene, shared: SharedSlices, mark: IntArray, nodule_box: IntArray, *, is_along_z: bool
) -> tuple[FloatArray, int]:
    """Shortest distance of each mark's boxes to a nodule's box; how many had to guess the spacing.

    Slices without z_mm are apart by their number times the case's slice spacing.
    """
    marks, nodules = shared.marks, shared.nodules
    boxes = np.argsort(marks.owner, kind="stable")
    count = np.bincount(marks.owner, minlength=scene.mark_count).astype(np.int64)
    pair, position = unroll((np.cumsum(count) - count)[mark], count[mark])
    mine, other = boxes[position], nodule_box[pair]
    apart = marks.center_mm[mine] - nodules.center_mm[other]
    spacing = scene.reference.cases["spacing_z_mm"].to_numpy().astype(np.float64)[marks.case[mine]]
    steps = (marks.slice_index[mine] - nodules.slice_index[other]).astype(np.float64)
    has_no_z = np.isnan(apart[:, 2])
    is_guessed = has_no_z & np.isnan(spacing) & (steps != 0)
    apart[:, 2] = np.where(has_no_z, steps * np.where(np.isnan(spacing), 1.0, spacing), apart[:, 2])
    if is_along_z:
        apart[:, :2] = 0.0
    distance = np.full(len(mark), np.inf)
    np.minimum.at(distance, pair, np.linalg.norm(apart, axis=1))
    return distance, len(np.unique(pair[is_guessed]))
