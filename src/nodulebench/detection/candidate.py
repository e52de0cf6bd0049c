"""Candidates: where a detector sees something like a nodule, how sure it is and how large."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nodulebench.core.arrays import Columns, FloatArray
from nodulebench.detection.scan import Chest


@dataclass(frozen=True, eq=False)
class Candidates(Columns):
    """One entry of each array per candidate; boxes and density are measured on the scan later."""

    center_mm: FloatArray
    """n x 3: x, y, z in LPS millimetres."""
    score: FloatArray
    """Higher: more like a nodule. Comparable within a detector only."""
    diameter_mm: FloatArray
    """The detector's own estimate."""

    def best(self, count: int) -> "Candidates":
        """The highest scores, at most ``count``, highest first; ties keep their order."""
        return self.chosen(np.argsort(-self.score, kind="stable")[:count])


def no_candidates() -> Candidates:
    """A detector that found nothing."""
    return Candidates(np.empty((0, 3)), np.empty(0), np.empty(0))


class Detector(Protocol):
    """A candidate detector; its module's ``Settings`` hold every parameter with its origin."""

    def __call__(self, chest: Chest) -> Candidates:
        """The candidates of one scan."""
        ...
