"""Perceptual hashes -> how alike they are at the shift along the body that fits best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray
from nodulebench.curation.perceptual_hash import BITS, PerceptualHash

FEWEST_LEVELS = 24
"""Two scans are compared where they share at least this much of the body (12 cm)."""
SHARED_PART = 0.6
"""... and at least this part of the shorter one."""
STACKED = 64
"""Hashes that are compared at once."""


class HashList:
    """Hashes that others are compared with, many in one product of matrices."""

    def __init__(self) -> None:
        self._full: list[_Stack] = []
        self._rest: list[PerceptualHash] = []

    def add(self, one: PerceptualHash) -> None:
        """Put a hash at the end."""
        self._rest.append(one)
        if len(self._rest) == STACKED:
            self._full.append(_Stack.of(self._rest))
            self._rest = []

    def similarities(self, own: PerceptualHash) -> FloatArray:
        """For every hash the share of bits equal to ``own`` at the shift that fits best."""
        stacks = [*self._full, *([_Stack.of(self._rest)] if self._rest else [])]
        signs = _signs(own.bits)
        return np.concatenate([np.empty(0), *(one.similarities(signs) for one in stacks)])


@dataclass(frozen=True)
class _Stack:
    """Some hashes side by side."""

    signs: npt.NDArray[np.int8]
    """Hashes x levels x cells: -1 or 1, 0 where a hash has no such level."""
    levels: npt.NDArray[np.int64]
    """How many each has."""

    @classmethod
    def of(cls, hashes: Sequence[PerceptualHash]) -> "_Stack":
        levels = np.array([len(one.bits) for one in hashes], dtype=np.int64)
        signs = np.zeros((len(hashes), int(levels.max()), BITS), dtype=np.int8)
        for place, one in zip(signs, hashes, strict=True):
            place[: len(one.bits)] = _signs(one.bits)
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

    Rows that are one entry too long move each row one entry further when they are cut anew.
    """
    count, rows, columns = table.shape
    wide = np.zeros((count, rows, columns + rows), dtype=np.float32)
    wide[:, :, :columns] = table
    flat = wide.reshape(count, -1)[:, : rows * (columns + rows - 1)]
    sums: npt.NDArray[np.float32] = flat.reshape(count, rows, -1).sum(axis=1)
    return sums
