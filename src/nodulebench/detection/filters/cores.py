"""Mask -> centres of its bulky parts: what remains of it when thinned more and more.

Parts that hang together by vessels or rims come apart when thinned; each remaining core is a
candidate with the size that it had before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, Columns, FloatArray
from nodulebench.detection.filters.regions import CORNERS, FACES, find_regions
from nodulebench.imaging.morphology import eroded

BALL_SPREAD = np.sqrt(3.0 / 5.0)
"""Root mean square distance from the centre of a ball of radius one."""


@dataclass(frozen=True, eq=False)
class Parts(Columns):
    """Parts of a mask, one entry of each array per part; in voxels of a cubic grid."""

    center: FloatArray
    """n x 3: slice, row, column."""
    radius: FloatArray
    """Of the ball with the part's volume."""
    compactness: FloatArray
    """1: a ball; less the longer or the more ragged."""


def parts_of(mask: BoolArray, thinning: float = 0.0, fewest: int = 1) -> Parts:
    """The regions of a mask after it was thinned by so many voxels.

    A core of ``fewest`` voxels or more counts; its radius is given back what thinning took.
    """
    core = eroded(mask, thinning, np.ones(3)) if thinning else mask
    regions = find_regions(core, CORNERS if thinning else FACES)
    regions = regions.kept(regions.size >= fewest)
    radius = np.cbrt(regions.size * 3.0 / (4.0 * np.pi))
    # a voxel is a cube, not a point: its own mean square distance from its centre is 1/4
    spread = np.sqrt(regions.spread**2 + 0.25)
    compactness = np.minimum(1.0, radius * BALL_SPREAD / spread)
    return Parts(regions.center, radius + thinning, compactness)


def all_parts(levels: Sequence[Parts], apart: float) -> Parts:
    """Parts of all levels; one nearer than ``apart`` to a part of an earlier level is the same."""
    from scipy.spatial import cKDTree

    kept = levels[0]
    for level in levels[1:]:
        if not len(level):
            continue
        is_new = np.ones(len(level), dtype=np.bool_)
        if len(kept):
            is_new = np.asarray(cKDTree(kept.center).query(level.center)[0]) > apart
        kept = Parts.joined(kept, level.chosen(is_new))
    return kept
