"""Names for the numpy arrays that pass between stages, and runs of positions in them."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
WeightArray: TypeAlias = npt.NDArray[Any]
"""Case weights: one row per replicate, one column per case; integers count repetitions."""


def unroll(first: IntArray, length: IntArray) -> tuple[IntArray, IntArray]:
    """Runs of positions written out: the run of each entry and its position.

    Runs (5, 2) and (9, 1) give the runs 0 0 1 and the positions 5 6 9.
    """
    run = np.repeat(np.arange(len(length)), length)
    offset = np.arange(len(run)) - np.repeat(np.cumsum(length) - length, length)
    return run, np.repeat(first, length) + offset
