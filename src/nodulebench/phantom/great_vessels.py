"""Chest -> the tubes between its lungs: aorta, pulmonary arteries, large veins, oesophagus."""

import numpy as np

from nodulebench.phantom.bronchovascular import hilum
from nodulebench.phantom.chest import LEFT, RIGHT, Chest
from nodulebench.phantom.tubes import Tubes, join_tubes, path

OESOPHAGUS_RADIUS_MM = 7.0


def great_vessels(chest: Chest) -> Tubes:
    """Tubes filled with blood."""
    scale = chest.half_width / 134.0
    back = chest.spine_y
    aorta = path(
        [
            (4.0, back - 72.0 * scale, -48.0),
            (-10.0, back - 78.0 * scale, -12.0),
            (-8.0, back - 70.0 * scale, 24.0),
            (8.0, back - 48.0 * scale, 42.0),
            (20.0, back - 22.0 * scale, 34.0),
            (21.0, back - 20.0, 0.0),
            (19.0, back - 20.0, -90.0),
            (8.0, back - 22.0, -220.0),
        ],
        np.array([16.0, 16.0, 15.0, 13.5, 12.5, 12.0, 11.5, 11.0]) * scale,
        smoothness=2,
    )
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
    return join_tubes(aorta, trunk, right, left, cava, lower_cava, atrium, *_neck_vessels(back))


def _neck_vessels(back: float) -> list[Tubes]:
    """Branches of the arch and the veins beside them, up to the neck."""
    arteries = [
        path(
            [
                (x, back - 56.0 + turn, 42.0),
                (2.2 * x - 4, back - 52.0, 90.0),
                (3.2 * x, back - 56.0, 150.0),
            ],
            r,
        )
        for x, turn, r in ((-6.0, -6.0, 6.0), (5.0, 4.0, 4.2), (14.0, 16.0, 4.8))
    ]
    veins = [
        path([(-22.0, back - 66.0, 60.0), (-28.0, back - 64.0, 150.0)], 7.0),
        path(
            [(-20.0, back - 72.0, 58.0), (14.0, back - 78.0, 78.0), (30.0, back - 66.0, 150.0)], 6.5
        ),
    ]
    return [*arteries, *veins]


def oesophagus(chest: Chest) -> Tubes:
    """A collapsed tube in front of the spine."""
    back = chest.spine_y
    points = [(3.0, back - 22.0, 170.0), (4.0, back - 24.0, 0.0), (6.0, back - 32.0, -120.0)]
    return path(points, OESOPHAGUS_RADIUS_MM)
