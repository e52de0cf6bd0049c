"""Chest and its vessels -> where nodules of each kind can lie."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.phantom.chest import SIDES, Chest, costal_surface, lung_surface
from nodulebench.phantom.tubes import Tubes

CANDIDATES = 400
VESSEL_RADIUS_MM = (1.0, 2.6)
"""Of vessels that a juxtavascular nodule touches."""
SPACE_BETWEEN_MM = 6.0
SMALL_STEP_MM = 0.5
ISOLATION_MM = 4.0


@dataclass(frozen=True)
class NodulePosition:
    """Where a nodule shall be."""

    center_mm: FloatArray
    outward: FloatArray
    """Unit vector to the nearest pleura (or away from the vessel that is touched)."""


class NoPlaceError(Exception):
    """No candidate was far enough from the pleura and from other nodules."""


@dataclass(frozen=True)
class Surroundings:
    """What a nodule's place depends on."""

    chest: Chest
    vessels: Tubes
    taken: tuple[tuple[FloatArray, float], ...] = ()
    """Centres and radii of the nodules that are placed already."""

    def with_nodule(self, center_mm: FloatArray, radius_mm: float) -> "Surroundings":
        return Surroundings(self.chest, self.vessels, (*self.taken, (center_mm, radius_mm)))

    def pleura_mm(self, point: FloatArray) -> FloatArray:
        """Distance to the nearest pleura, negative in either lung, for points n x 3."""
        x, y, z = point.T
        return np.minimum(*(lung_surface(self.chest, x, y, z, side) for side in SIDES))

    def outward(self, point: FloatArray) -> FloatArray:
        """Unit vectors in which the distance to the pleura falls most."""
        slope = np.stack(
            [
                self.pleura_mm(point + step) - self.pleura_mm(point - step)
                for step in SMALL_STEP_MM * np.eye(3)
            ],
            axis=-1,
        )
        unit: FloatArray = slope / np.maximum(np.linalg.norm(slope, axis=-1, keepdims=True), 1e-9)
        return unit

    def is_inside_lung(
        self, point: FloatArray, radius_mm: float, wall_normal: FloatArray | None = None
    ) -> BoolArray:
        """Whether balls around points are in the lung; ``wall_normal`` points to a near wall.

        The distance to the pleura is not exact, but its sign is: the balls' surfaces are tried.
        """
        direction = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
        direction = direction[np.any(direction != 0, axis=1)]
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        if wall_normal is not None:
            direction = direction[direction @ wall_normal < -0.3]
        around = point[:, None, :] + radius_mm * direction
        depth = self.pleura_mm(around.reshape(-1, 3)).reshape(len(point), -1)
        is_inside: BoolArray = np.all(depth < 0, axis=1) & (self.pleura_mm(point) < 0)
        return is_inside

    def is_free(self, point: FloatArray, radius_mm: float) -> BoolArray:
        free = np.ones(len(point), dtype=np.bool_)
        for center, radius in self.taken:
            apart = np.linalg.norm(point - center, axis=1)
            free &= apart > radius + radius_mm + SPACE_BETWEEN_MM
        return free


def place_isolated(
    around: Surroundings, radius_mm: float, random: np.random.Generator
) -> NodulePosition:
    """In the parenchyma, where vessels are furthest away."""
    points = _random_points(around, random)
    depth = -around.pleura_mm(points)
    points = points[(depth > radius_mm + 2.0) & around.is_free(points, radius_mm)]
    points = points[around.is_inside_lung(points, radius_mm + ISOLATION_MM)][:60]
    if not len(points):
        raise NoPlaceError
    vessels = around.vessels
    at = np.concatenate([vessels.start, (vessels.start + vessels.end) / 2, vessels.end])
    radius = np.concatenate([vessels.start_radius, vessels.end_radius, vessels.end_radius])
    clearance = np.array(
        [float((np.linalg.norm(at - point, axis=1) - radius).min()) for point in points]
    )
    best = points[int(np.argmax(np.minimum(clearance, radius_mm + 2.0)))]
    return NodulePosition(best, around.outward(best[None])[0])


def place_juxtavascular(
    around: Surroundings, radius_mm: float, random: np.random.Generator
) -> NodulePosition:
    vessels = around.vessels
    low, high = VESSEL_RADIUS_MM
    has_size = (vessels.end_radius > low) & (vessels.end_radius < high)
    chosen = random.permutation(np.flatnonzero(has_size))[:CANDIDATES]
    middle = (vessels.start[chosen] + vessels.end[chosen]) / 2
    along = vessels.end[chosen] - vessels.start[chosen]
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    aside = random.standard_normal(middle.shape)
    aside -= (aside * along).sum(axis=1, keepdims=True) * along
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    points = middle + aside * (radius_mm + 0.5 * vessels.end_radius[chosen])[:, None]
    is_fit = around.is_inside_lung(points, radius_mm + 2.0) & around.is_free(points, radius_mm)
    good = np.flatnonzero(is_fit)
    if not len(good):
        raise NoPlaceError
    return NodulePosition(points[good[0]], aside[good[0]])


def place_on_pleura(
    around: Surroundings, radius_mm: float, height_mm: float, random: np.random.Generator
) -> NodulePosition:
    """At the ribs' pleura, with the centre ``height_mm`` inside it."""
    points = _random_points(around, random)
    depth = -around.pleura_mm(points)
    points = points[(depth > 2.0) & (depth < 14.0)]
    x, y, z = points.T
    costal = np.maximum(*(-costal_surface(around.chest, x, y, z, side) for side in SIDES))
    points = points[(costal < 16.0) & around.is_free(points, radius_mm)]
    for point in points:
        foot = point[None]
        for _ in range(6):
            foot = foot - around.outward(foot) * around.pleura_mm(foot)[:, None]
        normal = around.outward(foot)[0]
        center = foot[0] - normal * height_mm
        if around.is_inside_lung(center[None], radius_mm, wall_normal=normal)[0]:
            return NodulePosition(center, normal)
    raise NoPlaceError


def _random_points(around: Surroundings, random: np.random.Generator) -> FloatArray:
    chest = around.chest
    low = np.array([-chest.half_width, chest.center_y - chest.half_depth, chest.lowest_z])
    high = np.array([chest.half_width, chest.center_y + chest.half_depth + 14, chest.apex_z])
    points = random.uniform(low, high, (CANDIDATES * 4, 3))
    return points[around.pleura_mm(points) < 0]
