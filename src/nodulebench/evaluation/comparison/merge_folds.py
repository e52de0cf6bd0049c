"""A submission of each fold of a cross-validation -> one submission of all cases."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError, Problem, refuse_any
from nodulebench.core.tables import MARKS, Submission
from nodulebench.evaluation.comparison.folds import read_folds
from nodulebench.io.formats import read_submission
from nodulebench.io.marks import luna16 as luna16_csv
from nodulebench.io.marks import submission_folder

MOST_NAMED = 5


@dataclass(frozen=True)
class Merged:
    """What became of the folds."""

    marks: int
    cases: int
    """That have a mark."""
    without: int
    """Cases of the folds without any."""
    folds: dict[str, str]
    """Which submission was taken for which fold."""


def merge_folds(paths: Sequence[Path], folds: Path, out: Path, *, name: str = "") -> Merged:
    """Write the submissions of all folds as one.

    Args:
        paths: a submission for each fold, in any format; what it marks says which fold it is, and
            those without a mark are of the folds that are left.
        folds: the table of series and folds.
        out: a .csv file as LUNA16's, or a folder.
        name: of the algorithm; empty: that of ``out``.

    Raises:
        InputError: with every case that is in no fold or marked by several submissions, every
            submission that marks cases of several folds, and every fold without a submission.
    """
    table = read_folds([folds])
    tested = table.filter((pl.col("part") == "test") | pl.col("part").is_null())
    twice = tested.filter(tested["case_id"].is_duplicated())["case_id"].unique().sort().to_list()
    refuse_any(list(_each(folds.name, twice, "is tested in several folds.", "Test it once.")))
    fold_of = dict(tested.select("case_id", "fold").iter_rows())
    given = {str(path): read_submission(path).marks for path in paths}
    refuse_any(list(_problems(given, fold_of)))
    taken = {
        fold_of[marks["case_id"][0]]: path for path, marks in given.items() if not marks.is_empty()
    }
    missing = sorted(set(fold_of.values()) - set(taken))
    empty = [path for path, marks in given.items() if marks.is_empty()]
    if len(missing) > len(empty):
        raise InputError.at(
            folds.name,
            f"fold {', '.join(missing)} has no submission with a mark.",
            "Give one file for each fold; where a fold has no mark, one with its header alone.",
        )
    taken |= dict(zip(missing, empty, strict=False))
    ordered = [fold for fold in dict.fromkeys(fold_of.values()) if fold in taken]
    marks = pl.concat([given[taken[fold]] for fold in ordered], how="diagonal_relaxed")
    numbered = marks.with_columns(mark_id=pl.int_range(1, pl.len() + 1).cast(pl.String))
    called = name or out.name.removesuffix(".csv")
    whole = Submission(called, MARKS.conform(numbered, "marks"))
    form = luna16_csv if out.name.endswith(".csv") else submission_folder
    form.write_marks(whole, out)
    cases = marks["case_id"].n_unique()
    return Merged(marks.height, cases, len(fold_of) - cases, {one: taken[one] for one in ordered})


def _problems(given: Mapping[str, pl.DataFrame], fold_of: Mapping[str, str]) -> Iterator[Problem]:
    marked_by: dict[str, str] = {}
    for path, marks in given.items():
        cases = marks["case_id"].unique(maintain_order=True).to_list()
        unknown = [case for case in cases if case not in fold_of]
        yield from _each(path, unknown, "is in no fold.", "Merge by the folds it was tested in.")
        found = sorted({fold_of[case] for case in cases if case in fold_of})
        if len(found) > 1:
            yield Problem(
                path,
                f"marks cases of folds {', '.join(found)}.",
                "A fold's weights have learnt from the cases of all others; keep its own alone.",
            )
        twice = [case for case in cases if case in marked_by]
        for case in twice[:MOST_NAMED]:
            yield Problem(
                f"case '{case}'",
                f"is marked by {marked_by[case]} and by {path}.",
                "Each case is tested once.",
            )
        marked_by |= dict.fromkeys(cases, path)


def _each(path: str, cases: Sequence[str], what: str, hint: str) -> Iterator[Problem]:
    for case in cases[:MOST_NAMED]:
        yield Problem(f"{path} case '{case}'", what, hint)
    if len(cases) > MOST_NAMED:
        yield Problem(path, f"{len(cases) - MOST_NAMED} more cases like this.")
