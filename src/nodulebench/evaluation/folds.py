"""Cross-validation folds: check that every case is tested once, held out; make and merge folds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.schema import Column, TableSchema
from nodulebench.core.tables import MARKS, Reference, Submission
from nodulebench.io.csv_files import CsvFile, write_csv
from nodulebench.io.formats import read_case_list, read_reference, read_submission
from nodulebench.io.marks import luna16 as luna16_csv
from nodulebench.io.marks import submission_folder

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
IS_TESTED = (pl.col("part") == "test") | pl.col("part").is_null()
PATIENT = pl.col("patient_id").fill_null("case:" + pl.col("case_id")).alias("patient")
"""Cases of unknown patients count as separate patients."""
MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class FoldSize:
    """The test cases of one fold."""

    fold: str
    cases: int
    patients: int
    nodules: int
    unnamed: int = 0
    """Cases whose patient is unknown; each counts as a separate patient."""


def check_folds(
    paths: Sequence[Path], reference: Path, *, cases: Path | None = None
) -> list[FoldSize]:
    """Check that every case is tested in exactly one fold, which was not trained on its patient.

    ``paths`` are one table with seriesuid (or case_id), fold and optionally part (test or train);
    or a list of test cases for each fold, which trains on all others. ``cases`` names their
    patients.
    """
    truth = read_reference(reference, cases=cases)
    folds = read_folds(paths)
    problems = [*fold_problems(folds, truth)]
    raise_problems(problems)
    return fold_sizes(folds, truth)


def read_folds(paths: Sequence[Path]) -> pl.DataFrame:
    """FOLDS from one table, or from a list of cases for each fold."""
    if len(paths) > 1:
        parts = [
            pl.DataFrame({"case_id": read_case_list(path)}).with_columns(fold=pl.lit(path.stem))
            for path in paths
        ]
        return FOLDS.arrange(pl.concat(parts))
    (path,) = paths
    file = CsvFile(path)
    header = file.header()
    if "fold" not in header:
        raise InputError.at(
            str(path),
            "has no column 'fold'.",
            "Give a table with seriesuid and fold, or a list of cases for each fold.",
        )
    case = "case_id" if "case_id" in header else "seriesuid"
    part = [name for name in header if name == "part"]
    rows = file.read_columns(text=(case, "fold", *part))
    return FOLDS.conform(rows.rename({case: "case_id"}), path.name, rows["line"])


def fold_problems(folds: pl.DataFrame, reference: Reference) -> Iterator[Problem]:
    tested = folds.filter(IS_TESTED)
    known = reference.cases["case_id"]
    count = tested["case_id"].value_counts(sort=True)
    twice = count.filter(pl.col("count") > 1)["case_id"].sort()
    yield from _named(
        twice,
        lambda case_id: (
            f"is tested in folds {', '.join(tested.filter(case_id=case_id)['fold'])}.",
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
            "Remove it, or check against the set to which it belongs.",
        ),
    )
    yield from _training_problems(folds, tested, reference)


def _training_problems(
    folds: pl.DataFrame, tested: pl.DataFrame, reference: Reference
) -> Iterator[Problem]:
    """Patients on which a fold trains and tests; without train rows it trains on all others."""
    patient = reference.cases.select("case_id", PATIENT)
    tests = tested.join(patient, on="case_id").select("fold", "case_id", "patient")
    trained = folds.filter(part="train").join(patient, on="case_id").select("fold", "patient")
    if trained.is_empty():
        names = tested["fold"].unique().rename("trained_in").to_frame()
        trained = (
            tests.join(names, how="cross")
            .filter(pl.col("fold") != pl.col("trained_in"))
            .select(fold="trained_in", patient="patient")
        )
    # a case that is tested twice is already reported
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
    sizes = (
        folds.filter(IS_TESTED)
        .join(reference.cases.select("case_id", "patient_id"), on="case_id")
        .join(_nodules_by_case(reference), on="case_id", how="left")
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


def _nodules_by_case(reference: Reference) -> pl.DataFrame:
    findings = reference.nodules.filter(~pl.col("is_ignored"))
    return findings.group_by("case_id").agg(nodules=pl.len())


def _named(case_ids: pl.Series, translate: Callable[[str], tuple[str, str]]) -> Iterator[Problem]:
    for case_id in case_ids.head(MOST_NAMED):
        yield Problem(f"case '{case_id}'", *translate(case_id))
    if len(case_ids) > MOST_NAMED:
        yield Problem("folds", f"{len(case_ids) - MOST_NAMED} more cases like this.")


def make_folds(
    reference: Path, out: Path, *, count: int = 10, seed: int = 0, cases: Path | None = None
) -> list[FoldSize]:
    """Draw folds of all cases and write them; a table of cases may name their patients."""
    truth = read_reference(reference, cases=cases)
    folds = drawn_folds(truth, count, seed)
    write_csv(folds.select(seriesuid="case_id", fold="fold"), out)
    return fold_sizes(folds, truth)


def drawn_folds(reference: Reference, count: int, seed: int) -> pl.DataFrame:
    """FOLDS: patients with most cases, then nodules, go first, each to the smallest fold.

    The order of patients with equal numbers is random, by the seed.
    """
    named = reference.cases.select("case_id", PATIENT).join(
        _nodules_by_case(reference), on="case_id", how="left"
    )
    patients = named.group_by("patient", maintain_order=True).agg(
        cases=pl.len(), nodules=pl.col("nodules").fill_null(0).sum()
    )
    if patients.height < count:
        what = f"has {patients.height} patients, too few for {count} folds."
        raise InputError.at(f"test set '{reference.name}'", what, "Make fewer folds.")
    order = np.random.default_rng(seed).permutation(patients.height)
    sorted_ = patients[order].sort("cases", "nodules", descending=True, maintain_order=True)
    held = [(0, 0)] * count
    fold_of: dict[str, int] = {}
    for patient, own_cases, own_nodules in sorted_.iter_rows():
        fold = min(range(count), key=lambda index: (*held[index], index))
        held[fold] = (held[fold][0] + own_cases, held[fold][1] + own_nodules)
        fold_of[patient] = fold
    of_case = named["patient"].replace_strict(fold_of, return_dtype=pl.Int64).cast(pl.String)
    return FOLDS.arrange(named.select("case_id", fold=of_case))


@dataclass(frozen=True)
class Merged:
    """The merged submissions of all folds."""

    marks: int
    cases: int
    without: int
    """Cases of the folds without a mark."""
    folds: dict[str, str]


def merge_folds(paths: Sequence[Path], folds: Path, out: Path, *, name: str = "") -> Merged:
    """Write the submissions of all folds as one.

    The marked cases of a submission tell which fold it is; those without a mark are of the
    remaining folds. ``out`` is a .csv file in LUNA16's format, or a folder.
    """
    tested = read_folds([folds]).filter(IS_TESTED)
    twice = tested.filter(tested["case_id"].is_duplicated())["case_id"].unique().sort().to_list()
    raise_problems(list(_each(folds.name, twice, "is tested in several folds.", "Test it once.")))
    fold_of = dict(tested.select("case_id", "fold").iter_rows())
    given = {str(path): read_submission(path).marks for path in paths}
    raise_problems(list(_problems(given, fold_of)))
    taken = {
        fold_of[marks["case_id"][0]]: path for path, marks in given.items() if not marks.is_empty()
    }
    missing = sorted(set(fold_of.values()) - set(taken))
    empty = [path for path, marks in given.items() if marks.is_empty()]
    if len(missing) > len(empty):
        what = f"fold {', '.join(missing)} has no submission with a mark."
        remedy = "Give one file for each fold; for a fold without marks, one with only its header."
        raise InputError.at(folds.name, what, remedy)
    taken |= dict(zip(missing, empty, strict=False))
    ordered = [fold for fold in dict.fromkeys(fold_of.values()) if fold in taken]
    marks = pl.concat([given[taken[fold]] for fold in ordered], how="diagonal_relaxed")
    numbered = marks.with_columns(mark_id=pl.int_range(1, pl.len() + 1).cast(pl.String))
    called = name or out.name.removesuffix(".csv")
    whole = Submission(called, MARKS.conform(numbered, "marks"))
    form = luna16_csv if out.name.endswith(".csv") else submission_folder
    form.write_marks(whole, out)
    cases = marks["case_id"].n_unique()
    return Merged(
        marks.height, cases, len(fold_of) - cases, {fold: taken[fold] for fold in ordered}
    )


def _problems(given: Mapping[str, pl.DataFrame], fold_of: Mapping[str, str]) -> Iterator[Problem]:
    marked_by: dict[str, str] = {}
    for path, marks in given.items():
        cases = marks["case_id"].unique(maintain_order=True).to_list()
        unknown = [case for case in cases if case not in fold_of]
        yield from _each(path, unknown, "is in no fold.", "Merge by the folds it was tested in.")
        marked_folds = sorted({fold_of[case] for case in cases if case in fold_of})
        if len(marked_folds) > 1:
            yield Problem(
                path,
                f"marks cases of folds {', '.join(marked_folds)}.",
                "A fold's weights were trained on the cases of all other folds; keep only its own.",
            )
        twice = [case for case in cases if case in marked_by]
        for case in twice[:MOST_NAMED]:
            what = f"is marked by {marked_by[case]} and by {path}."
            yield Problem(f"case '{case}'", what, "Each case is tested once.")
        marked_by |= dict.fromkeys(cases, path)


def _each(path: str, cases: Sequence[str], what: str, hint: str) -> Iterator[Problem]:
    for case in cases[:MOST_NAMED]:
        yield Problem(f"{path} case '{case}'", what, hint)
    if len(cases) > MOST_NAMED:
        yield Problem(path, f"{len(cases) - MOST_NAMED} more cases like this.")
