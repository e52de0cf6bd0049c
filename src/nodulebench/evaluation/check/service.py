"""Files of marks and a reference -> problems and warnings, without a score."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException

from nodulebench.core.cohort import labelled_cohort
from nodulebench.core.errors import InputError, Problem, UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.protocols import load_protocol
from nodulebench.core.tables import NODULES, Reference, Submission
from nodulebench.evaluation.check.cases import keep_listed
from nodulebench.evaluation.check.submission import (
    failed_runs,
    repeated_marks,
    scored_notices,
    submission_notices,
)
from nodulebench.io.bundle import is_sealed
from nodulebench.io.formats import fitting, read_case_list, read_reference, read_submission
from nodulebench.io.marks.luna16 import parse_columns
from nodulebench.io.table_files import require_no_parquet
from nodulebench.matching import label_marks, targets

_FORMATS = "What can be read: nodulebench formats."


@dataclass(frozen=True, slots=True)
class Checked:
    """The check of one file or folder of marks."""

    path: Path
    format: str = ""
    marks: int = 0
    """Marks in cases of the test set; all marks if the set is sealed."""
    cases: int = 0
    """Cases that have a mark."""
    problems: tuple[Problem, ...] = ()
    """Why it cannot be scored."""
    notices: tuple[Notice, ...] = ()
    """Warnings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckOptions:
    """What is checked; the fields are as in ``EvaluateOptions``."""

    marks: tuple[Path, ...]
    reference: Path
    protocol: str | None = None
    series: Path | None = None
    cases: Path | None = None
    columns: str | None = None


def check_files(options: CheckOptions) -> tuple[list[Checked], int | None]:
    """Check submissions as ``evaluate`` would read them, without scoring them.

    A sealed test set is not opened: only the files are checked.

    Returns:
        The check of each file, and the number of cases in the test set (None: it is sealed).

    Raises:
        InputError: if the reference cannot be read.
    """
    columns = None if options.columns is None else parse_columns(options.columns)
    if is_sealed(options.reference):
        return [_check_rows(path, columns) for path in options.marks], None
    protocol = load_protocol(options.protocol or "luna16")
    reference = read_reference(options.reference, cases=options.cases)
    if options.series is not None:
        reference = reference.restricted(read_case_list(options.series), options.series.name)
    checks = [_check_rows(path, columns, reference, protocol) for path in options.marks]
    return checks, reference.cases.height


def check_without_reference(path: Path, cases: pl.DataFrame | None, protocol: str) -> Checked:
    """Check a submission by its file and the table of cases only; no reference is read.

    Args:
        path: file or folder of marks; it need not be trusted.
        cases: CASES of the test set; None: nothing of the set may be disclosed, not even its cases.
        protocol: name or TOML file.
    """
    try:
        require_no_parquet(path)
        if cases is None:
            return _check_rows(path, None)
        name = fitting(path, "marks").name
        known = Reference("test set", cases, NODULES.empty())
        submission = read_submission(path, cases)
        listed, notices = keep_listed(known, submission, load_protocol(protocol))
    except InputError as error:
        return Checked(path, problems=tuple(error.problems))
    except (Exception, PanicException) as error:  # the file is not trusted: any error is its fault
        what = f"cannot be read ({type(error).__name__})."
        return Checked(path, problems=(Problem(path.name, what, _FORMATS),))
    all_notices = (*submission.notices, *notices, *submission_notices(known, submission))
    marked = listed.marks["case_id"].n_unique()
    return Checked(
        path, name, listed.marks.height, marked, notices=tuple(dict.fromkeys(all_notices))
    )


def _check_rows(
    path: Path,
    columns: Mapping[str, str] | None,
    reference: Reference | None = None,
    protocol: TestProtocol | None = None,
) -> Checked:
    name = ""
    try:
        name = fitting(path, "marks").name if columns is None else "own columns"
        known = None if reference is None else reference.cases
        submission = read_submission(path, known, columns=columns)
        if reference is None or protocol is None:
            notices = (*repeated_marks(submission), *failed_runs(submission))
        else:
            submission, notices = _against(reference, submission, protocol)
    except InputError as error:
        return Checked(path, name, problems=tuple(error.problems))
    return Checked(
        path,
        name,
        submission.marks.height,
        submission.marks["case_id"].n_unique(),
        notices=tuple(dict.fromkeys((*submission.notices, *notices))),
    )


def _against(
    reference: Reference, submission: Submission, protocol: TestProtocol
) -> tuple[Submission, tuple[Notice, ...]]:
    """The marks on the set's cases, and warnings by the first rule that applies."""
    listed, notices = keep_listed(reference, submission, protocol)
    notices += submission_notices(reference, submission)
    for choice in protocol.rules:
        try:
            labels = label_marks(reference, listed, protocol, choice)
        except UndefinedError:
            continue
        is_target = targets(reference, listed, protocol)
        cohort = labelled_cohort(reference, listed, labels, is_target)
        return listed, (*notices, *labels.notices, *scored_notices(cohort))
    return listed, notices
