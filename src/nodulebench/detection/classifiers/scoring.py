"""Candidates with their features -> candidates with a classifier's score."""

from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.arrays import FloatArray
from nodulebench.detection.candidate import Candidates
from nodulebench.detection.classifiers.weights import classifier_of


@dataclass(frozen=True, eq=False)
class Measured:
    """Candidates as a detector found them, before a classifier."""

    candidates: Candidates
    features: FloatArray
    """A row per candidate."""
    names: tuple[str, ...]
    """Of the columns."""


def scored(
    name: str,
    measured: Measured,
    weights: Path | None,
    least_score: float,
    fold: int | None = None,
) -> Candidates:
    """The candidates whose probability is at least ``least_score``, with it as their score.

    Args:
        name: the detector, whose packaged weights are used where no file is given.
        measured: candidates and features.
        weights: a file that ``train`` wrote, or none.
        least_score: from 0 (keep all) to 1.
        fold: of the packaged weights, those that never saw it.
    """
    found = measured.candidates
    if not len(found):
        return found
    score = classifier_of(name, weights, measured.names, fold).score(measured.features)
    kept = score >= least_score
    return Candidates(found.center_mm[kept], score[kept], found.diameter_mm[kept])
