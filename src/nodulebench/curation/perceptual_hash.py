"""Coarse image -> a hash that stays nearly the same under re-reconstruction, cropping, rescaling.

The chest is cut into levels of 5 mm and each level into cells of 10 mm around the middle of the
lungs. A bit says whether a cell is darker than the mean of its neighbourhood: absolute HU, the
scale of HU, the field of view and where the scan begins do not matter.
"""

import base64
import binascii
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray
from nodulebench.curation.admission.anatomy import enclosed_air, thinned_out, two_levels
from nodulebench.curation.admission.image import CoarseArray

LEVEL_MM = 5.0
CELL_MM = 10.0
CELLS = (20, 30)
"""Cells from front to back and across: 200 x 300 mm."""
LEAST_LUNG_ML = 100.0

BITS = CELLS[0] * CELLS[1]


@dataclass(frozen=True)
class PerceptualHash:
    """One row of bits per level, from the feet to the head."""

    bits: npt.NDArray[np.uint8]
    """0 or 1; levels x cells."""

    def to_text(self) -> str:
        """As it stands in a list: number of levels and packed bits."""
        packed = zlib.compress(np.packbits(self.bits).tobytes(), 9)
        return f"1:{len(self.bits)}:{base64.b64encode(packed).decode()}"

    @classmethod
    def from_text(cls, text: str) -> "PerceptualHash":
        """The hash that a text stands for.

        Raises:
            ValueError: if it is none of this version.
        """
        version, _, rest = text.partition(":")
        levels, _, packed = rest.partition(":")
        count = int(levels) * BITS
        if version != "1" or not 0 < int(levels) < 10_000:
            raise ValueError("not a perceptual hash of version 1")
        try:
            content = zlib.decompressobj().decompress(base64.b64decode(packed), count)
        except (binascii.Error, zlib.error) as error:
            raise ValueError("a damaged perceptual hash") from error
        bits = np.unpackbits(np.frombuffer(content, dtype=np.uint8))[:count]
        if len(bits) < count:
            raise ValueError("a perceptual hash that was cut off")
        return cls(bits.reshape(int(levels), BITS))


def perceptual_hash(hu: CoarseArray, step_mm: FloatArray) -> PerceptualHash | None:
    """The hash of an image; None where it shows no lung."""
    few, few_step = thinned_out(hu, step_mm)
    levels = two_levels(few)
    lungs = enclosed_air(few, levels.threshold_hu)
    if lungs.sum() * float(np.prod(few_step)) / 1000.0 < LEAST_LUNG_ML:
        return None
    _, row, column = (float(one.mean()) for one in lungs.nonzero())
    contrast = max(levels.tissue_hu - levels.air_hu, 1.0)
    scaled = (hu - np.float32(levels.air_hu)) * np.float32(1 / contrast)
    np.clip(scaled, 0.0, 1.2, out=scaled)
    cells = _levels(_cells(scaled, step_mm[1:], (row, column)), step_mm)
    return PerceptualHash(_contrast(cells).reshape(len(cells), BITS))


def _levels(cells: CoarseArray, step_mm: FloatArray) -> CoarseArray:
    """Means over 5 mm of the body."""
    slices, between = len(cells), float(step_mm[0])
    count = max(1, round(slices * between / LEVEL_MM))
    edges: FloatArray = np.minimum(np.arange(count + 1.0) * LEVEL_MM / between, float(slices))
    weight = _overlap(edges[:-1], edges[1:], slices, goes_on=False)
    return np.tensordot(weight, cells, axes=(1, 0))


def _cells(image: CoarseArray, step_mm: FloatArray, middle: tuple[float, float]) -> CoarseArray:
    """Means over cells around the middle of the lungs; the edge of the image goes on outside."""
    down, across = (
        _overlap(edges[:-1], edges[1:], length, goes_on=True)
        for length, count, step, center in zip(image.shape[1:], CELLS, step_mm, middle, strict=True)
        for edges in [(np.arange(count + 1.0) - count / 2) * (CELL_MM / float(step)) + center + 0.5]
    )
    return (down @ image @ across.T).astype(np.float32, copy=False)


def _overlap(low: FloatArray, high: FloatArray, length: int, *, goes_on: bool) -> CoarseArray:
    """The share that each of ``length`` unit steps has in each interval."""
    first, last = np.arange(length, dtype=np.float64), np.arange(1.0, length + 1)
    if goes_on:
        first[0], last[-1] = -1e9, 1e9
    shared = np.minimum(high[:, None], last) - np.maximum(low[:, None], first)
    weight = np.clip(shared, 0.0, None)
    whole = weight.sum(axis=1, keepdims=True)
    shares: CoarseArray = (weight / np.where(whole > 0, whole, 1.0)).astype(np.float32)
    return shares


def _contrast(cells: CoarseArray) -> npt.NDArray[np.uint8]:
    """Which cells are darker than the mean of their neighbourhood."""
    from scipy import ndimage

    around = ndimage.uniform_filter(cells, size=3, mode="nearest")
    return (cells < around).astype(np.uint8)
