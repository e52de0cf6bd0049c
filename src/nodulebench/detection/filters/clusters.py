"""Places with a strength -> one place for each cluster: its strongest."""

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray


def strongest_of_clusters(place: FloatArray, strength: FloatArray, reach: FloatArray) -> BoolArray:
    """Let each place, strongest first, take in all weaker ones within its reach.

    Args:
        place: n x 3.
        strength: ties keep the first.
        reach: in the unit of ``place``; what lies at just this distance is taken in.
    """
    from scipy.spatial import cKDTree

    is_kept = np.zeros(len(place), dtype=np.bool_)
    if not len(place):
        return is_kept
    is_free = np.ones(len(place), dtype=np.bool_)
    near = cKDTree(place).query_ball_point(place, reach)
    for one in np.argsort(-strength, kind="stable"):
        if is_free[one]:
            is_kept[one] = True
            is_free[near[one]] = False
    return is_kept
