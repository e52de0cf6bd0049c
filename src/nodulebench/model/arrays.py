"""Names for the numpy arrays that pass between stages."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
WeightArray: TypeAlias = npt.NDArray[Any]
"""Case weights: one row per replicate, one column per case; integers count repetitions."""
