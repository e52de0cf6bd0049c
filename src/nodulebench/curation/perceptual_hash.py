"""Coarse image -> a hash that stays nearly the same under re-reconstruction, cropping, rescaling.

The chest is cut into levels of 5 mm and each level into cells of 10 mm around the middle of the
lungs. A bit says whether a cell is darker than the mean of its neighbourhood: absolute HU, the
scale of HU, the field of view and the start of the scan do not matter.
"""

import base64
import binascii
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray
from nodulebench.curation.series_image import CoarseArray, enclosed_air, thinned_out, two_levels

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
        packed = zlib.compress(np.packbits(self.bits).tobytes(), 9)
        return f"1:{len(self.bits)}:{base64.b64encode(packed).decode()}"

    @classmethod
    def from_text(cls, text: str) -> "PerceptualHash":
        """Read a hash from its text form.

        Raises:
            ValueError: if it is not a hash of this version.
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
    _, row, column = (float(index.mean()) for index in lungs.nonzero())
    contrast = max(levels.tissue_hu - levels.air_hu, 1.0)
    scaled = (hu - np.float32(levels.air_hu)) * np.float32(1 / contrast)
    np.clip(scaled, 0.0, 1.2, out=scaled)
    cells = _levels(_cells(scaled, step_mm[1:], (row, column)), step_mm)
    return PerceptualHash(_contrast(cells).reshape(len(cells), BITS))


def _levels(cells: CoarseArray, step_mm: FloatArray) -> CoarseArray:
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
    """The share of each of ``length`` unit steps in each interval."""
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


FEWEST_LEVELS = 24
"""Two scans are compared where they share at least this much of the body (12 cm)."""
SHARED_PART = 0.6
"""... and at least this part of the shorter scan."""
STACKED = 64


class HashList:
    """Hashes with which others are compared, many in one matrix product."""

    def __init__(self) -> None:
        self._full: list[_Stack] = []
        self._rest: list[PerceptualHash] = []

    def add(self, digest: PerceptualHash) -> None:
        self._rest.append(digest)
        if len(self._rest) == STACKED:
            self._full.append(_Stack.of(self._rest))
            self._rest = []

    def similarities(self, own: PerceptualHash) -> FloatArray:
        """For every hash the share of bits equal to ``own`` at the shift that fits best."""
        stacks = [*self._full, *([_Stack.of(self._rest)] if self._rest else [])]
        signs = _signs(own.bits)
        return np.concatenate([np.empty(0), *(stack.similarities(signs) for stack in stacks)])


@dataclass(frozen=True)
class _Stack:
    """Several hashes in one array."""

    signs: npt.NDArray[np.int8]
    """Hashes x levels x cells: -1 or 1, 0 where a hash has no such level."""
    levels: npt.NDArray[np.int64]

    @classmethod
    def of(cls, hashes: Sequence[PerceptualHash]) -> "_Stack":
        levels = np.array([len(digest.bits) for digest in hashes], dtype=np.int64)
        signs = np.zeros((len(hashes), int(levels.max()), BITS), dtype=np.int8)
        for place, digest in zip(signs, hashes, strict=True):
            place[: len(digest.bits)] = _signs(digest.bits)
        return cls(signs, levels)

    def similarities(self, own: npt.NDArray[np.int8]) -> FloatArray:
        count, most, _ = self.signs.shape
        rows = len(own)
        # whole numbers below 2**24: exact in this width
        table = self.signs.reshape(-1, BITS).astype(np.float32) @ own[::-1].astype(np.float32).T
        sums = _sums_of_shifts(table.reshape(count, most, rows))
        shift = np.arange(most + rows - 1) - (rows - 1)
        shared = np.minimum(rows, self.levels[:, None] - shift) - np.maximum(0, -shift)
        fewest = np.maximum(FEWEST_LEVELS, SHARED_PART * np.minimum(rows, self.levels))
        mean = np.where(shared >= fewest[:, None], sums / (BITS * np.maximum(shared, 1)), -1.0)
        best: FloatArray = (mean.max(axis=1) + 1) / 2
        return best


def _signs(bits: npt.NDArray[np.uint8]) -> npt.NDArray[np.int8]:
    return bits.astype(np.int8) * 2 - 1


def _sums_of_shifts(table: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Sums of ``table[:, row, column]`` over equal ``row + column``.

    Rows that are padded by one more entry shift each row by one entry when they are reshaped.
    """
    count, rows, columns = table.shape
    wide = np.zeros((count, rows, columns + rows), dtype=np.float32)
    wide[:, :, :columns] = table
    flat = wide.reshape(count, -1)[:, : rows * (columns + rows - 1)]
    sums: npt.NDArray[np.float32] = flat.reshape(count, rows, -1).sum(axis=1)
    return sums
