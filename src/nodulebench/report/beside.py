"""Beside: what may lie beside a document and is reported with it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from nodulebench.report.sections.issued import NOT_ISSUED, Issued


@dataclass(frozen=True, slots=True)
class Beside:
    """What may lie beside an evaluation; what is absent is not reported."""

    flips: pl.DataFrame | None = None
    """Nodules and marks whose label depends on the rule."""
    misses: pl.DataFrame | None = None
    """MISSES: nodules missed."""
    false_positives: pl.DataFrame | None = None
    """FALSE_POSITIVES: those with the best scores."""
    causes: pl.DataFrame | None = None
    """What readers say false positives are: algorithm, cause."""
    patches: Sequence[Any] = ()
    """Pictures of nodules and marks (``gallery.Patch``)."""
    combinations: Sequence[pl.DataFrame] = ()
    """Tables of combined algorithms, as ``nodulebench combine`` writes them."""
    agreement: Sequence[dict[str, Any]] = ()
    """How far readers agree: name, value, low, high."""
    sweeps: Sequence[pl.DataFrame] = ()
    """Counts for each value of a rule's parameter."""
    spreads: Sequence[pl.DataFrame] = ()
    """A figure under other references, as ``nodulebench reference spread`` writes it."""

    def only(self, algorithm: str) -> "Beside":
        """The same without the single nodules and marks of other algorithms, and their names."""
        is_own = pl.col("algorithm") == algorithm
        misses = self.misses
        if misses is not None:
            nobody = pl.lit(None, pl.String)
            misses = misses.filter(is_own).with_columns(also_missed_by=nobody, found_by=nobody)
        return replace(
            self,
            flips=None if self.flips is None else self.flips.filter(is_own),
            misses=misses,
            false_positives=None
            if self.false_positives is None
            else self.false_positives.filter(is_own),
        )

    issued: Issued = NOT_ISSUED
    """Who issues the report, when and under which number."""


NOTHING = Beside()
