"""Measure the lungs of a scan: density, noise and vessels."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.errors import UndefinedError
from nodulebench.imaging.lungs.segmentation import Lungs
from nodulebench.imaging.morphology import eroded
from nodulebench.imaging.volume import VoxelArray

RIM_MM = 5.0
"""Nearer to the pleura, partial volume changes densities."""
VESSEL_THRESHOLD_HU = -600.0
NOISE_WINDOW = 7
"""Side of the window of a local standard deviation, in pixels."""


@dataclass(frozen=True, slots=True)
class LungDensity:
    """Metrics of one scan's lungs, more than ``RIM_MM`` from the pleura."""

    volume_ml: float
    p5_hu: float
    median_hu: float
    p95_hu: float
    noise_sd_hu: float
    """Median over the lungs of the standard deviation in small windows without vessels."""
    vessel_share: float
    """Share of the volume above ``VESSEL_THRESHOLD_HU``: vessels and bronchial walls."""


def lung_density(hu: VoxelArray, lungs: Lungs) -> LungDensity:
    """Measure the lungs of a scan whose axes are those of the patient.

    Raises:
        UndefinedError: if no part of the lungs is far enough from the pleura.
    """
    spacing = lungs.geometry.spacing_mm[::-1]
    inner = eroded(lungs.mask, RIM_MM, spacing)
    if not inner.any():
        raise UndefinedError("no_inner_lung", distance_mm=RIM_MM)
    values = hu[inner].astype(np.float64)
    low, middle, high = np.percentile(values, (5, 50, 95))
    return LungDensity(
        volume_ml=float(np.count_nonzero(lungs.mask)) * float(np.prod(spacing)) / 1000.0,
        p5_hu=float(low),
        median_hu=float(middle),
        p95_hu=float(high),
        noise_sd_hu=_noise(hu, inner),
        vessel_share=float(np.mean(values > VESSEL_THRESHOLD_HU)),
    )


def _noise(hu: VoxelArray, inner: BoolArray) -> float:
    """The median local standard deviation in windows of lung without vessels."""
    parts = [
        _local_deviations(hu[number].astype(np.float64), inner[number])
        for number in np.flatnonzero(inner.any(axis=(1, 2)))
    ]
    deviations = np.concatenate(parts)
    if not len(deviations):
        raise UndefinedError("no_window_in_lungs", window=NOISE_WINDOW)
    return float(np.median(deviations))


def _local_deviations(slice_hu: FloatArray, inner: BoolArray) -> FloatArray:
    is_clear = inner & (slice_hu < VESSEL_THRESHOLD_HU)
    sides = [length // NOISE_WINDOW for length in slice_hu.shape]
    cut = tuple(slice(0, side * NOISE_WINDOW) for side in sides)
    shape = (sides[0], NOISE_WINDOW, sides[1], NOISE_WINDOW)
    blocks = slice_hu[cut].reshape(shape)
    whole = is_clear[cut].reshape(shape).all(axis=(1, 3))
    deviations: FloatArray = blocks.std(axis=(1, 3), ddof=1)[whole]
    return deviations
