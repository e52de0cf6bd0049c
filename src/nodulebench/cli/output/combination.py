"""Table of combinations -> lines on the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nodulebench.cli.output.tables import print_columns

if TYPE_CHECKING:
    from nodulebench.evaluation.comparison.combination_tables import CandidateRow, ScoreRow


def print_rows(
    rows: "Sequence[CandidateRow | ScoreRow]", operating_points: Sequence[float]
) -> None:
    """Print one line for each algorithm and combination."""
    rates = [f"{rate:g}" for rate in operating_points]
    heads = (
        ["algorithms", *rates, "CPM", "best single", "difference"]
        if rates
        else ["algorithms", "sensitivity", "best single", "difference", "candidates", "per case"]
    )
    print_columns(heads, [_cells(row) for row in rows])


def _cells(row: "CandidateRow | ScoreRow") -> list[str]:
    from nodulebench.evaluation.comparison.combination_tables import ScoreRow

    return _score_cells(row) if isinstance(row, ScoreRow) else _candidate_cells(row)


def _candidate_cells(row: "CandidateRow") -> list[str]:
    return [
        "+".join(row.members),
        f"{row.sensitivity:.3f}",
        *_beside(row.best_single, row.difference),
        str(row.candidates),
        f"{row.candidates_per_case:.1f}",
    ]


def _score_cells(row: "ScoreRow") -> list[str]:
    sensitivities = [f"{value:.3f}" for value in row.sensitivities]
    best = _beside(row.best_single, row.difference)
    return ["+".join(row.members), *sensitivities, f"{row.cpm:.3f}", *best]


def _beside(best: float | None, difference: float | None) -> list[str]:
    if best is None or difference is None:
        return ["", ""]
    return [f"{best:.3f}", f"{difference:+.3f}"]
