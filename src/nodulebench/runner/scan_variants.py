"""Variants of a scan: stored, positioned or acquired differently, and how its points move."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.imaging.volume import Volume, VoxelArray

Move = Callable[[FloatArray], FloatArray]
"""Points of the scan (n x 3, mm) -> their positions in the variant."""
NOISE_GRAIN_PIXELS = 0.8
"""Noise of CT is correlated over about a pixel."""
LUNG_HU, TISSUE_HU = -500.0, 0.0
"""Voxels below the first change with the lung; voxels above the second do not change."""
LOWEST_HU = -1024.0
FLIPS = (Notice("variant_flip_columns"), Notice("variant_flip_rows"), Notice("variant_flip_slices"))


def stay(point_mm: FloatArray) -> FloatArray:
    return point_mm


@dataclass(frozen=True)
class Variant:
    """A changed scan."""

    name: Notice
    volume: Volume
    move: Move = stay


def shifted(volume: Volume, offset_mm: FloatArray) -> Variant:
    """Move the patient in the scanner: only the origin changes."""
    geometry = replace(volume.geometry, origin_mm=volume.geometry.origin_mm + offset_mm)
    moved = replace(volume, geometry=geometry)
    return Variant(Notice("variant_shift"), moved, lambda point: point + offset_mm)


def flipped(volume: Volume, axis: int) -> Variant:
    """Store one image axis (0: columns, 1: rows, 2: slices) backwards."""
    geometry = volume.geometry
    last = np.zeros((1, 3))
    last[0, axis] = volume.hu.shape[2 - axis] - 1
    direction = geometry.direction.copy()
    direction[:, axis] *= -1
    turned = replace(geometry, origin_mm=geometry.to_world(last)[0], direction=direction)
    hu = np.ascontiguousarray(np.flip(volume.hu, 2 - axis))
    return Variant(FLIPS[axis], Volume(hu, turned))


def mirrored(volume: Volume) -> Variant:
    """Mirror the patient: columns are reversed on the same grid."""
    columns = volume.hu.shape[2]

    def move(point_mm: FloatArray) -> FloatArray:
        index = volume.geometry.to_index(point_mm)
        index[:, 0] = columns - 1 - index[:, 0]
        return volume.geometry.to_world(index)

    hu = np.ascontiguousarray(volume.hu[:, :, ::-1])
    return Variant(Notice("variant_mirror"), replace(volume, hu=hu), move)


def cropped(volume: Volume, box: tuple[slice, ...]) -> Variant:
    """Crop the scan; ``box`` has slices, rows and columns."""
    part = volume.part(box)
    return Variant(Notice("variant_crop"), replace(part, hu=np.ascontiguousarray(part.hu)))


def with_noise(volume: Volume, sd_hu: float, random: np.random.Generator) -> Variant:
    """Add noise of a given standard deviation, correlated within slices."""
    from scipy import ndimage

    hu = np.empty(volume.hu.shape, dtype=np.float32)
    for number, part in enumerate(volume.hu):
        noise = ndimage.gaussian_filter(
            random.standard_normal(part.shape, dtype=np.float32), NOISE_GRAIN_PIXELS
        )
        hu[number] = part + noise * np.float32(sd_hu / noise.std())
    return Variant(Notice("variant_noise"), replace(volume, hu=whole_hu(hu)))


def with_dose(
    volume: Volume, share: float, noise_sd_hu: float, random: np.random.Generator
) -> Variant:
    """Simulate a share of the dose: quantum noise grows with the square root of its inverse."""
    added = noise_sd_hu * float(np.sqrt(1 / share - 1))
    name = Notice("variant_dose", {"part": round(1 / share)})
    return replace(with_noise(volume, added, random), name=name)


def with_median(volume: Volume, lungs: BoolArray, median_hu: float) -> Variant:
    """Change the density of the lungs to a median; vessels and solid tissue do not change.

    Lung voxels up to ``LUNG_HU`` are shifted by the same number, so that noise and texture remain;
    from there to ``TISSUE_HU`` the shift decreases to 0.
    """
    hu = volume.hu.astype(np.float32)
    inside = hu[lungs]
    shift = np.float32(median_hu - float(np.median(inside)))
    share = np.clip((TISSUE_HU - inside) / (TISSUE_HU - LUNG_HU), 0, 1)
    hu[lungs] = np.maximum(inside + shift * share, LOWEST_HU)
    name = Notice("variant_density", {"median_hu": median_hu})
    return Variant(name, replace(volume, hu=whole_hu(hu)))


def thicker(volume: Volume, factor: int) -> Variant:
    """Average slices in groups of ``factor``; remaining slices at the end are dropped."""
    count = len(volume.hu) // factor
    groups = volume.hu[: count * factor].reshape(count, factor, *volume.hu.shape[1:])
    geometry = volume.geometry
    middle = np.array([[0.0, 0.0, (factor - 1) / 2]])
    hu = whole_hu(groups.mean(axis=1, dtype=np.float32))
    thick = replace(
        geometry,
        spacing_mm=geometry.spacing_mm * np.array([1.0, 1.0, factor]),
        origin_mm=geometry.to_world(middle)[0],
        size=np.array(hu.shape[::-1], dtype=np.int64),
    )
    return Variant(Notice("variant_thickness", {"factor": factor}), Volume(hu, thick))


def smoother(volume: Volume, width_mm: float) -> Variant:
    """Simulate a softer kernel: blur slices with a Gaussian of that standard deviation."""
    return Variant(
        Notice("variant_smooth_kernel"), replace(volume, hu=whole_hu(_blurred(volume, width_mm)))
    )


def sharper(volume: Volume, width_mm: float, gain: float) -> Variant:
    """Simulate a harder kernel: add the difference to a blurred image, ``gain`` times."""
    hu = volume.hu.astype(np.float32)
    hu += np.float32(gain) * (hu - _blurred(volume, width_mm))
    return Variant(Notice("variant_sharp_kernel"), replace(volume, hu=whole_hu(hu)))


def _blurred(volume: Volume, width_mm: float) -> VoxelArray:
    from scipy import ndimage

    _, rows, columns = width_mm / volume.spacing_mm
    return ndimage.gaussian_filter(volume.hu.astype(np.float32), (0, rows, columns), mode="nearest")


def whole_hu(hu: VoxelArray) -> VoxelArray:
    """Round densities to 16-bit integers, as a scanner stores them."""
    limits = np.iinfo(np.int16)
    return np.clip(np.rint(hu), limits.min, limits.max).astype(np.int16)


EDGE_MM = 0.8
"""Width of the density transition at the surface."""
TO_PLEURA_MM = 5.0
APART_MM = 30.0
CLEAR_MM = (10.0, 5.0, 0.0)
"""Distances of a nodule's surface from other marks, in order of preference."""
VESSEL_HU = -500.0
TRIES = 4000


