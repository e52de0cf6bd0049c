"""Copy, digest and read a submission without disclosing the sealed set.

A private copy is both digested and scored: files that change meanwhile, or are next to the
submission, are not part of it. Error messages about an unreadable submission must not depend on the
sealed set. So it is first read without the set, and only then with the geometry of its cases.
"""

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException

from nodulebench.core.errors import InputError, NoduleBenchError, Problem, raise_problems
from nodulebench.core.tables import CASES, RUNS, Submission
from nodulebench.core.text import in_a_line, shown
from nodulebench.imaging.geometry import ORIGIN_MM, SIZE, SPACING_MM, GeometryProblem
from nodulebench.io.csv_files import CsvFile, spelt
from nodulebench.io.folders import process_folder
from nodulebench.io.formats import read_submission
from nodulebench.io.manifests import bytes_digest, file_digest, table_digest
from nodulebench.io.marks.submission_folder import RUN_RECORD as RECORD
from nodulebench.io.table_files import read_table

_NAME = "seriesuid"
_CHECK = "Check it with: nodulebench check. Formats that can be read: nodulebench formats."
_NOMINAL = {
    **dict.fromkeys(SIZE, 1000),
    **dict.fromkeys(SPACING_MM, 1.0),
    **dict.fromkeys(ORIGIN_MM, 0.0),
}
"""Geometry for cases that are not in the set, so that they are read like those that are."""


@contextmanager
def held_copy(marks: Path) -> Iterator[Path]:
    """Hold a private copy; links and special files, which would add data, are refused."""
    with process_folder() as private:
        copy = private / (marks.name or marks.resolve().name)
        try:
            _copy(marks, copy)
        except OSError as error:
            what = f"cannot be read: {error.strerror or error}."
            raise InputError.at(shown(str(marks)), what) from error
        yield copy


def _copy(marks: Path, copy: Path) -> None:
    if marks.is_symlink():
        _require_no_links([marks])
    if not marks.is_dir():
        if marks.exists() and not marks.is_file():  # a device never ends
            raise InputError.at(shown(str(marks)), "is not a regular file.", "Send regular files.")
        shutil.copyfile(marks, copy, follow_symlinks=False)
        _require_no_links([copy])  # it may have become one meanwhile
        return
    parts = sorted(marks.rglob("*"))
    _require_no_links(parts)
    raise_problems(
        Problem(in_a_line(str(part)), "has a line break in its name.", "Rename it.")
        for part in parts
        if "\n" in part.name  # a digest lists names and digests in lines
    )
    copy.mkdir()
    for part in parts:
        target = copy / part.relative_to(marks)
        if part.is_dir():
            target.mkdir()
        else:
            shutil.copyfile(part, target, follow_symlinks=False)
    _require_no_links(sorted(copy.rglob("*")))  # what became one meanwhile was copied as one


def _require_no_links(parts: list[Path]) -> None:
    raise_problems(
        Problem(shown(str(part)), "is a link or not a regular file.", "Send regular files.")
        for part in parts
        if part.is_symlink() or not (part.is_file() or part.is_dir())
    )


def submission_digest(marks: Path) -> str:
    """Return the digest of a submission: its bytes; for JSON also its name, perhaps its case."""
    if marks.is_dir() and (marks / RECORD).is_file():
        return _digest_of_run(marks)
    digest = file_digest(marks)
    if marks.is_dir():
        return digest
    with marks.open("rb") as file:
        start = file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith((b"{", b"[", b"\x1f\x8b")):
        return digest
    return bytes_digest(f"{marks.name} {digest}".encode("utf-8", "surrogatepass"))


def _digest_of_run(folder: Path) -> str:
    named = ("algorithm", "marks", "mark_slices")
    files = [file for file in sorted(folder.iterdir()) if file.name.partition(".")[0] in named]
    lines = [f"{file.name} {file_digest(file)}" for file in files]
    states = [
        table_digest(read_table(file, RUNS).select("case_id", "state"))
        for file in sorted(folder.glob("runs.*"))
    ]
    return bytes_digest("\n".join(["run", *lines, *states]).encode("utf-8", "surrogatepass"))


def read_without_set(copy: Path, sent: Path) -> tuple[str, ...]:
    """Read a submission without the set, so that errors are the same for every set.

    Returned are the cases whose geometry is needed to read the rest.
    """
    try:
        read_submission(copy, None)
    except InputError as error:
        wanted = [
            problem.cases for problem in error.problems if isinstance(problem, GeometryProblem)
        ]
        if len(wanted) == len(error.problems):
            return tuple(dict.fromkeys(name for cases in wanted for name in cases))
        named = _named_in_rows(copy)
        if named is None:
            raise _as_sent(error, copy, sent) from error
        try:
            read_submission(copy, named)
        except InputError as still:
            raise _as_sent(still, copy, sent) from error
    except NoduleBenchError:
        raise
    except (Exception, PanicException) as error:
        what = f"cannot be read ({type(error).__name__}); the evaluation was not charged."
        raise InputError.at(sent, what, _CHECK) from error
    return ()


def read_with(copy: Path, cases: pl.DataFrame, wanted: tuple[str, ...]) -> Submission:
    """Read a submission with the geometry of a set's cases; an error gives no details.

    ``wanted`` are cases whose geometry is needed; those not in the set get a nominal one.
    """
    listed = {*cases["case_id"], *cases["case_id"].str.replace_all(".", "_", literal=True)}
    others = [{"case_id": name, **_NOMINAL} for name in wanted if name not in listed]
    known = cases
    if others:
        known = pl.concat([cases, pl.DataFrame(others)], how="diagonal_relaxed")
    try:
        return read_submission(copy, known)
    except (Exception, PanicException) as error:
        what = "does not fit the images of this test set (positions of marks, slices)."
        remedy = "Check that it is for this set and in the right coordinates."
        raise InputError.at(copy.name, what, remedy) from error


def without_withdrawn(submission: Submission, cases: Collection[str]) -> Submission:
    """Return a submission without withdrawn cases, so that the same file can be scored again."""

    def without_cases(table: pl.DataFrame) -> pl.DataFrame:
        return table.filter(~pl.col("case_id").is_in([*cases]))

    if not cases:
        return submission
    slices, runs = submission.slices, submission.runs
    return replace(
        submission,
        marks=without_cases(submission.marks),
        slices=None if slices is None else without_cases(slices),
        runs=None if runs is None else without_cases(runs),
    )


def _named_in_rows(copy: Path) -> pl.DataFrame | None:
    """Return the cases in the rows of a LUNA16 file without repeated headers; None: not one."""
    path = copy if copy.is_file() else next(iter(sorted(copy.glob("marks.csv*"))), None)
    if path is None:
        return None
    try:
        file = CsvFile(path)
        header = file.header()
        if _NAME not in spelt(header, (_NAME,)):
            return None
        column = header[spelt(header, (_NAME,)).index(_NAME)]
        names = file.read_strings(header, [column], has_long_rows=True)[column]
    except (Exception, PanicException):
        return None
    if column not in names:
        return None
    return CASES.arrange(names.filter(names != column).unique().rename("case_id").to_frame())


def _as_sent(error: InputError, copy: Path, sent: Path) -> InputError:
    def as_sent(text: str) -> str:
        return text.replace(str(copy), str(sent)).replace(shown(str(copy)), shown(str(sent)))

    return InputError(
        Problem(as_sent(problem.where), as_sent(problem.what), as_sent(problem.remedy))
        for problem in error.problems
    )
