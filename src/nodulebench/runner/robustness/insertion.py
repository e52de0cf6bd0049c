"""Volume, lungs and diameters -> the volume with round nodules drawn into clear lung."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import Volume, VoxelArray
from nodulebench.runner.robustness.variants import whole_hu

EDGE_MM = 0.8
"""Over what width the density falls off."""
TO_PLEURA_MM = 5.0
APART_MM = 30.0
CLEAR_MM = (10.0, 5.0, 0.0)
"""How far from other marks a nodule's surface lies: as far as there is room for."""
VESSEL_HU = -500.0
TRIES = 4000


@dataclass(frozen=True, slots=True)
class InsertedNodule:
    """A ball in the lung."""

    x_mm: float
    y_mm: float
    z_mm: float
    diameter_mm: float

    @property
    def center_mm(self) -> FloatArray:
        """Its place."""
        return np.array([self.x_mm, self.y_mm, self.z_mm])


def place_nodules(
    volume: Volume,
    lungs: BoolArray,
    diameters_mm: Sequence[float],
    marks_mm: FloatArray,
    random: np.random.Generator,
) -> tuple[InsertedNodule, ...]:
    """Places in clear lung, apart from each other and from the marks that are there, large first.

    Args:
        volume: the scan.
        lungs: which voxels are lung.
        diameters_mm: one nodule each.
        marks_mm: what the algorithm marks without them (n x 3).
        random: where chance comes from.

    Raises:
        InputError: if the lungs have no room.
    """
    inside = np.flatnonzero(lungs)
    order = random.choice(inside, size=min(TRIES, len(inside)), replace=False)
    index = np.stack(np.unravel_index(order, lungs.shape), axis=1)
    points = volume.geometry.to_world(index[:, ::-1].astype(np.float64))
    placed: list[InsertedNodule] = []
    for diameter in sorted(diameters_mm, reverse=True):
        chosen = _first_clear(volume, lungs, points, index, diameter, placed, marks_mm)
        if chosen is None:
            raise InputError.at(
                f"a nodule of {diameter:g} mm",
                f"finds no clear place in the lungs beside {len(placed)} others.",
                "Ask for fewer or smaller nodules.",
            )
        x, y, z = chosen.tolist()
        placed.append(InsertedNodule(x, y, z, diameter))
    return tuple(placed)


def _first_clear(
    volume: Volume,
    lungs: BoolArray,
    points: FloatArray,
    index: IntArray,
    diameter: float,
    placed: Sequence[InsertedNodule],
    marks_mm: FloatArray,
) -> FloatArray | None:
    others = np.array([one.center_mm for one in placed]).reshape(-1, 3)
    is_apart = _nearest_mm(points, others) > APART_MM + diameter
    to_mark = _nearest_mm(points, marks_mm)
    for clear in CLEAR_MM:
        is_fit = is_apart & (to_mark > diameter / 2 + clear)
        for number in np.flatnonzero(is_fit).tolist():
            if _is_clear_lung(volume, lungs, index[number], diameter / 2):
                place: FloatArray = points[number]
                return place
    return None


def _nearest_mm(points: FloatArray, others: FloatArray) -> FloatArray:
    """The distance of each point to the nearest of the others."""
    from scipy.spatial import cKDTree

    if not len(others):
        return np.full(len(points), np.inf)
    distance, _ = cKDTree(others).query(points)
    return np.asarray(distance, dtype=np.float64)


def _is_clear_lung(volume: Volume, lungs: BoolArray, center: IntArray, radius_mm: float) -> bool:
    reach = np.ceil((radius_mm + TO_PLEURA_MM) / volume.spacing_mm).astype(np.int64)
    low, high = center - reach, center + reach + 1
    if np.any(low < 0) or np.any(high > lungs.shape):
        return False
    box = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
    offset = np.indices(tuple(high - low)) - reach[:, None, None, None]
    distance = np.sqrt(((offset * volume.spacing_mm[:, None, None, None]) ** 2).sum(axis=0))
    near = distance <= radius_mm + TO_PLEURA_MM
    core = distance <= radius_mm + 1.0
    return bool(lungs[box][near].all() and (volume.hu[box][core] < VESSEL_HU).all())


def insert_nodules(volume: Volume, nodules: Sequence[InsertedNodule], hu: float) -> Volume:
    """Draw balls of a density; noise and texture of the lung go on within them."""
    drawn = volume.hu.astype(np.float32)
    for nodule in nodules:
        _draw(drawn, volume, nodule, hu)
    return replace(volume, hu=whole_hu(drawn))


def _draw(drawn: VoxelArray, volume: Volume, nodule: InsertedNodule, hu: float) -> None:
    radius = nodule.diameter_mm / 2
    center = volume.geometry.to_index(nodule.center_mm[None])[0]
    reach = np.ceil((radius + EDGE_MM) / volume.geometry.spacing_mm) + 1
    size = np.array(drawn.shape[::-1])
    low = np.maximum(np.floor(center - reach), 0).astype(int)
    high = np.minimum(np.ceil(center + reach) + 1, size).astype(int)
    box = tuple(slice(int(a), int(b)) for a, b in zip(low[::-1], high[::-1], strict=True))
    index = np.moveaxis(np.mgrid[box], 0, -1)[..., ::-1] - center
    cover = np.zeros(index.shape[:3])
    for part in product((-1 / 3, 0.0, 1 / 3), repeat=3):
        offset = (index + np.array(part)) * volume.geometry.spacing_mm
        distance = np.linalg.norm(offset, axis=-1)
        cover += np.clip(0.5 - (distance - radius) / EDGE_MM, 0, 1) / 27
    around = float(np.median(drawn[box]))
    drawn[box] += (cover * (hu - around)).astype(np.float32)
