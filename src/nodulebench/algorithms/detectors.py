"""Detectors by name and a chest -> candidates: what a detector's name means, wherever it is run.

A detector's candidates are those in the lungs or at most a slack from them, the highest score
first. Several detectors together are merged, the two nearest first.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from nodulebench.algorithms.candidate import Candidates
from nodulebench.algorithms.candidates import DETECTORS
from nodulebench.algorithms.chest import Chest
from nodulebench.algorithms.combine import Place, is_near_lungs, merge_candidates
from nodulebench.errors import InputError
from nodulebench.model.tables import MARKS, Submission

RANK_SCALE = 10.0
"""In a combination, a detector's candidate of rank r (from 0) counts RANK_SCALE / (RANK_SCALE + r):
scores of different detectors cannot be compared, ranks can."""


def detector_names(text: str) -> tuple[str, ...]:
    """The detectors that ``a+b+c`` names.

    Raises:
        UnknownNameError: if there is no such detector.
        InputError: if one is named twice.
    """
    names = tuple(name.strip() for name in text.split("+"))
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError.at(
            f"detector '{text}'", f"names {', '.join(repeated)} twice.", "Name it once."
        )
    for name in names:
        DETECTORS[name]
    return names


def detect_nodules(names: Sequence[str], chest: Chest) -> Candidates:
    """The candidates of one detector, or of several together."""
    return together({name: candidates_of(name, chest) for name in names})


def candidates_of(name: str, chest: Chest) -> Candidates:
    """The candidates of one detector, none further from the lungs than the slack, best first."""
    return near_lungs(DETECTORS[name](chest), chest)


def near_lungs(found: Candidates, chest: Chest) -> Candidates:
    """Candidates in the lungs or at most a slack from them, best first."""
    kept = is_near_lungs(found.center_mm, chest.lungs.mask, chest.volume.geometry)
    return found.chosen(kept).best(len(found))


def together(found: Mapping[str, Candidates], place: Place = "best") -> Candidates:
    """Candidates closer than 5 mm are one; its score is the mean over all detectors, best first.

    A detector that did not propose a place counts as 0 there.

    Args:
        found: what each detector proposed, best first.
        place: where a merged candidate lies: with its best part, or at their mean (LUNA16).
    """
    if len(found) == 1:
        return next(iter(found.values()))
    parts = [Submission(name, _as_marks(best)) for name, best in found.items()]
    merged = merge_candidates(parts, place=place)
    votes = merged.sources.group_by("mark_id").agg(votes=pl.col("algorithm").n_unique())
    marks = merged.submission.marks.join(votes, on="mark_id", maintain_order="left")
    joined = Candidates(
        marks.select("x_mm", "y_mm", "z_mm").to_numpy().reshape(-1, 3),
        (marks["score"] * marks["votes"] / len(found)).to_numpy(),
        marks["diameter_mm"].to_numpy(),
    )
    return joined.best(len(joined))


def _as_marks(ranked: Candidates) -> pl.DataFrame:
    rank = np.arange(len(ranked))
    marks = pl.DataFrame(
        {
            **{f"{axis}_mm": ranked.center_mm[:, at] for at, axis in enumerate("xyz")},
            "score": RANK_SCALE / (RANK_SCALE + rank),
            "diameter_mm": ranked.diameter_mm,
        }
    )
    named = marks.with_columns(
        case_id=pl.lit("case"), mark_id=pl.int_range(1, pl.len() + 1).cast(pl.String)
    )
    return MARKS.conform(named, "candidates")
