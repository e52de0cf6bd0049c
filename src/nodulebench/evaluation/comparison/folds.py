"""Lists of a cross-validation's folds + test set -> whether every case is tested once, unseen."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError, Problem, refuse_any
from nodulebench.core.schema import Column, TableSchema
from nodulebench.core.tables import Reference
from nodulebench.io.case_lists import read_case_list
from nodulebench.io.csv_files import read_columns, read_header
from nodulebench.io.formats import read_reference

FOLDS = TableSchema(
    "FOLDS",
    "One row per case and fold it belongs to.",
    (
        Column("case_id", pl.String, "the CT series; LUNA16 calls it seriesuid"),
        Column("fold", pl.String, "name or number of the fold"),
        Column("part", pl.String, "test or train", is_required=False, allowed=("test", "train")),
    ),
    key=("case_id", "fold", "part"),
)
MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class FoldSize:
    """What one fold tests on."""

    fold: str
    cases: int
    patients: int
    nodules: int
    unnamed: int = 0
    """Cases whose patient is not known; each counts as a patient of its own."""


def check_folds(
    paths: Sequence[Path], reference: Path, *, cases: Path | None = None
) -> list[FoldSize]:
    """Check that every case is tested in exactly one fold and trained on in none of its own.

    Args:
        paths: one table with the columns seriesuid (or case_id), fold and perhaps part (test or
            train); or a list of cases for each fold, tested there and trained on elsewhere.
        reference: the test set; all its cases have to be tested.
        cases: a table of cases that names their patients.

    Raises:
        InputError: with every case that is tested twice or never, is not in the test set, or is
            tested where it (or another case of its patient) was trained on.
    """
    truth = read_reference(reference, cases=cases)
    folds = read_folds(paths)
    problems = [*fold_problems(folds, truth)]
    refuse_any(problems)
    return fold_sizes(folds, truth)


def read_folds(paths: Sequence[Path]) -> pl.DataFrame:
    """FOLDS from one table, or from a list of cases for each fold.

    Raises:
        InputError: with every problem of the files.
    """
    if len(paths) > 1:
        parts = [
            pl.DataFrame({"case_id": read_case_list(path)}).with_columns(fold=pl.lit(path.stem))
            for path in paths
        ]
        return FOLDS.arrange(pl.concat(parts))
    (path,) = paths
    header = read_header(path)
    if "fold" not in header:
        raise InputError.at(
            str(path),
            "has no column 'fold'.",
            "Give a table with seriesuid and fold, or a list of cases for each fold.",
        )
    case = "case_id" if "case_id" in header else "seriesuid"
    part = [name for name in header if name == "part"]
    rows = read_columns(path, text=(case, "fold", *part), numbers=())
    return FOLDS.conform(rows.rename({case: "case_id"}), path.name, rows["line"])


def fold_problems(folds: pl.DataFrame, reference: Reference) -> Iterator[Problem]:
    """What is wrong with folds, each kind with its first cases."""
    tested = folds.filter((pl.col("part") == "test") | pl.col("part").is_null())
    known = reference.cases["case_id"]
    count = tested["case_id"].value_counts(sort=True)
    twice = count.filter(pl.col("count") > 1)["case_id"].sort()
    yield from _named(
        twice,
        lambda case_id: (
            f"is tested in folds {', '.join(_folds_of(tested, case_id))}.",
            "Test every case once.",
        ),
    )
    never = known.filter(~known.is_in(tested["case_id"].implode()))
    yield from _named(never, lambda _: ("is in no fold.", "Test every case once."))
    listed = folds["case_id"].unique(maintain_order=True)
    yield from _named(
        listed.filter(~listed.is_in(known.implode())),
        lambda _: (
            f"is not in the test set '{reference.name}' ({reference.cases.height} cases).",
            "Remove it, or check against the set that it belongs to.",
        ),
    )
    yield from _training_problems(folds, tested, reference)


def _training_problems(
    folds: pl.DataFrame, tested: pl.DataFrame, reference: Reference
) -> Iterator[Problem]:
    """Patients that a fold both trains on and tests; without train rows it trains on all others."""
    patient = reference.cases.select(
        "case_id", patient=pl.col("patient_id").fill_null("case:" + pl.col("case_id"))
    )
    tests = tested.join(patient, on="case_id").select("fold", "case_id", "patient")
    trained = folds.filter(part="train").join(patient, on="case_id").select("fold", "patient")
    if trained.is_empty():
        names = tested["fold"].unique().rename("trained_in").to_frame()
        trained = (
            tests.join(names, how="cross")
            .filter(pl.col("fold") != pl.col("trained_in"))
            .select(fold="trained_in", patient="patient")
        )
    # a case that is tested twice has been told already
    once = tests.filter(~pl.col("case_id").is_duplicated())
    seen = once.join(trained.unique(), on=["fold", "patient"], how="semi").sort("case_id")
    fold_of = dict(seen.select("case_id", "fold").iter_rows())
    yield from _named(
        seen["case_id"],
        lambda case_id: (
            f"is tested in fold {fold_of[case_id]}, which was trained on it or on its patient.",
            "Keep all cases of a patient in one fold.",
        ),
    )


def fold_sizes(folds: pl.DataFrame, reference: Reference) -> list[FoldSize]:
    """What each fold tests on, in the order of the folds."""
    nodules = (
        reference.nodules.filter(~pl.col("is_ignored")).group_by("case_id").agg(nodules=pl.len())
    )
    tested = folds.filter((pl.col("part") == "test") | pl.col("part").is_null())
    sizes = (
        tested.join(reference.cases.select("case_id", "patient_id"), on="case_id")
        .join(nodules, on="case_id", how="left")
        .group_by("fold", maintain_order=True)
        .agg(
            cases=pl.len(),
            patients=pl.col("patient_id").fill_null(pl.col("case_id")).n_unique(),
            nodules=pl.col("nodules").sum(),
            unnamed=pl.col("patient_id").is_null().sum(),
        )
    )
    by_number = sizes.sort(pl.col("fold").cast(pl.Int64, strict=False), "fold", nulls_last=True)
    return [FoldSize(**row) for row in by_number.iter_rows(named=True)]


def _folds_of(tested: pl.DataFrame, case_id: str) -> list[str]:
    return tested.filter(case_id=case_id)["fold"].to_list()


def _named(case_ids: pl.Series, say: Callable[[str], tuple[str, str]]) -> Iterator[Problem]:
    """A problem for each of the first cases, and how many more there are."""
    for case_id in case_ids.head(MOST_NAMED):
        yield Problem(f"case '{case_id}'", *say(case_id))
    if len(case_ids) > MOST_NAMED:
        yield Problem("folds", f"{len(case_ids) - MOST_NAMED} more cases like this.")
