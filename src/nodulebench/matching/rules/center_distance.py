"""Center distance: the centre of a mark's box is within the nodule's radius."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import Labels
from nodulebench.core.notices import Notice
from nodulebench.matching.assignment import Assignment, Duplicates, one_to_one_labels
from nodulebench.matching.pairs import pairs_within
from nodulebench.matching.scene import (
    NEGLIGIBLE_MM,
    Scene,
    best_slices,
    boxless_notices,
    largest_radius_mm,
    shared_slices,
)


def center_distance(
    scene: Scene,
    *,
    space: Literal["slice", "volume"] = "slice",
    radius_mm: Annotated[float, Field(gt=0)] | None = None,
    radius_factor: Annotated[float, Field(gt=0)] = 1.0,
    assignment: Assignment = "greedy",
    duplicates: Duplicates = "false_positive",
) -> Labels:
    """Label marks by NIFDC's second rule.

    A mark qualifies for a nodule if on any slice the centre of its box is strictly closer to the
    centre of the nodule's box than the threshold: the largest mean radius on any of the nodule's
    slices, (long + short) / 4. Of several marks the closest is the hit. Further marks on the
    nodule stay free for other nodules, else they are false positives.

    Wang et al., Frontiers in Public Health 10 (2022).

    Args:
        scene: marks and nodules with boxes per slice (``volume`` does without).
        space: distance within the plane of a common slice, or between the centres in space.
        radius_mm: one threshold for all nodules instead of their radius.
        radius_factor: by what the threshold is multiplied, for a sweep.
        assignment: nodules in the reference's order (published), or as many hits as possible.
        duplicates: whether further marks on a nodule are left out or count as false positives.
    """
    threshold = distance_threshold_mm(scene, radius_mm) * radius_factor
    if space == "volume":
        return _in_volume(scene, threshold, assignment, duplicates)
    shared = shared_slices(scene, "center_distance")
    distance = shared.distance_mm()
    close = np.flatnonzero(distance < threshold[shared.nodule] - NEGLIGIBLE_MM)
    close = close[best_slices(shared.mark[close], shared.nodule[close], distance[close])]
    return one_to_one_labels(
        scene,
        shared.mark[close],
        shared.nodule[close],
        distance[close],
        assignment=assignment,
        duplicates=duplicates,
        notices=boxless_notices(scene, shared),
    )


def distance_threshold_mm(scene: Scene, radius_mm: float | None = None) -> FloatArray:
    """How close a mark has to come to each nodule: its largest radius, or one for all.

    A nodule without boxes is taken at half its diameter, which is the same by definition; NaN where
    that was not measured.
    """
    if radius_mm is not None:
        return np.full(scene.nodule_count, radius_mm)
    half = scene.nodule_diameter_mm / 2.0
    if scene.nodule_boxes is None:
        return half
    radius = largest_radius_mm(scene.nodule_boxes, scene.nodule_count)
    return np.where(np.isnan(radius), half, radius)


def _in_volume(
    scene: Scene, threshold: FloatArray, assignment: Assignment, duplicates: Duplicates
) -> Labels:
    reach = np.fmax(threshold - NEGLIGIBLE_MM, 0.0)
    mark, nodule = pairs_within(
        scene.mark_case, scene.mark_xyz, scene.nodule_case, scene.nodule_xyz, reach
    )
    apart = scene.mark_xyz[mark] - scene.nodule_xyz[nodule]
    # no mark can be near enough to a nodule of unknown size
    unmeasured = int(np.count_nonzero(np.isnan(threshold) & scene.is_target))
    return one_to_one_labels(
        scene,
        mark,
        nodule,
        np.linalg.norm(apart, axis=1),
        assignment=assignment,
        duplicates=duplicates,
        notices=(Notice("nodules_without_size", {"count": unmeasured}),) if unmeasured else (),
    )
