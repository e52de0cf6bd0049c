"""LUNA16 one to one: the same radius as the official program, but a mark hits one nodule only."""

from typing import Annotated

import numpy as np
from pydantic import Field

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import Labels
from nodulebench.matching.assignment import Assignment, Duplicates, one_to_one_labels
from nodulebench.matching.pairs import pairs_within
from nodulebench.matching.scene import Scene


def luna16_clean(
    scene: Scene,
    *,
    unmeasured_diameter_mm: Annotated[float, Field(gt=0)] = 10.0,
    radius_factor: Annotated[float, Field(gt=0)] = 1.0,
    assignment: Assignment = "optimal",
    duplicates: Duplicates = "ignore",
) -> Labels:
    """Label marks by LUNA16's criterion without the oddities of its program.

    A mark strictly closer to a nodule's centre than half its diameter qualifies (3-D, mm), but it
    hits one nodule only, so hits, duplicates, ignored marks and false positives add up to the
    number of marks. The assignment finds as many nodules as possible and prefers high scores.
    Because the marks that can be assigned together form a matroid, it is then the best one at
    every score threshold at once, which is what a FROC curve needs; assigning nodule by nodule
    (``greedy``) depends on the order of the reference. Equal scores go to the closer mark.

    Criterion: Setio et al., Medical Image Analysis 42 (2017) 1-13.

    Args:
        scene: marks and nodules.
        unmeasured_diameter_mm: diameter of findings that were not measured.
        radius_factor: by what the radius is multiplied, for a sweep.
        assignment: as many hits as possible, or nodules in the reference's order.
        duplicates: whether further marks on a nodule are left out or count as false positives.
    """
    diameter = np.where(
        np.isnan(scene.nodule_diameter_mm), unmeasured_diameter_mm, scene.nodule_diameter_mm
    )
    radius = diameter / 2.0 * radius_factor
    mark, nodule = pairs_within(
        scene.mark_case, scene.mark_xyz, scene.nodule_case, scene.nodule_xyz, radius
    )
    apart = np.linalg.norm(scene.mark_xyz[mark] - scene.nodule_xyz[nodule], axis=1)
    return one_to_one_labels(
        scene,
        mark,
        nodule,
        cost=_places_by_score(scene)[mark],
        tie=apart / radius[nodule],
        assignment=assignment,
        duplicates=duplicates,
    )


def _places_by_score(scene: Scene) -> FloatArray:
    """0 for the highest score of all, 1 for the next; equal scores share a place."""
    if scene.mark_score is None:
        return np.zeros(scene.mark_count)
    return np.unique(-scene.mark_score, return_inverse=True)[1].astype(np.float64)
