"""Chest -> the tubes in and between its lungs: vessels, airways, oesophagus, nodes, thyroid."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.phantom.chest import (
    LEFT,
    RIGHT,
    SIDES,
    Chest,
    heart_surface,
    lobe_of,
    lung_surface,
)
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
    points = _random_points(chest, side, branching.ends_per_litre, random)
    lobe = lobe_of(chest, points, side)
    return [points[lobe == number] for number in np.unique(lobe)]


def _random_points(
    chest: Chest, side: int, per_litre: float, random: np.random.Generator
) -> FloatArray:
    low = np.array([0.0, chest.center_y - chest.half_depth, chest.lowest_z])
    high = np.array([chest.half_width, chest.center_y + chest.half_depth + 14, chest.apex_z])
    litres = float(np.prod(high - low)) / 1e6
    points = random.uniform(low, high, (round(per_litre * litres), 3))
    points[:, 0] *= side
    depth = lung_surface(chest, points[:, 0], points[:, 1], points[:, 2], side)
    return points[depth < -SUBPLEURAL_MM]


def _twigs(vessels: Tubes, branching: Branching, random: np.random.Generator) -> Tubes:
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


OESOPHAGUS_RADIUS_MM = 7.0
NODES = 16
NODE_RADIUS_MM = (1.6, 3.8)
"""Half of the short axis; a node of 10 mm or more would be taken for disease."""
LIVER_ENDS, LIVER_END_RADIUS_MM = 45, 0.9
PLAQUES = 7
PLAQUE_RADIUS_MM = (0.5, 1.1)


@dataclass(frozen=True)
class GreatVessels:
    """Tubes by the blood in them, which contrast medium reaches at different times."""

    upper_veins: Tubes
    lower_veins: Tubes
    pulmonary: Tubes
    left_atrium: Tubes
    """From one lung's veins to the other's."""
    aorta: Tubes
    neck_arteries: Tubes


def great_vessels(chest: Chest) -> GreatVessels:
    scale = chest.half_width / 134.0
    back = chest.spine_y
    fork = (12.0, back - 66.0 * scale, -8.0)
    trunk = path(
        np.array([[20.0, back - 88.0 * scale, -42.0], [18.0, back - 80.0 * scale, -20.0], fork]),
        13.0,
    )
    right_bend, left_bend = (-14.0, back - 52.0 * scale, -14.0), (26.0, back - 46.0 * scale, -2.0)
    right = path(np.array([fork, right_bend, hilum(chest, RIGHT)]), [12.0, 11.0, 9.0])
    left = path(np.array([fork, left_bend, hilum(chest, LEFT)]), [12.0, 11.0, 9.0])
    cava = path(
        [(-22.0, back - 66.0, 62.0), (-23.0, back - 68.0, 0.0), (-22.0, back - 58.0, -50.0)], 8.5
    )
    lower_cava = path([(-20.0, back - 48.0, -70.0), (-24.0, back - 40.0, -220.0)], 11.5)
    atrium = path([(-24.0, back - 36.0, -44.0), (26.0, back - 34.0, -44.0)], 14.0)
    return GreatVessels(
        upper_veins=Tubes.joined(cava, *_neck_veins(back)),
        lower_veins=lower_cava,
        pulmonary=Tubes.joined(trunk, right, left),
        left_atrium=atrium,
        aorta=_aorta(chest),
        neck_arteries=Tubes.joined(*_neck_arteries(back)),
    )


def _aorta(chest: Chest) -> Tubes:
    scale = chest.half_width / 134.0
    back = chest.spine_y
    return path(
        [
            (4.0, back - 72.0 * scale, -48.0),
            (-10.0, back - 78.0 * scale, -12.0),
            (-8.0, back - 70.0 * scale, 24.0),
            (15.0, back - 47.0 * scale, 42.0),  # left of the trachea
            (21.0, back - 22.0 * scale, 34.0),
            (21.0, back - 20.0, 0.0),
            (19.0, back - 20.0, -90.0),
            (8.0, back - 22.0, -220.0),
        ],
        np.array([16.0, 16.0, 15.0, 13.5, 12.5, 12.0, 11.5, 11.0]) * scale,
        smoothness=2,
    )


def azygos(chest: Chest) -> Tubes:
    """The vein on the spine, which bends forward over the right main bronchus."""
    back = chest.spine_y
    points = [
        (-8.0, back - 16.5, -200.0),
        (-9.0, back - 16.5, -20.0),
        (-5.0, back - 20.0, 14.0),
        (-14.0, back - 38.0, 20.0),
        (-21.0, back - 62.0, 16.0),
    ]
    return path(points, [2.4, 3.2, 3.6, 4.0, 4.2], smoothness=2)


def _neck_arteries(back: float) -> list[Tubes]:
    tubes = []
    for x, turn, radius in ((-6.0, -6.0, 6.0), (5.0, 4.0, 4.2), (14.0, 16.0, 4.8)):
        arch, neck = (x, back - 56.0 + turn, 42.0), (3.2 * x, back - 56.0, 150.0)
        tubes.append(path([arch, (2.2 * x - 4, back - 52.0, 90.0), neck], radius))
    return tubes


def _neck_veins(back: float) -> list[Tubes]:
    return [
        path([(-22.0, back - 66.0, 60.0), (-28.0, back - 64.0, 150.0)], 7.0),
        path(
            [(-20.0, back - 72.0, 58.0), (14.0, back - 78.0, 78.0), (30.0, back - 66.0, 150.0)], 6.5
        ),
    ]


def arm_vessels(chest: Chest) -> Tubes:
    back = chest.spine_y
    lines = []
    for side in SIDES:
        for deeper, radius in ((0.0, 3.6), (8.0, 4.4)):
            root = (side * 40.0, back - 58.0 - deeper, chest.apex_z - 4.0)
            bend = (side * 80.0, back - 78.0 - deeper, chest.apex_z - 8.0)
            pit = (side * (chest.half_width + 14.0), chest.center_y - 4.0 - deeper, 62.0)
            arm = (side * (chest.half_width + 46.0), chest.center_y + 6.0, 100.0)
            lines.append(path([root, bend, pit, arm], radius, smoothness=2))
    return Tubes.joined(*lines)


def liver_vessels(chest: Chest, random: np.random.Generator) -> Tubes:
    top = chest.right_dome_z
    trees = []
    for root in ((-20.0, chest.spine_y - 50.0, top - 14.0), (-12.0, -12.0, top - 62.0)):
        low, high = (-112.0, -62.0, top - 110.0), (20.0, 44.0, top - 12.0)
        ends = random.uniform(low, high, (LIVER_ENDS, 3))
        trees.append(grow_tree(np.array(root), ends, LIVER_END_RADIUS_MM, random))
    return Tubes.joined(*(tree.tubes for tree in trees))


def mammary_vessels(chest: Chest) -> Tubes:
    """Thin vessels down the inner side of the breastbone's edges."""
    front = chest.center_y - chest.half_depth
    top, bottom = (24.0, front + 10.0, chest.apex_z - 10.0), (25.0, front + 1.0, -100.0)
    return _on_both_sides([top, bottom], 1.4)


