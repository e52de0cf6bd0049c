"""Densities of a lung -> those of a lung of the usual density and noise, for which thresholds are.

Lungs differ: breath, disease and age put the parenchyma anywhere from -950 to -700 HU, and gravity
makes the back denser than the front. Air and soft tissue do not move. So the scale is bent: the
parenchyma around a voxel goes to the usual density, air and soft tissue stay, all between follows.
What is noisier than usual is smoothed until it is not.
"""

from collections.abc import Sequence

import numpy as np

from nodulebench.core.arrays import BoolArray, Float32Array
from nodulebench.imaging.morphology import block_mean

USUAL_HU = -850.0
"""Parenchyma of the usual lung."""
AIR_HU = -1000.0
"""Stays as it is, as does all below."""
TISSUE_HU = 0.0
"""Stays as it is, as does all above."""
DENSEST_HU = -500.0
"""Denser voxels are not parenchyma in any lung."""
VESSEL_HU = 100.0
"""Voxels that are denser than the lung's median by this are vessel, wall or nodule."""
LEVELS_HU = (-950.0, -650.0)
"""Parenchyma is between these; beyond, the scale is bent no further."""
REACH_MM = 15.0
"""Standard deviation of the Gaussian under which parenchyma counts as around a voxel."""
COARSE_MM = 4.0
"""Voxels on which the parenchyma's density is taken."""
TRUSTED_SHARE = 0.02
"""Parenchyma in this share of the surroundings counts as much as the usual density (1 ml)."""

STEP_HU = 10.0
"""The median is rounded to this, so that a voxel more or less of lung changes nothing."""
USUAL_NOISE_HU = 10.0
"""Standard deviation of a voxel's difference from its neighbours, on voxels of 1 mm."""
BLUR = 0.8
"""Standard deviation (voxels) of the blur that is mixed in; a wider one would take small nodules
away."""
STEP = 0.1
"""The share of the blurred image is rounded up to this."""
MAD_TO_SD = 1.4826
"""Standard deviation of a normal distribution whose median distance from 0 is 1."""
MOST_VOXELS = 200_000
"""So many voxels are enough for a median."""
SLAB = 48
"""Slices in the middle of the lungs from which noise is taken."""


def standardise_densities(
    hu: Float32Array, lungs: BoolArray, step_mm: float, below: Sequence[int] = (0, 0, 0)
) -> Float32Array:
    """The densities of a chest on cubes, as in a lung whose parenchyma has ``USUAL_HU``.

    ``below``: voxels along each axis before the middle of the lungs, from which coarser voxels are
    counted, so that cutting the image changes nothing.
    """
    factor = max(1, round(COARSE_MM / step_mm))
    lead = [factor + -count % factor for count in below]
    level = parenchyma(hu, lungs, factor, lead, REACH_MM / (factor * step_mm))
    along = [_between(*axis, factor) for axis in zip(hu.shape, level.shape, lead, strict=True)]
    result = np.empty_like(hu)
    for number, row in enumerate(along[0]):
        around = along[1] @ np.tensordot(row, level, axes=1) @ along[2].T
        result[number] = bend_densities(hu[number], around)
    return reduce_noise(result, lungs)


def reduce_noise(hu: Float32Array, lungs: BoolArray) -> Float32Array:
    """The image, blurred as little as is needed to reduce its noise to the usual."""
    from scipy import ndimage

    slices = np.flatnonzero(lungs.any(axis=(1, 2)))
    if not len(slices):
        return hu
    middle = int(slices[len(slices) // 2])
    slab = slice(max(0, middle - SLAB // 2), middle + SLAB // 2)
    before = noise(hu[slab], lungs[slab])
    if not before > USUAL_NOISE_HU:
        return hu
    after = noise(ndimage.gaussian_filter(hu[slab], BLUR), lungs[slab])
    # with a share of the blurred image the noise is at most that share of the way down
    share = min((before - USUAL_NOISE_HU) / max(before - after, 1e-3), 1.0)
    rounded = np.float32(STEP * np.ceil(share / STEP))
    blurred = ndimage.gaussian_filter(hu, BLUR)
    blurred -= hu
    blurred *= rounded
    blurred += hu
    return blurred


def noise(hu: Float32Array, lungs: BoolArray) -> float:
    """Standard deviation of the noise in parenchyma, from the median difference to neighbours.

    Not a number where no voxel of parenchyma has six neighbours that are.
    """
    inner = (slice(1, -1),) * 3
    place = np.flatnonzero(lungs[inner] & (hu[inner] < USUAL_HU + VESSEL_HU))
    if not len(place):
        return float("nan")
    place = place[:: 1 + len(place) // MOST_VOXELS]
    z, y, x = (at + 1 for at in np.unravel_index(place, tuple(size - 2 for size in hu.shape)))
    ways = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1))
    neighbours = np.stack([hu[z + up, y + over, x + along] for up, over, along in ways])
    is_clear = (neighbours < USUAL_HU + VESSEL_HU).all(axis=0)
    if not is_clear.any():
        return float("nan")
    differs = np.abs(hu[z, y, x] - neighbours.mean(axis=0))[is_clear]
    # the mean of six has a sixth of the variance of one
    return float(np.median(differs)) * MAD_TO_SD / float(np.sqrt(1.0 + 1.0 / 6.0))


def bend_densities(hu: Float32Array, parenchyma_hu: Float32Array) -> Float32Array:
    """The scale that takes the parenchyma to ``USUAL_HU`` and leaves air and tissue."""
    below = (USUAL_HU - AIR_HU) / (parenchyma_hu - AIR_HU)
    above = (TISSUE_HU - USUAL_HU) / (TISSUE_HU - parenchyma_hu)
    away = hu - parenchyma_hu
    moved = USUAL_HU + away * np.where(away < 0, below, above)
    return np.where((hu > AIR_HU) & (hu < TISSUE_HU), moved, hu).astype(np.float32)


def parenchyma(
    hu: Float32Array, lungs: BoolArray, factor: int, lead: Sequence[int], reach: float
) -> Float32Array:
    """Density of the parenchyma around each voxel of a grid ``factor`` times as coarse.

    The first coarse voxel begins ``lead`` voxels before the image.
    """
    from scipy import ndimage

    inside = hu[lungs & (hu < DENSEST_HU)]
    usual = np.float32(USUAL_HU)
    median = np.median(inside[:: 1 + len(inside) // MOST_VOXELS]) if len(inside) else usual
    is_parenchyma = lungs & (hu < STEP_HU * np.rint(median / STEP_HU) + VESSEL_HU)
    more = np.where(is_parenchyma, hu - usual, np.float32(0.0))
    widths = [
        (ahead, factor + -(length + ahead) % factor)
        for ahead, length in zip(lead, hu.shape, strict=True)
    ]
    coarse = (block_mean(np.pad(v, widths), np.full(3, factor)) for v in (is_parenchyma, more))
    share, total = (ndimage.gaussian_filter(v, reach, mode="constant") for v in coarse)
    return np.clip(USUAL_HU + total / (share + TRUSTED_SHARE), *LEVELS_HU).astype(np.float32)


def _between(length: int, count: int, lead: int, factor: int) -> Float32Array:
    """Weights (fine x coarse) of linear interpolation between the middles of coarse voxels."""
    place = np.clip((np.arange(length) + lead + 0.5) / factor - 0.5, 0, count - 1)
    away = np.abs(place[:, None] - np.arange(count))
    return np.maximum(0.0, 1.0 - away).astype(np.float32)
