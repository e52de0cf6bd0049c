"""Points that a lobe's vessels have to reach -> a branching tree of tubes.

A branch divides the points it serves into two halves across their widest extent and sends a
daughter part of the way to the middle of either half, as the bronchial tree models of Kitaoka et
al. (J Appl Physiol 87:2207-2217, 1999) do. Radii follow from the number of ends served.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.phantom.tubes import Tubes

STRETCH = 0.42
"""How far towards the middle of its points a branch runs before it divides."""
FLARE = 1.15
"""How much wider a branch begins than it goes on."""
TAPER = 2.6
"""A parent's radius to this power is the sum of its daughters' (Murray's law has 3)."""
UNEVENNESS = 0.22
LAST_POINTS = 2


@dataclass(frozen=True)
class Tree:
    """Branches with the number of ends that each serves."""

    tubes: Tubes
    ends: IntArray


def grow_tree(
    root: FloatArray,
    points: FloatArray,
    end_radius_mm: float,
    random: np.random.Generator,
    *,
    stretch: float = STRETCH,
    flare: float = FLARE,
) -> Tree:
    """Branches from a root to every point."""
    starts: list[FloatArray] = []
    stops: list[FloatArray] = []
    counts: list[int] = []
    parents: list[int] = []
    waiting = [(root, points, -1)]
    while waiting:
        start, served, parent = waiting.pop()
        count = len(served)
        middle = served.mean(axis=0)
        stop = served[0] if count == 1 else start + stretch * (middle - start)
        if count > LAST_POINTS:
            length = float(np.linalg.norm(stop - start))
            stop = stop + random.normal(0, 0.07 * length, 3)
        number = len(counts)
        starts.append(start)
        stops.append(stop)
        counts.append(count)
        parents.append(parent)
        if count > 1:
            for half in _halves(served, middle - start, random):
                waiting.append((stop, half, number))
    ends = np.array(counts, dtype=np.int64)
    radius = end_radius_mm * ends.astype(np.float64) ** (1 / TAPER)
    parent_radius = np.where(np.array(parents) >= 0, radius[np.array(parents)], radius)
    # a daughter is never wider than its parent
    tubes = Tubes(
        np.array(starts), np.array(stops), np.minimum(parent_radius, flare * radius), radius
    )
    return Tree(tubes, ends)


def _halves(
    points: FloatArray, heading: FloatArray, random: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Divide points across the widest extent that is not along the heading."""
    offsets = points - points.mean(axis=0)
    along = heading / max(float(np.linalg.norm(heading)), 1e-9)
    sideways = offsets - 0.6 * np.outer(offsets @ along, along)
    if len(points) > LAST_POINTS:
        _, vectors = np.linalg.eigh(sideways.T @ sideways)
        place = offsets @ vectors[:, -1]
    else:
        place = sideways @ sideways[0]
    order = np.argsort(place)
    share = 0.5 + random.uniform(-UNEVENNESS, UNEVENNESS)
    cut = min(max(1, round(share * len(points))), len(points) - 1)
    return points[order[:cut]], points[order[cut:]]
