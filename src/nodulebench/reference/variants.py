"""Readings -> References that might have been: other thresholds, other readers, other rules."""

from collections.abc import Iterator, Mapping
from typing import Any

from nodulebench.core.readings import Readings
from nodulebench.core.tables import Reference
from nodulebench.reference.build import build_reference
from nodulebench.reference.panel import Panel, measure_findings

ALTERNATIVES: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("luna16, plain mean", "luna16", {"average": "mean"}),
    ("luna16, readers counted", "luna16", {"counts": "readers"}),
    ("majority, recursive merge", "majority", {}),
    ("majority, single linkage", "majority", {"grouping": "linkage"}),
    ("majority, shared voxels", "majority", {"grouping": "overlap"}),
    ("majority, closest pairs", "majority", {"grouping": "closest_pair"}),
    ("STAPLE", "staple", {}),
    ("unanimous", "unanimous", {}),
    ("union", "union", {}),
)
"""Name, rule and parameters of other ways to hear the same readers."""


def by_agreement(panel: Panel, levels: range = range(1, 5)) -> Iterator[tuple[str, Reference]]:
    """LUNA16's rule with each threshold of agreement."""
    for level in levels:
        chosen = {"minimum_agreement": level}
        yield f"agreement >= {level}", build_reference(panel, "luna16", chosen, has_slices=False)


def leave_one_reader_out(
    readings: Readings, *, minimum_agreement: int = 2
) -> Iterator[tuple[str, Reference]]:
    """LUNA16's rule without one reader of each case: the first, the second, and so on.

    Of LIDC's four readers two of three then agree. There are as many variants as most cases have
    readers.
    """
    chosen = {"minimum_agreement": minimum_agreement}
    seats = readings.sessions.group_by("case_id").len()["len"].mode().max()
    for seat in range(1, int(str(seats or 0)) + 1):
        panel = measure_findings(readings.without_seat(seat))
        yield f"without reader {seat}", build_reference(panel, "luna16", chosen, has_slices=False)


def by_rule(panel: Panel) -> Iterator[tuple[str, Reference]]:
    """Every alternative rule."""
    for name, rule, parameters in ALTERNATIVES:
        yield name, build_reference(panel, rule, parameters, has_slices=False)
