"""Chest -> how its lung vessels divide, and the crowd of short, wide ones around each hilum."""

import numpy as np

from nodulebench.phantom.body.chest import SIDES, Chest, lung_surface
from nodulebench.phantom.body.lung_vessels import Branching, hilum
from nodulebench.phantom.tree import grow_tree
from nodulebench.phantom.tubes import Tubes

SPARSE = Branching(
    ends_per_litre=200,
    end_radius_mm=0.66,
    stretch=0.52,
    flare=1.0,
    twigs_per_vessel=1,
    scattered_per_litre=1000,
    scattered_mm=(20.0, 45.0),
    scattered_radius_mm=(0.28, 0.42),
)
"""Fewer, longer and wider vessels, as detectors find them in scans of people."""
ENDS = 14
END_RADIUS_MM = 0.75
REACH_MM = (18.0, 62.0)
"""How far from the hilum their ends lie."""


def hilar_vessels(chest: Chest, random: np.random.Generator) -> Tubes:
    """Vessels of either side that branch soon after they enter the lung."""
    trees = []
    for side in SIDES:
        root = hilum(chest, side)
        heading = random.standard_normal((40 * ENDS, 3))
        heading /= np.linalg.norm(heading, axis=1, keepdims=True)
        ends = root + heading * random.uniform(*REACH_MM, (len(heading), 1))
        x, y, z = ends.T
        inside = lung_surface(chest, x, y, z, side) < -4.0
        ends = ends[inside][:ENDS]
        if len(ends):
            trees.append(grow_tree(root, ends, END_RADIUS_MM, random).tubes)
    return Tubes.joined(*trees)
