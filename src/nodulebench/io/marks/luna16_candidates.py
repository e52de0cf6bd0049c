"""Read LUNA16's candidate list, and check that a submission to its track follows it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.errors import Problem, Problems
from nodulebench.core.tables import Submission
from nodulebench.io.csv_files import CsvFile

TOLERANCE_MM = 1e-3
"""Largest distance of a mark from its candidate per coordinate: files round to micrometres,
and candidates of a case are farther apart."""
_MOST_NAMED = 5
_PLACE = ["x_mm", "y_mm", "z_mm"]


@dataclass(frozen=True, slots=True)
class CandidateCheck:
    """How well a submission follows the candidate list."""

    candidates: int
    missing: int
    """Candidates of the list without a mark."""
    unlisted: int
    repeated: int
    """Marks after the first one on a candidate."""
    problems: tuple[Problem, ...]


def read_candidates(source: Path | CsvFile, cases: pl.DataFrame | None = None) -> pl.DataFrame:
    """Read ``candidates.csv`` (or ``_V2``) of ``cases``: case_id, position, is_nodule, line."""
    rows = CsvFile.of(source).read_columns(
        text=("seriesuid",),
        numbers=("coordX", "coordY", "coordZ"),
        optional_numbers=("class",),
        known_cases=None if cases is None else cases["case_id"],
    )
    kind = pl.col("class") if "class" in rows.columns else pl.lit(None, dtype=pl.Float64)
    table = rows.select(
        "line",
        case_id="seriesuid",
        x_mm="coordX",
        y_mm="coordY",
        z_mm="coordZ",
        is_nodule=kind == 1,
    )
    return table if cases is None else table.join(cases, on="case_id", how="semi")


def check_candidate_track(
    submission: Submission, candidates: pl.DataFrame, *, tolerance_mm: float = TOLERANCE_MM
) -> CandidateCheck:
    """Check that the marks are the candidates of the list: all of them, each once, no others.

    A mark is a candidate if no coordinate differs by more than ``tolerance_mm``. A candidate that
    the list contains twice may be marked twice.
    """
    listed = candidates.select("case_id", *_PLACE)
    order, own, match = _matched(submission.marks, candidates, tolerance_mm)
    wanted = np.bincount(own, minlength=listed.height)
    given = np.bincount(match[match >= 0], minlength=listed.height)
    over = np.maximum(given - wanted, 0)
    return CandidateCheck(
        candidates=listed.height,
        missing=int(np.maximum(wanted - given, 0).sum()),
        unlisted=int(np.count_nonzero(match < 0)),
        repeated=int(over.sum()),
        problems=tuple(_problems(submission, listed[order], match, wanted, given)),
    )


def match_candidates(
    marks: pl.DataFrame, candidates: pl.DataFrame, *, tolerance_mm: float = TOLERANCE_MM
) -> IntArray:
    """For each mark the row of its candidate, or -1; copies get one mark each, if there are any."""
    order, own, match = _matched(marks, candidates, tolerance_mm)
    # copies of a candidate directly follow the first one in the sorted list
    copies = np.argsort(own, kind="stable")
    start = np.searchsorted(own[copies], match)
    turn = _turn(match)
    count = np.bincount(own, minlength=len(own) + 1)[match]
    row = np.full(len(match), -1, dtype=np.int64)
    is_listed = match >= 0
    place = start + np.minimum(turn, np.maximum(count - 1, 0))
    row[is_listed] = order[copies[place[is_listed]]]
    return row


def _turn(value: IntArray) -> IntArray:
    """How often the same value occurred before."""
    by_value = np.argsort(value, kind="stable")
    first = np.searchsorted(value[by_value], value[by_value])
    turn = np.empty(len(value), dtype=np.int64)
    turn[by_value] = np.arange(len(value)) - first
    return turn


def _matched(
    marks: pl.DataFrame, candidates: pl.DataFrame, tolerance_mm: float
) -> tuple[IntArray, IntArray, IntArray]:
    """The candidates' order by case and x; in it, the first match of each candidate and mark."""
    names = pl.concat([candidates["case_id"], marks["case_id"]]).rank("dense").to_numpy()
    listed_key, mark_key = names[: candidates.height], names[candidates.height :]
    order = np.lexsort((candidates["x_mm"].to_numpy(), listed_key))
    place, case = candidates.select(_PLACE).to_numpy()[order], listed_key[order]
    own = _first_match(case, place, case, place, tolerance_mm)
    match = _first_match(mark_key, marks.select(_PLACE).to_numpy(), case, place, tolerance_mm)
    return order, own, match


def _first_match(
    case: IntArray, place: FloatArray, listed_case: IntArray, listed: FloatArray, tolerance: float
) -> IntArray:
    """For each place the first equal listed one (sorted by case and x), else -1."""
    span = 1.0 + float(np.ptp(np.concatenate([place[:, 0], listed[:, 0], [0.0]])))
    listed_key = listed_case * 2 * span + listed[:, 0]
    # a hair wider than the tolerance, because the keys are rounded
    low = np.searchsorted(listed_key, case * 2 * span + place[:, 0] - 2 * tolerance)
    high = np.searchsorted(listed_key, case * 2 * span + place[:, 0] + 2 * tolerance, side="right")
    match = np.full(len(case), -1, dtype=np.int64)
    for step in range(int((high - low).max(initial=0))):
        row = np.flatnonzero((match < 0) & (low + step < high))
        candidate = low[row] + step
        is_same = (listed_case[candidate] == case[row]) & np.all(
            np.abs(listed[candidate] - place[row]) <= tolerance, axis=1
        )
        match[row[is_same]] = candidate[is_same]
    return match


def _problems(
    submission: Submission, listed: pl.DataFrame, match: IntArray, wanted: IntArray, given: IntArray
) -> list[Problem]:
    where = f"submission '{submission.name}'"
    problems = Problems()
    unlisted = submission.marks.filter(pl.Series(match < 0, dtype=pl.Boolean))
    for row in unlisted.head(_MOST_NAMED).iter_rows(named=True):
        problems.add(
            f"{where} mark '{row['mark_id']}' of case '{row['case_id']}'",
            "is not a candidate.",
            "In this track only the given candidates are scored; keep their coordinates.",
        )
    for is_wrong, what in (
        (given > wanted, "has more than one mark."),
        (given < wanted, "has no mark."),
    ):
        rows = listed.filter(pl.Series(is_wrong, dtype=pl.Boolean))
        for case_id, x, y, z in rows.head(_MOST_NAMED).iter_rows():
            problems.add(
                where,
                f"candidate ({x:g}, {y:g}, {z:g}) of case '{case_id}' {what}",
                "Give every candidate one score.",
            )
        if rows.height > _MOST_NAMED:
            rest = rows.height - _MOST_NAMED
            problems.add(where, f"{rest} more candidates like this.")
    if unlisted.height > _MOST_NAMED:
        rest = unlisted.height - _MOST_NAMED
        problems.add(where, f"{rest} more marks that are not candidates.")
    return problems
