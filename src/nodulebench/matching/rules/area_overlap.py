"""Area overlap: a mark's box covers more than half of the nodule's box on the same slice."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from nodulebench.core.cohort import HIT, Labels
from nodulebench.core.notices import Notice
from nodulebench.matching.assignment import Assignment, Duplicates, one_to_one_labels
from nodulebench.matching.scene import Scene, best_slices, boxless_notices, shared_slices

_EQUAL = 1e-9  # shares that differ by less are equal


def area_overlap(
    scene: Scene,
    *,
    threshold: Annotated[float, Field(ge=0, lt=1)] = 0.5,
    share_of: Literal["nodule", "union"] = "nodule",
    assignment: Assignment = "greedy",
    duplicates: Duplicates = "false_positive",
) -> Labels:
    """Label marks by NIFDC's third rule.

    A mark qualifies for a nodule if on any slice the area common to both boxes is strictly more
    than half of the nodule's box. A box that is far too large covers all of the nodule and
    qualifies; the notice therefore tells the intersection over union of the hits. Of several marks
    the one with the largest share is the hit. Further marks on the nodule stay free for other
    nodules, else they are false positives.

    Wang et al., Frontiers in Public Health 10 (2022).

    Args:
        scene: marks and nodules with boxes per slice.
        threshold: the share to be exceeded.
        share_of: the common area as a share of the nodule's box, or of the union of both (IoU).
        assignment: nodules in the reference's order (published), or as many hits as possible.
        duplicates: whether further marks on a nodule are left out or count as false positives.
    """
    shared = shared_slices(scene, "area_overlap")
    of_nodule, of_union = shared.overlap()
    share = of_nodule if share_of == "nodule" else of_union
    large = np.flatnonzero(share > threshold + _EQUAL)
    large = large[best_slices(shared.mark[large], shared.nodule[large], -share[large])]
    mark, nodule = shared.mark[large], shared.nodule[large]
    labels = one_to_one_labels(
        scene,
        mark,
        nodule,
        -share[large],
        assignment=assignment,
        duplicates=duplicates,
        notices=boxless_notices(scene, shared),
    )
    is_hit = labels.label == HIT
    number = mark * scene.nodule_count + nodule
    hit_number = labels.mark[is_hit] * scene.nodule_count + labels.nodule[is_hit]
    iou = of_union[large][np.isin(number, hit_number)]
    if not len(iou):
        return labels
    low = int(np.count_nonzero(iou <= 0.5 + _EQUAL))
    values = {"count": len(iou), "mean": float(iou.mean()), "low": low}
    return replace(labels, remarks=(Notice("overlap_of_hits", values),))
