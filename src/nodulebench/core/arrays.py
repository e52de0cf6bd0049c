"""Names for the numpy arrays that pass between stages, columns of them, and runs of positions."""

from dataclasses import dataclass, fields
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
Float32Array: TypeAlias = npt.NDArray[np.float32]
StoredArray: TypeAlias = npt.NDArray[Any]
"""Numbers as a file stores them, of any type."""
WeightArray: TypeAlias = StoredArray
"""Case weights: one row per replicate, one column per case; whole numbers count repetitions, others
weigh (Bayesian bootstrap)."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """What dataclasses are whose fields are arrays with one entry per item."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def chosen(self, which: BoolArray | IntArray | slice) -> Self:
        return type(self)(*(getattr(self, field.name)[which] for field in fields(self)))

    @classmethod
    def joined(cls, *parts: Self) -> Self:
        columns = ([getattr(part, field.name) for part in parts] for field in fields(cls))
        return cls(*(np.concatenate(column) for column in columns))


def linked(is_linked: BoolArray) -> IntArray:
    """For each item the lowest of those it is linked to (n x n), directly or through others."""
    count = len(is_linked)
    lowest = np.arange(count, dtype=np.int64)
    reaches = is_linked | np.eye(count, dtype=np.bool_)
    while True:
        spread = np.where(reaches, lowest, count).min(axis=1, initial=count)
        if np.array_equal(spread, lowest):
            return lowest
        lowest = spread


def unroll(first: IntArray, length: IntArray) -> tuple[IntArray, IntArray]:
    """Runs of positions written out: the run of each entry and its position.

    Runs (5, 2) and (9, 1) give the runs 0 0 1 and the positions 5 6 9.
    """
    run = np.repeat(np.arange(len(length)), length)
    offset = np.arange(len(run)) - np.repeat(np.cumsum(length) - length, length)
    return run, np.repeat(first, length) + offset