def oesophagus(chest: Chest) -> Tubes:
    back = chest.spine_y
    points = [
        (3.0, back - 22.0, 170.0),
        (4.0, back - 24.0, 0.0),
        (0.0, back - 19.5, -44.0),  # behind the left atrium
        (6.0, back - 32.0, -120.0),
    ]
    return path(points, OESOPHAGUS_RADIUS_MM)


def swallowed_air(gullet: Tubes, random: np.random.Generator) -> Tubes:
    pieces = gullet.cut()
    has_air = random.random(len(pieces)) < 0.3
    radius = random.uniform(0.6, 2.0, len(pieces))
    return Tubes(pieces.start, pieces.end, radius, radius).chosen(has_air)


def thyroid(chest: Chest) -> Tubes:
    """Both lobes next to the trachea, of which a scan of the chest shows the lower ends."""
    front = chest.spine_y - 50.0
    low, high = (15.0, front, chest.apex_z + 4.0), (16.0, front, chest.apex_z + 50.0)
    return _on_both_sides([low, high], 8.0)


def _on_both_sides(points: list[tuple[float, float, float]], radius: float) -> Tubes:
    lines = ([(side * x, y, z) for x, y, z in points] for side in SIDES)
    return Tubes.joined(*(path(line, radius) for line in lines))


def lymph_nodes(chest: Chest, random: np.random.Generator) -> Tubes:
    """Small nodes in the fat around the trachea and in front of the great vessels."""
    back = chest.spine_y
    low, high = np.array([-26.0, back - 92.0, -45.0]), np.array([34.0, back - 24.0, 85.0])
    start = random.uniform(low, high, (NODES, 3))
    heading = random.standard_normal((NODES, 3)) * np.array([2.0, 2.0, 3.0])
    radius = random.uniform(*NODE_RADIUS_MM, NODES)
    return Tubes(start, start + heading, radius, 0.8 * radius)


def plaques(aorta: Tubes, random: np.random.Generator) -> Tubes:
    """Calcified spots on the wall of the aorta, as most people above fifty have them."""
    which = random.integers(len(aorta), size=PLAQUES)
    along = aorta.end[which] - aorta.start[which]
    aside = np.cross(along, random.standard_normal((PLAQUES, 3)))
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    start = aorta.start[which] + aside * aorta.start_radius[which][:, None]
    length = random.uniform(2.0, 6.0, (PLAQUES, 1))
    heading = along / np.linalg.norm(along, axis=1, keepdims=True)
    radius = random.uniform(*PLAQUE_RADIUS_MM, PLAQUES)
    return Tubes(start, start + length * heading, radius, radius)


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
