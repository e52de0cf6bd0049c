"""Chest -> what bulges into its lungs: ribs, spine, vessels and nodes between them, diaphragm.

A bulge is a ball whose middle is about the pleura, or a tube along a rib. Lungs end where it
begins, in the image and in the truth; none comes near a nodule.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.phantom.bones import build_skeleton
from nodulebench.phantom.chest import SIDES, Chest, costal_surface, diaphragm_surface
from nodulebench.phantom.nodule import Nodule
from nodulebench.phantom.nodule_placement import Surroundings
from nodulebench.phantom.tubes import Tubes

BULGE_HU = 25.0
TO_NODULE_MM = 6.0
NEAR_PLEURA_MM = 14.0
PLACES = 6000
FOOT_STEPS = 4
NEAR_RIBS_MM = 6.0
NEAR_DOME_MM = 6.0
SPINE_X_MM = 48.0
RIB_MM = (0.3, 2.6)
"""How far ribs and the muscles between them reach into the lung."""
RIB_RADIUS_MM = 7.0


@dataclass(frozen=True, slots=True)
class Bulges:
    """How many there are at a place, how wide, and how far they reach into the lung (mm)."""

    count: int
    radius_mm: tuple[float, float]
    height_mm: tuple[float, float]


KINDS = {
    "ribs": Bulges(80, (5.0, 18.0), (0.8, 3.2)),
    "diaphragm": Bulges(30, (6.0, 18.0), (1.5, 4.5)),
    "spine": Bulges(12, (6.0, 12.0), (0.8, 2.6)),
    "between": Bulges(12, (6.0, 15.0), (0.8, 2.6)),
}
"""Fat and plaques, folds of the diaphragm, spurs of bone, vessels and nodes between the lungs."""


def grow_bulges(
    around: Surroundings, nodules: Sequence[Nodule], random: np.random.Generator
) -> Tubes:
    feet = _feet(around, random)
    outward = around.outward(feet)
    place = _places(around.chest, feet)
    bulges = [_rib_bulges(around, random)]
    for name, kind in KINDS.items():
        chosen = np.flatnonzero(place == name)[: kind.count]
        bulges.append(_balls(feet[chosen], outward[chosen], kind, random))
    grown = Tubes.joined(*bulges)
    is_apart = np.ones(len(grown), dtype=np.bool_)
    reach = np.maximum(grown.start_radius, grown.end_radius) + TO_NODULE_MM
    for nodule in nodules:
        for end in (grown.start, grown.end, (grown.start + grown.end) / 2):
            distance = np.linalg.norm(end - nodule.shape.center_mm, axis=1)
            is_apart &= distance > reach + nodule.shape.largest_reach_mm
    return grown.chosen(is_apart)


def _feet(around: Surroundings, random: np.random.Generator) -> FloatArray:
    chest = around.chest
    low = np.array([-chest.half_width, chest.center_y - chest.half_depth, chest.lowest_z])
    high = np.array([chest.half_width, chest.center_y + chest.half_depth + 14, chest.apex_z])
    points = random.uniform(low, high, (PLACES, 3))
    points = points[np.abs(around.pleura_mm(points)) < NEAR_PLEURA_MM]
    for _ in range(FOOT_STEPS):
        points = points - around.outward(points) * around.pleura_mm(points)[:, None]
    feet: FloatArray = points[np.abs(around.pleura_mm(points)) < 1.0]
    return feet


def _places(chest: Chest, feet: FloatArray) -> FloatArray:
    x, y, z = feet.T
    side = np.sign(x)
    ribs = np.minimum(*(np.abs(costal_surface(chest, x, y, z, side)) for side in SIDES))
    dome = np.minimum(*(np.abs(diaphragm_surface(chest, x, y, z, side)) for side in SIDES))
    is_spine = (side * x < SPINE_X_MM) & (y > chest.spine_y - 6.0)
    return np.select(
        [is_spine, dome < NEAR_DOME_MM, ribs < NEAR_RIBS_MM],
        ["spine", "diaphragm", "ribs"],
        "between",
    )


def _balls(
    feet: FloatArray, outward: FloatArray, kind: Bulges, random: np.random.Generator
) -> Tubes:
    """Balls, somewhat drawn out along the pleura."""
    count = len(feet)
    radius = random.uniform(*kind.radius_mm, count)
    height = np.minimum(random.uniform(*kind.height_mm, count), 1.2 * radius)
    middle = feet + outward * (radius - height)[:, None]
    along = np.cross(outward, random.standard_normal((count, 3)))
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    half = along * (random.uniform(0.0, 0.8, count) * radius)[:, None]
    return Tubes(middle - half, middle + half, radius, radius * random.uniform(0.6, 1.0, count))


def _rib_bulges(around: Surroundings, random: np.random.Generator) -> Tubes:
    ribs = build_skeleton(around.chest).ribs.cut()
    ends = []
    for end in (ribs.start, ribs.end):
        toward = -around.outward(end)
        ends.append((end, toward, around.pleura_mm(end)))
    height = np.repeat(random.uniform(*RIB_MM, len(ribs) // 4 + 1), 4)[: len(ribs)]
    start, stop = (
        end + toward * (outside - RIB_RADIUS_MM + height)[:, None] for end, toward, outside in ends
    )
    wide = np.full(len(ribs), RIB_RADIUS_MM)
    return Tubes(start, stop, wide, wide)
