"""nodulebench.compare: results -> how algorithms differ from one of them, as tables."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nodulebench.api.results import as_pandas, text_table
from nodulebench.core.documents.comparison import ComparisonDocument
from nodulebench.core.errors import InputError
from nodulebench.core.results import Evaluation
from nodulebench.evaluation.comparison.choice import PERMUTATIONS
from nodulebench.evaluation.comparison.compare import ComparisonChoice, compare_algorithms
from nodulebench.evaluation.comparison.regression_gate import gate_of, side_by_side
from nodulebench.evaluation.comparison.service import comparison_document
from nodulebench.evaluation.recompute import Evaluated, evaluated_of, load_unchanged
from nodulebench.report.csv_tables import differences_table
from nodulebench.report.pages.notebook import html_table

if TYPE_CHECKING:
    import pandas as pd

HEADS = ("algorithm", "rule", "figure", "difference")
Given = Evaluation | str | PathLike[str]


@dataclass(frozen=True, repr=False, slots=True)
class Compared:
    """What ``compare`` found. Tables are polars frames."""

    document: ComparisonDocument
    """What comparison.json holds."""
    is_no_worse: bool | None
    """Whether every figure that the margin applies to is shown to be within it; None: no margin."""

    def differences(self) -> pl.DataFrame:
        """Every difference from the baseline, with its interval, P values and margin."""
        return differences_table([self.document])

    def to_pandas(self) -> "pd.DataFrame":
        """``differences()`` as a frame of pandas, which must be installed."""
        return as_pandas(self.differences())

    def __repr__(self) -> str:
        return text_table(f"<Compared: {self._title()}>", HEADS, self._rows())

    def _repr_html_(self) -> str:
        return html_table(self._title(), HEADS, self._rows())

    def _title(self) -> str:
        words = {None: "", True: "; shown to be no worse", False: "; not shown to be no worse"}
        return f"differences from {self.document.baseline}{words[self.is_no_worse]}"

    def _rows(self) -> list[list[str]]:
        return [
            [one.algorithm, one.rule, one.figure, one.difference.signed]
            for one in self.document.differences
            if one.point is None
        ]


def compare(
    new: Given,
    old: Given | None = None,
    *,
    baseline: str | None = None,
    figures: tuple[str, ...] = (),
    margin: float | None = None,
    bootstraps: int | None = None,
    permutations: int = PERMUTATIONS,
) -> Compared:
    """Compare two results with each other, or the algorithms of one result with one of them.

    Args:
        new: a result, or the folder it was written to.
        old: the result that it is compared with, of the same test set and protocol.
        baseline: without ``old``: the algorithm that the others are compared with.
        figures: the figures of merit; by default those of the protocol.
        margin: the largest loss that does not matter; it applies to ``figures``, by default to the
            CPM or the protocol's first figure that is better when higher.
        bootstraps: the number of paired resamples; by default the protocol's.
        permutations: the number of random swaps of each permutation test; 0: none.

    Raises:
        InputError: if there is nothing to compare, or the two were not made alike.
        UnknownNameError: if there is no such algorithm or figure.
    """
    if (old is None) == (baseline is None):
        raise InputError.at("old", "and baseline exclude each other.", "Give one of the two.")
    evaluated = _evaluated(new)
    if old is not None:
        evaluated, _, baseline = side_by_side(evaluated, _evaluated(old))
    choice = ComparisonChoice(baseline or "", figures, margin, bootstraps, permutations)
    found = compare_algorithms(evaluated.cohorts, evaluated.protocol, choice)
    return Compared(
        comparison_document(found, evaluated),
        None if margin is None else gate_of(found).is_met,
    )


def _evaluated(given: Given) -> Evaluated:
    return evaluated_of(given) if isinstance(given, Evaluation) else load_unchanged(Path(given))
