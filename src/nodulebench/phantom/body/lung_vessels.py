"""Chest -> the tubes in its lungs: arteries, veins, and bronchi next to the arteries."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.phantom.body.chest import RIGHT, SIDES, Chest, heart_surface, lobe_of, lung_surface
from nodulebench.phantom.tubes import FLARE, STRETCH, Tree, Tubes, grow_tree, path

TWIG_PARENT_RADIUS_MM = 1.2
TWIG_MM = (2.5, 6.0)
SUBPLEURAL_MM = 7.0
"""Vessels end this far from the pleura."""
BRONCHUS_LEAST_ENDS = 24
"""Bronchi next to thinner arteries are not seen on CT."""
BRONCHUS_TO_ARTERY = 0.82
HEART_MARGIN_MM = 4.0
TRACHEA_RADIUS_MM = 8.6
MAIN_BRONCHUS_RADIUS_MM = 6.6


@dataclass(frozen=True, slots=True)
class Branching:
    """How vessels divide."""

    ends_per_litre: float = 720
    """How many ends arteries and veins have each; from these on there are only twigs."""
    end_radius_mm: float = 0.38
    stretch: float = STRETCH
    flare: float = FLARE
    twigs_per_vessel: int = 3
    scattered_per_litre: float = 3000
    """The ends of vessels that are thinner still."""
    scattered_mm: tuple[float, float] = (3.0, 9.0)
    scattered_radius_mm: tuple[float, float] = (0.25, 0.55)


USUAL = Branching()


@dataclass(frozen=True)
class LungTubes:
    """Vessels and airways; airways as their outer surface and their lumen."""

    vessels: Tubes
    twigs: Tubes
    """The finest vessels, thinner than a voxel."""
    bronchi: Tubes
    lumens: Tubes
    central_airways: Tubes
    """The lumen of trachea and main bronchi."""


def hilum(chest: Chest, side: int) -> FloatArray:
    """Where the artery enters the lung."""
    scale = chest.half_width / 134.0
    z = -12.0 if side == RIGHT else -4.0
    return np.array([side * 36.0 * scale, chest.spine_y - 42.0 * scale, z * scale])


def grow_lung_tubes(
    chest: Chest, random: np.random.Generator, branching: Branching = USUAL
) -> LungTubes:
    """All vessels and airways of both lungs."""
    arteries, veins, bronchi, lumens = [], [], [], []
    for side in SIDES:
        lobes = _ends_by_lobe(chest, side, branching, random)
        vein_lobes = _ends_by_lobe(chest, side, branching, random)
        entry = hilum(chest, side)
        atrium = np.array([side * 24.0, chest.spine_y - 34.0, -44.0])
        for ends, vein_ends in zip(lobes, vein_lobes, strict=True):
            artery = _tree(entry, ends, branching, random)
            arteries.append(artery.tubes)
            veins.append(_tree(atrium, vein_ends, branching, random).tubes)
            bronchus, lumen = _bronchus_along(chest, artery, side)
            bronchi.append(bronchus)
            lumens.append(lumen)
    vessels = Tubes.joined(*arteries, *veins)
    return LungTubes(
        vessels=vessels,
        twigs=Tubes.joined(
            _twigs(vessels, branching, random),
            *(_scattered(chest, side, branching, random) for side in SIDES),
        ),
        bronchi=Tubes.joined(*bronchi),
        lumens=Tubes.joined(*lumens),
        central_airways=_central_airways(chest),
    )


def _tree(
    root: FloatArray, ends: FloatArray, branching: Branching, random: np.random.Generator
) -> Tree:
    radius, stretch, flare = branching.end_radius_mm, branching.stretch, branching.flare
    return grow_tree(root, ends, radius, random, stretch=stretch, flare=flare)


def _ends_by_lobe(
    chest: Chest, side: int, branching: Branching, random: np.random.Generator
) -> list[FloatArray]:
    """Evenly scattered ends in each lobe of a lung."""
    points = _random_points(chest, side, branching.ends_per_litre, random)
    lobe = lobe_of(chest, points, side)
    return [points[lobe == number] for number in np.unique(lobe)]


def _random_points(
    chest: Chest, side: int, per_litre: float, random: np.random.Generator
) -> FloatArray:
    """Points in a lung, not too near the pleura."""
    low = np.array([0.0, chest.center_y - chest.half_depth, chest.lowest_z])
    high = np.array([chest.half_width, chest.center_y + chest.half_depth + 14, chest.apex_z])
    litres = float(np.prod(high - low)) / 1e6
    points = random.uniform(low, high, (round(per_litre * litres), 3))
    points[:, 0] *= side
    depth = lung_surface(chest, points[:, 0], points[:, 1], points[:, 2], side)
    return points[depth < -SUBPLEURAL_MM]


def _twigs(vessels: Tubes, branching: Branching, random: np.random.Generator) -> Tubes:
    """Two generations of short side branches along all small vessels."""
    small = vessels.chosen(vessels.end_radius < TWIG_PARENT_RADIUS_MM)
    first = _side_branches(small, branching.twigs_per_vessel, random)
    return Tubes.joined(first, _side_branches(first, 2, random))


def _scattered(chest: Chest, side: int, branching: Branching, random: np.random.Generator) -> Tubes:
    """Ends of vessels all over a lung, which point away from its hilum."""
    start = _random_points(chest, side, branching.scattered_per_litre, random)
    heading = start - hilum(chest, side)
    heading /= np.linalg.norm(heading, axis=1, keepdims=True)
    heading += random.normal(0, 0.5, start.shape)
    heading /= np.linalg.norm(heading, axis=1, keepdims=True)
    length = random.uniform(*branching.scattered_mm, (len(start), 1))
    radius = random.uniform(*branching.scattered_radius_mm, len(start))
    return Tubes(start, start + length * heading, radius, 0.7 * radius)


def _side_branches(parents: Tubes, count: int, random: np.random.Generator) -> Tubes:
    parent = np.repeat(np.arange(len(parents)), count)
    along = parents.end[parent] - parents.start[parent]
    start = parents.start[parent] + random.uniform(0.3, 1.0, (len(parent), 1)) * along
    heading = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    heading = 0.6 * heading + random.normal(0, 0.6, start.shape)
    heading /= np.linalg.norm(heading, axis=1, keepdims=True)
    length = random.uniform(*TWIG_MM, (len(parent), 1))
    radius = np.minimum(0.75 * parents.end_radius[parent], random.uniform(0.22, 0.46, len(parent)))
    return Tubes(start, start + length * heading, radius, 0.8 * radius)


def _bronchus_along(chest: Chest, artery: Tree, side: int) -> tuple[Tubes, Tubes]:
    """Bronchi that run along the larger branches of an artery: outer surface and lumen."""
    is_seen = artery.ends >= BRONCHUS_LEAST_ENDS
    for end in (artery.tubes.start, artery.tubes.end):
        is_seen &= heart_surface(chest, *end.T) > HEART_MARGIN_MM
    seen = artery.tubes.chosen(is_seen)
    lean = np.array([-0.4 * side, -0.2, 0.9])
    radii = seen.start_radius, seen.end_radius
    ends = [
        at + lean * (radius * (1.1 + BRONCHUS_TO_ARTERY))[:, None]
        for at, radius in zip((seen.start, seen.end), radii, strict=True)
    ]
    lumen = [BRONCHUS_TO_ARTERY * radius for radius in radii]
    outer = [radius + (0.25 + 0.11 * radius) for radius in lumen]
    return Tubes(*ends, *outer), Tubes(*ends, *lumen)


def _central_airways(chest: Chest) -> Tubes:
    """Trachea and main bronchi."""
    front = chest.spine_y - 36.0
    trachea = path(
        [(0.0, front - 12.0, 175.0), (-1.0, front - 4.0, 70.0), (0.0, front, 0.0)],
        TRACHEA_RADIUS_MM,
        smoothness=2,
    )
    mains = []
    for side in SIDES:
        entry = hilum(chest, side)
        target = entry + np.array([0.0, 4.0, -26.0 - entry[2] + 8.0])
        mains.append(
            path(
                [(0.0, front, 4.0), (side * 12.0, front + 1.0, -9.0), tuple(target)],
                [TRACHEA_RADIUS_MM * 0.8, MAIN_BRONCHUS_RADIUS_MM, MAIN_BRONCHUS_RADIUS_MM * 0.85],
            )
        )
    return Tubes.joined(trachea, *mains)
