"""Training on the test set: what who submits says of it, and whether its folds bear that out."""

from pathlib import Path
from typing import Literal

import polars as pl

from nodulebench.core.config_model import Written
from nodulebench.core.errors import InputError, refuse_any
from nodulebench.core.tables import NODULES, Reference
from nodulebench.evaluation.comparison.folds import fold_problems, read_folds
from nodulebench.io.csv_files import write_csv

Answer = Literal["", "no", "folds", "yes"]
ANSWERS: tuple[Answer, ...] = ("no", "folds", "yes")
"""Not trained on the test set; cross-validated on it; trained on it without folds."""


class Training(Written):
    """What who submits says of training on the test set, as it was checked."""

    answer: Answer = ""
    """Nothing: it was not said."""
    folds: str = ""
    """Digest of the folds, where they were shown."""
    count: int = 0
    """How many folds."""


def checked_folds(path: Path, cases: pl.DataFrame) -> pl.DataFrame:
    """A table of folds that tests every case once, on a network that never saw its patient.

    Raises:
        InputError: with every problem, as ``nodulebench folds check`` tells them.
    """
    folds = read_folds([path])
    refuse_any([*fold_problems(folds, Reference("test set", cases, NODULES.empty()))])
    return folds


def write_folds(source: Path, cases: pl.DataFrame, target: Path) -> int:
    """Write the folds that a benchmark asks for; how many there are."""
    tested = _tested(checked_folds(source, cases))
    write_csv(tested.select("fold", seriesuid="case_id"), target)
    return tested["fold"].n_unique()


def refuse_other_folds(folds: pl.DataFrame, laid: pl.DataFrame, source: str) -> None:
    """Refuse folds that divide the cases in another way than those of the benchmark.

    Names of folds do not matter.
    """
    pairs = (
        _tested(folds).join(laid, on="case_id", suffix="_laid").select("fold", "fold_laid").unique()
    )
    if not pairs.height == pairs["fold"].n_unique() == pairs["fold_laid"].n_unique():
        what = "divides the cases in another way than the folds of this benchmark."
        raise InputError.at(source, what, "Cross-validate by the folds that can be downloaded.")


def _tested(folds: pl.DataFrame) -> pl.DataFrame:
    return folds.filter((pl.col("part") == "test") | pl.col("part").is_null())
