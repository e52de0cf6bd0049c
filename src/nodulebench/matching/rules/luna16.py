"""LUNA16: a mark within the nodule's radius is a hit; further marks on a nodule do not count."""

from typing import Literal

import numpy as np

from nodulebench.core.cohort import DUPLICATE, FALSE_POSITIVE, HIT, IGNORED, NO_NODULE, Labels
from nodulebench.core.notices import Notice
from nodulebench.matching.pairs import first_of_each, pairs_within
from nodulebench.matching.scene import Scene


def luna16(
    scene: Scene,
    *,
    unmeasured_diameter_mm: float = 10.0,
    duplicates: Literal["ignore", "false_positive"] = "ignore",
) -> Labels:
    """Label marks as the official LUNA16 evaluation program does.

    A mark strictly closer to a nodule's centre than half its diameter hits it (3-D, mm). The
    best-scored mark on a nodule is the hit, the others are duplicates. A mark inside two nodules
    hits both. Marks left over that lie in an ignored finding are ignored; the rest are false
    positives.

    Setio et al., Medical Image Analysis 42 (2017) 1-13, and the evaluation program distributed
    with the challenge.

    Args:
        scene: marks and nodules.
        unmeasured_diameter_mm: diameter of findings that were not measured.
        duplicates: whether further marks on a nodule are left out or count as false positives.
    """
    diameter = np.where(
        np.isnan(scene.nodule_diameter_mm), unmeasured_diameter_mm, scene.nodule_diameter_mm
    )
    mark, nodule = pairs_within(
        scene.mark_case, scene.mark_xyz, scene.nodule_case, scene.nodule_xyz, diameter / 2.0
    )
    on_target = scene.is_target[nodule]
    hit_mark, hit_nodule = mark[on_target], nodule[on_target]
    rank = np.empty(scene.mark_count, dtype=np.int64)
    rank[scene.best_first] = np.arange(scene.mark_count)
    by_rank = np.lexsort((rank[hit_mark], hit_nodule))
    hit_mark, hit_nodule = hit_mark[by_rank], hit_nodule[by_rank]
    is_best = first_of_each(hit_nodule)

    is_free = np.ones(scene.mark_count, dtype=np.bool_)
    is_free[hit_mark] = False
    ignorable = ~on_target & is_free[mark]
    ignored_mark, first_entry = np.unique(mark[ignorable], return_index=True)
    ignored_nodule = nodule[ignorable][first_entry]
    is_free[ignored_mark] = False
    false_mark = np.flatnonzero(is_free)

    # a second mark that is the best on another nodule is not a false positive, and others are one
    # each
    is_false = (duplicates == "false_positive") & ~np.isin(hit_mark, hit_mark[is_best])
    is_again = np.ones(len(hit_mark), dtype=np.bool_)
    is_again[np.unique(hit_mark, return_index=True)[1]] = False
    second = np.where(is_false & ~is_again, FALSE_POSITIVE, DUPLICATE)
    in_two = int(np.count_nonzero(np.bincount(hit_mark) > 1))
    return Labels(
        mark=np.concatenate([hit_mark, ignored_mark, false_mark]),
        nodule=np.concatenate([hit_nodule, ignored_nodule, np.full_like(false_mark, NO_NODULE)]),
        label=np.concatenate(
            [
                np.where(is_best, HIT, second),
                np.full_like(ignored_mark, IGNORED),
                np.full_like(false_mark, FALSE_POSITIVE),
            ]
        ),
        notices=(Notice("marks_in_two_nodules", {"count": in_two}),) if in_two else (),
    )
