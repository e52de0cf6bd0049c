"""Labelled marks -> a notice where hits have lower scores than false positives."""

import numpy as np

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.notices import Notice

FEWEST = 10
"""Of hits and of false positives: with fewer, their order is chance."""
HIGHEST_SHARE = 1 / 3
"""Of pairs of a hit and a false positive, those where the hit has the higher score."""


def score_notices(cohort: LabelledCohort) -> tuple[Notice, ...]:
    """Ask whether a low score means a nodule, where the hits have the low ones.

    What is told says which marks are hits, so it is for the laboratory alone.
    """
    hits, others = cohort.hit_score[cohort.is_hit], cohort.false_score
    if not cohort.has_scores or min(len(hits), len(others)) < FEWEST:
        return ()
    others = np.sort(others)
    below = np.searchsorted(others, hits, "left") + np.searchsorted(others, hits, "right")
    share = float(below.mean() / 2 / len(others))
    return (Notice("scores_inverted", {"share": share}),) if share < HIGHEST_SHARE else ()
