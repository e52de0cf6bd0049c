"""Shapes of nodules for tests."""

import numpy as np
import numpy.typing as npt

from nodulebench.phantom.nodule import NoduleShape


def sphere(center_mm: npt.ArrayLike, radius_mm: float) -> NoduleShape:
    """A ball."""
    return NoduleShape(np.asarray(center_mm, dtype=np.float64), np.full(3, radius_mm), np.eye(3))