@dataclass(frozen=True, slots=True)
class InsertedNodule:
    """A spherical nodule in the lung."""

    x_mm: float
    y_mm: float
    z_mm: float
    diameter_mm: float

    @property
    def center_mm(self) -> FloatArray:
        return np.array([self.x_mm, self.y_mm, self.z_mm])


def place_nodules(
    volume: Volume,
    lungs: BoolArray,
    diameters_mm: Sequence[float],
    marks_mm: FloatArray,
    random: np.random.Generator,
) -> tuple[InsertedNodule, ...]:
    """Choose positions in clear lung, apart from each other and from marks, large nodules first.

    Raises:
        InputError: if the lungs have too little space.
    """
    inside = np.flatnonzero(lungs)
    order = random.choice(inside, size=min(TRIES, len(inside)), replace=False)
    index = np.stack(np.unravel_index(order, lungs.shape), axis=1)
    points = volume.geometry.to_world(index[:, ::-1].astype(np.float64))
    placed: list[InsertedNodule] = []
    for diameter in sorted(diameters_mm, reverse=True):
        chosen = _first_clear(volume, lungs, points, index, diameter, placed, marks_mm)
        if chosen is None:
            what = f"has no clear position in the lungs next to {len(placed)} others."
            remedy = "Ask for fewer or smaller nodules."
            raise InputError.at(f"a nodule of {diameter:g} mm", what, remedy)
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
    others = np.array([nodule.center_mm for nodule in placed]).reshape(-1, 3)
    is_apart = _nearest_mm(points, others) > APART_MM + diameter
    to_mark = _nearest_mm(points, marks_mm)
    for clear in CLEAR_MM:
        is_fit = is_apart & (to_mark > diameter / 2 + clear)
        for number in np.flatnonzero(is_fit).tolist():
            if _is_clear_lung(volume, lungs, index[number], diameter / 2):
                position: FloatArray = points[number]
                return position
    return None


def _nearest_mm(points: FloatArray, others: FloatArray) -> FloatArray:
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
    """Insert spheres of a density; noise and texture of the lung continue inside them."""
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
