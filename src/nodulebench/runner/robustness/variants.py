"""Volume -> the same scan stored, placed or made otherwise, and where its points are then."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.notices import Notice
from nodulebench.imaging.volume import Volume, VoxelArray

Move = Callable[[FloatArray], FloatArray]
"""Points of the scan (n x 3, mm) -> where they are in the variant."""
NOISE_GRAIN_PIXELS = 0.8
"""Noise of CT is correlated over about a pixel."""
LUNG_HU, TISSUE_HU = -500.0, 0.0
"""What is less dense than the first moves with the lung, what is denser than the second stays."""
LOWEST_HU = -1024.0
FLIPS = (
    Notice("variant_flip_columns"),
    Notice("variant_flip_rows"),
    Notice("variant_flip_slices"),
)


def stay(point_mm: FloatArray) -> FloatArray:
    """Where points are that a variant does not move."""
    return point_mm


@dataclass(frozen=True)
class Variant:
    """A changed scan."""

    name: Notice
    volume: Volume
    move: Move = stay


def shifted(volume: Volume, offset_mm: FloatArray) -> Variant:
    """The patient lies elsewhere in the scanner: only the origin changes."""
    geometry = replace(volume.geometry, origin_mm=volume.geometry.origin_mm + offset_mm)
    moved = replace(volume, geometry=geometry)
    return Variant(Notice("variant_shift"), moved, lambda point: point + offset_mm)


def flipped(volume: Volume, axis: int) -> Variant:
    """The same patient with one image axis (0: columns, 1: rows, 2: slices) stored backwards."""
    geometry = volume.geometry
    last = np.zeros((1, 3))
    last[0, axis] = volume.hu.shape[2 - axis] - 1
    direction = geometry.direction.copy()
    direction[:, axis] *= -1
    turned = replace(geometry, origin_mm=geometry.to_world(last)[0], direction=direction)
    hu = np.ascontiguousarray(np.flip(volume.hu, 2 - axis))
    return Variant(FLIPS[axis], Volume(hu, turned))


def mirrored(volume: Volume) -> Variant:
    """The patient's mirror image: columns exchanged, the grid stays."""
    columns = volume.hu.shape[2]

    def move(point_mm: FloatArray) -> FloatArray:
        index = volume.geometry.to_index(point_mm)
        index[:, 0] = columns - 1 - index[:, 0]
        return volume.geometry.to_world(index)

    hu = np.ascontiguousarray(volume.hu[:, :, ::-1])
    return Variant(Notice("variant_mirror"), replace(volume, hu=hu), move)


def cropped(volume: Volume, box: tuple[slice, ...]) -> Variant:
    """A part of the scan; ``box`` has slices, rows and columns."""
    part = volume.part(box)
    return Variant(Notice("variant_crop"), replace(part, hu=np.ascontiguousarray(part.hu)))


def with_noise(volume: Volume, sd_hu: float, random: np.random.Generator) -> Variant:
    """Noise of a given standard deviation added, correlated within slices."""
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
    """The scan at a share of its dose: quantum noise grows with the square root of its inverse."""
    added = noise_sd_hu * float(np.sqrt(1 / share - 1))
    name = Notice("variant_dose", {"part": round(1 / share)})
    return replace(with_noise(volume, added, random), name=name)


def with_median(volume: Volume, lungs: BoolArray, median_hu: float) -> Variant:
    """The lungs as dense as their median is to be; vessels and what is solid stay as they are.

    Voxels of the lungs up to ``LUNG_HU`` move by one and the same number, so that noise and texture
    stay; from there to ``TISSUE_HU`` they move less and less.
    """
    hu = volume.hu.astype(np.float32)
    inside = hu[lungs]
    shift = np.float32(median_hu - float(np.median(inside)))
    share = np.clip((TISSUE_HU - inside) / (TISSUE_HU - LUNG_HU), 0, 1)
    hu[lungs] = np.maximum(inside + shift * share, LOWEST_HU)
    name = Notice("variant_density", {"median_hu": median_hu})
    return Variant(name, replace(volume, hu=whole_hu(hu)))


def thicker(volume: Volume, factor: int) -> Variant:
    """Slices averaged in groups of ``factor``; those left over at the end are dropped."""
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
    """As with a softer kernel: slices blurred by a Gaussian of that standard deviation."""
    return Variant(
        Notice("variant_smooth_kernel"), replace(volume, hu=whole_hu(_blurred(volume, width_mm)))
    )


def sharper(volume: Volume, width_mm: float, gain: float) -> Variant:
    """As with a harder kernel: what a blur takes away is added again, ``gain`` times."""
    hu = volume.hu.astype(np.float32)
    hu += np.float32(gain) * (hu - _blurred(volume, width_mm))
    return Variant(Notice("variant_sharp_kernel"), replace(volume, hu=whole_hu(hu)))


def _blurred(volume: Volume, width_mm: float) -> VoxelArray:
    from scipy import ndimage

    _, rows, columns = width_mm / volume.spacing_mm
    return ndimage.gaussian_filter(volume.hu.astype(np.float32), (0, rows, columns), mode="nearest")


def whole_hu(hu: VoxelArray) -> VoxelArray:
    """Densities as a scanner stores them: whole numbers of 16 bits."""
    limits = np.iinfo(np.int16)
    return np.clip(np.rint(hu), limits.min, limits.max).astype(np.int16)
