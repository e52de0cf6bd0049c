"""The track of false-positive reduction: a list of candidates, and whether marks keep to it."""

from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError, Problem
from nodulebench.io.csv_files import write_csv
from nodulebench.io.formats import read_submission
from nodulebench.io.marks.luna16_candidates import check_candidate_track, read_candidates


def write_candidates(source: Path, cases: pl.DataFrame, target: Path) -> int:
    """Write the places of a candidate list, and nothing that tells which are nodules; how many.

    Args:
        source: LUNA16's candidates.csv or candidates_V2.csv, or a table like it.
        cases: of the test set; candidates elsewhere are left out.
        target: where the list that people get goes.

    Raises:
        InputError: if it cannot be read, or has no candidate in these cases.
    """
    listed = read_candidates(source, cases)
    if listed.is_empty():
        what, remedy = "lists no candidate of this test set.", "Is it of another one?"
        raise InputError.at(source.name, what, remedy)
    places = {"seriesuid": "case_id", "coordX": "x_mm", "coordY": "y_mm", "coordZ": "z_mm"}
    write_csv(listed.select(**{name: pl.col(column) for name, column in places.items()}), target)
    return listed.height


def candidate_problems(marks: Path, listed: Path, cases: pl.DataFrame) -> tuple[Problem, ...]:
    """Marks that are no candidates, candidates without a score, and those with several.

    Raises:
        InputError: if the marks cannot be read.
    """
    return check_candidate_track(read_submission(marks, cases), read_candidates(listed)).problems
