"""Candidates: where a detector sees something like a nodule, how sure it is and how large."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nodulebench.algorithms.chest import Chest
from nodulebench.model.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Candidates:
    """One entry of each array per candidate; boxes and density are measured on the scan later."""

    center_mm: FloatArray
    """n x 3: x, y, z in LPS millimetres."""
    score: FloatArray
    """Higher: more like a nodule. Comparable within a detector only."""
    diameter_mm: FloatArray
    """The detector's own estimate."""

    def __len__(self) -> int:
        return len(self.score)

    def best(self, count: int) -> "Candidates":
        """The highest scores, at most ``count``, highest first; ties keep their order."""
        order = np.argsort(-self.score, kind="stable")[:count]
        return Candidates(self.center_mm[order], self.score[order], self.diameter_mm[order])


def no_candidates() -> Candidates:
    """A detector that found nothing."""
    return Candidates(np.empty((0, 3)), np.empty(0), np.empty(0))


def joined(parts: Sequence[Candidates]) -> Candidates:
    """All candidates of several lists, one after the other."""
    return Candidates(
        np.concatenate([np.empty((0, 3)), *(part.center_mm for part in parts)]),
        np.concatenate([np.empty(0), *(part.score for part in parts)]),
        np.concatenate([np.empty(0), *(part.diameter_mm for part in parts)]),
    )


class Detector(Protocol):
    """A candidate detector; its module's ``Settings`` hold every parameter with its origin."""

    def __call__(self, chest: Chest) -> Candidates:
        """The candidates of one scan."""
        ...
