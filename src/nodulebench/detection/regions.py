"""Mask -> its connected regions and the measures of each: size, centre, spread, roundness."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, Columns, Float32Array, FloatArray, IntArray
from nodulebench.imaging.morphology import boxed, eroded

FACES, CORNERS = 1, 3
"""Voxels are connected if they share a face; a face, an edge or a corner."""
NEIGHBOURS: IntArray = np.array([step for step in product((-1, 0, 1), repeat=3) if any(step)])
"""The way to each of the 26 voxels around one."""


@dataclass(frozen=True, eq=False)
class Regions:
    """The voxels of all regions, in the order of the image."""

    place: IntArray
    """n x 3: slice, row, column of each voxel."""
    number: IntArray
    """The region of each voxel, from 0."""
    count: int

    @cached_property
    def size(self) -> FloatArray:
        return np.bincount(self.number, minlength=self.count).astype(np.float64)

    @cached_property
    def center(self) -> FloatArray:
        """Centre of mass of each region, in voxels."""
        return np.stack([self.mean(self.place[:, axis]) for axis in range(3)], axis=1)

    @cached_property
    def spread(self) -> FloatArray:
        """Root mean square distance of a region's voxels from its centre, in voxels."""
        apart = self.place - self.center[self.number]
        return np.sqrt(self.mean((apart**2).sum(axis=1)))

    def mean(self, values: npt.NDArray[np.generic]) -> FloatArray:
        total = np.bincount(self.number, values, minlength=self.count)
        return total / np.maximum(self.size, 1.0)

    def highest(self, values: npt.NDArray[np.generic]) -> FloatArray:
        result = np.full(self.count, -np.inf)
        np.maximum.at(result, self.number, values.astype(np.float64))
        return result

    def of(self, image: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        values: npt.NDArray[np.generic] = image[tuple(self.place.T)]
        return values

    def chosen(self, which: BoolArray) -> "Regions":
        is_chosen = which[self.number]
        renumbered = np.cumsum(which) - 1
        return Regions(
            self.place[is_chosen], renumbered[self.number[is_chosen]], int(np.count_nonzero(which))
        )

    def united(self, group: IntArray) -> "Regions":
        """Regions with the same group become one; groups count from 0."""
        return Regions(self.place, group[self.number], int(group.max(initial=-1)) + 1)


def find_regions(mask: BoolArray, connectivity: int = FACES) -> Regions:
    """The connected regions of a mask, in the order of their first voxels."""
    from scipy import ndimage

    structure = ndimage.generate_binary_structure(3, connectivity)
    part, box = boxed(mask, np.zeros(3, dtype=np.int64))
    labels, count = ndimage.label(part, structure)
    flat = np.flatnonzero(labels)
    place = np.stack(np.unravel_index(flat, part.shape), axis=1).astype(np.int64)
    place += [side.start for side in box]
    return Regions(place, labels.ravel()[flat].astype(np.int64) - 1, int(count))


def strongest_of_clusters(place: FloatArray, strength: FloatArray, reach: FloatArray) -> BoolArray:
    """Let each place, strongest first, take in all weaker ones within its reach.

    ``reach``: in the unit of ``place``; places at exactly this distance are taken in.
    """
    from scipy.spatial import cKDTree

    is_strongest = np.zeros(len(place), dtype=np.bool_)
    if not len(place):
        return is_strongest
    is_free = np.ones(len(place), dtype=np.bool_)
    near = cKDTree(place).query_ball_point(place, reach)
    for index in np.argsort(-strength, kind="stable"):
        if is_free[index]:
            is_strongest[index] = True
            is_free[near[index]] = False
    return is_strongest


def half_axes(regions: Regions) -> FloatArray:
    """Half axes (n x 3, longest first, in voxels) of the ellipsoids with equal second moments."""
    away = regions.place - regions.center[regions.number]
    moments = np.empty((regions.count, 3, 3))
    for index in range(3):
        for other in range(index, 3):
            mean = regions.mean(away[:, index] * away[:, other])
            moments[:, index, other] = moments[:, other, index] = mean
    # a voxel is a cube, not a point: its own second moment is 1/12 along each axis
    variance = np.linalg.eigvalsh(moments + np.eye(3) / 12.0)[:, ::-1]
    axes: FloatArray = np.sqrt(5.0 * variance)
    return axes


def compactness(regions: Regions) -> FloatArray:
    """Share of the ball around its longest axis that a region fills: 1 for a ball."""
    around = 4.0 / 3.0 * np.pi * half_axes(regions)[:, 0] ** 3
    return np.minimum(regions.size / around, 1.0)


def ball_diameter(voxels: FloatArray) -> FloatArray:
    return np.cbrt(6.0 * voxels / np.pi)


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
    regions = regions.chosen(regions.size >= fewest)
    radius = np.cbrt(regions.size * 3.0 / (4.0 * np.pi))
    # a voxel is a cube, not a point: its own mean square distance from its centre is 1/4
    spread = np.sqrt(regions.spread**2 + 0.25)
    compactness = np.minimum(1.0, radius * BALL_SPREAD / spread)
    return Parts(regions.center, radius + thinning, compactness)


def all_parts(levels: Sequence[Parts], apart: float) -> Parts:
    """Parts of all levels; one nearer than ``apart`` to a part of an earlier level is the same."""
    from scipy.spatial import cKDTree

    parts = levels[0]
    for level in levels[1:]:
        if not len(level):
            continue
        is_new = np.ones(len(level), dtype=np.bool_)
        if len(parts):
            is_new = np.asarray(cKDTree(parts.center).query(level.center)[0]) > apart
        parts = Parts.joined(parts, level.chosen(is_new))
    return parts


LUNG_HU = -850.0
SETTLED_VOXELS = 0.1
"""A place that moves less has arrived."""


def move_to_centres(
    hu: Float32Array,
    lungs: BoolArray,
    place: FloatArray,
    radius: FloatArray,
    *,
    densest_hu: float,
    steps: int,
) -> FloatArray:
    """Move each place to the centre of mass of the lung's dense parts within its ball.

    ``densest_hu``: more than this weighs no more, so that soft tissue draws no place away.
    """
    weight = np.where(lungs, np.clip(hu, LUNG_HU, densest_hu) - np.float32(LUNG_HU), 0.0)
    moved = place.astype(np.float64, copy=True)
    for number, reach in enumerate(radius.tolist()):
        for _ in range(steps):
            axes, box = _around(moved[number], reach, weight.shape)
            inside = _within(weight[box], axes, moved[number], reach)
            total = float(inside.sum())
            there = moved[number].copy()
            if total > 0:
                there[:] = [float((inside * axis).sum()) / total for axis in axes]
            distance = float(np.linalg.norm(there - moved[number]))
            moved[number] = there
            if distance < SETTLED_VOXELS:
                break
    return moved


def roundness(
    hu: Float32Array,
    lungs: BoolArray,
    place: FloatArray,
    radius: FloatArray,
    *,
    densities_hu: tuple[float, float],
) -> FloatArray:
    """Roundness of the dense voxels in a ball around each place: shortest by longest axis.

    Axes are those of the ellipsoid with the same second moments: 1 for a ball, less for a vessel
    that runs through; 1 where nothing is dense. Weight rises from the first density to the second.
    """
    lowest, densest = (np.float32(density_hu) for density_hu in densities_hu)
    roundnesses = np.ones(len(place))
    for number, (at, reach) in enumerate(zip(place, radius.tolist(), strict=True)):
        axes, box = _around(at, reach, hu.shape)
        weight = np.where(lungs[box], np.clip(hu[box], lowest, densest) - lowest, 0.0)
        inside = _within(weight, axes, at, reach)
        total = float(inside.sum())
        if total > 0:
            away = np.stack(np.broadcast_arrays(*axes)).reshape(3, -1).astype(np.float64)
            share = inside.ravel() / total
            away -= (away @ share)[:, None]
            moments = np.linalg.eigvalsh((away * share) @ away.T)
            roundnesses[number] = (
                np.sqrt(max(moments[0], 0.0) / moments[2]) if moments[2] > 0 else 1.0
            )
    return roundnesses


def _around(
    place: FloatArray, radius: float, shape: tuple[int, ...]
) -> tuple[tuple[IntArray, ...], tuple[slice, ...]]:
    """The box around a ball, cut at the image's border: its axes' indices and its slices."""
    middle = np.clip(np.rint(place).astype(np.int64), 0, np.array(shape) - 1)
    reach = int(np.ceil(radius))
    low, high = np.maximum(middle - reach, 0), np.minimum(middle + reach + 1, shape)
    box = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
    return tuple(np.ogrid[box]), box


def _within(
    weight: npt.NDArray[np.floating], axes: tuple[IntArray, ...], place: FloatArray, radius: float
) -> npt.NDArray[np.floating]:
    away = sum((axis - at) ** 2 for axis, at in zip(axes, place, strict=True))
    inside: npt.NDArray[np.floating] = weight * (away <= radius**2)
    return inside
