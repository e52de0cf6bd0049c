"""Resampling: rows of case weights, drawn in blocks so that memory stays small."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nodulebench.core.arrays import IntArray, WeightArray

_BLOCK_ELEMENTS = 8_000_000


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Resampling with replacement of units (patients or cases).

    A replicate is a row of case weights: how often each case's unit was drawn. The same seed gives
    the same rows for every algorithm, so differences between algorithms are paired.
    """

    unit_of_case: IntArray
    replicates: int
    seed: int
    is_legacy: bool = False
    """Draw as the official LUNA16 program does: numpy's legacy generator, cases in list order."""

    def blocks(self) -> Iterator[WeightArray]:
        """The replicates in blocks of rows, always the same."""
        units = int(self.unit_of_case.max(initial=-1)) + 1
        cases = len(self.unit_of_case)
        is_identity = np.array_equal(self.unit_of_case, np.arange(cases))
        if max(cases, 1) * self.replicates <= _BLOCK_ELEMENTS:
            drawn: Iterable[WeightArray] = (
                _drawn_once(units, self.replicates, self.seed, self.is_legacy),
            )
        else:
            drawn = _draw(units, self.replicates, self.seed, self.is_legacy)
        for block in drawn:
            if len(block):
                yield block if is_identity else block[:, self.unit_of_case]


def _draw(units: int, replicates: int, seed: int, is_legacy: bool) -> Iterator[WeightArray]:
    """How often each unit is drawn in each replicate, in blocks of rows."""
    state = np.random.RandomState(seed)
    draw = state.randint if is_legacy else np.random.default_rng(seed).integers
    rows = max(1, _BLOCK_ELEMENTS // max(units, 1))
    for start in range(0, replicates, rows):
        block = np.empty((min(rows, replicates - start), units), dtype=np.int32)
        for row in block:
            row[:] = np.bincount(draw(0, units, units), minlength=units)
        yield block


@lru_cache(maxsize=1)
def _drawn_once(units: int, replicates: int, seed: int, is_legacy: bool) -> WeightArray:
    """Draws that fit into one block; the same ones serve every figure, rule and algorithm."""
    blocks = list(_draw(units, replicates, seed, is_legacy))
    together = np.concatenate(blocks) if blocks else np.empty((0, units), dtype=np.int32)
    together.setflags(write=False)
    return together


def leave_one_out(unit_of_case: IntArray) -> Iterator[WeightArray]:
    """For each unit the weights of all cases but its own, in blocks of rows."""
    units = int(unit_of_case.max(initial=-1)) + 1
    rows = max(1, _BLOCK_ELEMENTS // max(len(unit_of_case), 1))
    for start in range(0, units, rows):
        left_out = np.arange(start, min(start + rows, units))
        yield (unit_of_case[np.newaxis, :] != left_out[:, np.newaxis]).astype(np.int32)
