"""What each combination of algorithms reaches -> tables 1 and 2 of the LUNA16 study."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

Members = tuple[str, ...]
"""The algorithms of a combination, in the order they were given; one alone is itself."""


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """What the merged candidate lists of some algorithms contain."""

    members: Members
    hits: int
    sensitivity: float
    best_single: float | None
    """The highest sensitivity of a member alone; None for one alone."""
    difference: float | None
    """Sensitivity less that of the best member."""
    candidates: int
    candidates_per_case: float


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """What the averaged scores of some algorithms reach."""

    members: Members
    sensitivities: tuple[float, ...]
    """At the operating points."""
    cpm: float
    best_single: float | None
    """The highest CPM of a member alone; None for one alone."""
    difference: float | None
    """CPM less that of the best member."""


def all_members(names: Sequence[str]) -> Iterator[Members]:
    """Each algorithm alone, then all 2^n - n - 1 combinations, small ones first."""
    for size in range(1, len(names) + 1):
        yield from combinations(names, size)


def candidate_table(
    found: Mapping[Members, tuple[int, int]], *, nodules: int, cases: int
) -> list[CandidateRow]:
    """Table 1: sensitivity of every combination beside its best member, and how many candidates.

    Args:
        found: for each combination the nodules hit and the number of candidates; every algorithm
            must be there alone too.
        nodules: nodules to find.
        cases: cases of the test set.
    """
    rows = []
    for members, (hits, candidates) in found.items():
        best = _best(members, {name: found[(name,)][0] / nodules for name in members})
        sensitivity = hits / nodules
        rows.append(
            CandidateRow(
                members=members,
                hits=hits,
                sensitivity=sensitivity,
                best_single=best,
                difference=None if best is None else sensitivity - best,
                candidates=candidates,
                candidates_per_case=candidates / cases,
            )
        )
    return rows


def score_table(found: Mapping[Members, Sequence[float]]) -> list[ScoreRow]:
    """Table 2: sensitivities and CPM of every combination beside its best member.

    Args:
        found: for each combination the sensitivities at the operating points; every algorithm
            must be there alone too.
    """
    rows = []
    for members, sensitivities in found.items():
        best = _best(members, {name: float(np.mean(found[(name,)])) for name in members})
        cpm = float(np.mean(sensitivities))
        rows.append(
            ScoreRow(
                members=members,
                sensitivities=tuple(sensitivities),
                cpm=cpm,
                best_single=best,
                difference=None if best is None else cpm - best,
            )
        )
    return rows


def _best(members: Members, alone: Mapping[str, float]) -> float | None:
    return max(alone.values()) if len(members) > 1 else None
