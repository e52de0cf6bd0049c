"""A submission and a test set -> problems and warnings, also of probable coordinate errors."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import PanicException

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError, Problem, UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.core.tables import CASES, MARKS, NODULES, Reference, Submission
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.io.bundle import is_sealed
from nodulebench.io.cases import case_of_image
from nodulebench.io.formats import fitting, read_reference, read_submission
from nodulebench.io.marks.luna16 import parse_columns
from nodulebench.io.table_files import require_no_parquet
from nodulebench.matching import label_cohort
from nodulebench.matching.pairs import pairs_within

_FORMATS = "What can be read: nodulebench formats."


@dataclass(frozen=True, slots=True)
class Checked:
    """The check of one file or folder of marks."""

    path: Path
    format: str = ""
    marks: int = 0
    """Marks in cases of the test set; all marks if the set is sealed."""
    cases: int = 0
    problems: tuple[Problem, ...] = ()
    notices: tuple[Notice, ...] = ()


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

    The number of cases is None if the set is sealed: then only the files are checked.
    """
    columns = None if options.columns is None else parse_columns(options.columns)
    if is_sealed(options.reference):
        return [_check_rows(path, columns) for path in options.marks], None
    protocol = load_protocol(options.protocol or "luna16")
    reference = read_reference(options.reference, cases=options.cases, series=options.series)
    checks = [_check_rows(path, columns, reference, protocol) for path in options.marks]
    return checks, reference.cases.height


def check_without_reference(path: Path, cases: pl.DataFrame | None, protocol: str) -> Checked:
    """Check an untrusted file by the table of cases only.

    ``cases`` None: nothing of the set may be disclosed, not even its cases.
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
            labels, cohort = label_cohort(reference, listed, protocol, choice)
        except UndefinedError:
            continue
        return listed, (*notices, *labels.notices, *scored_notices(cohort))
    return listed, notices


MOST_NAMED = 4
"""The number of cases that a notice names: one more than are shown, so that "..." follows."""
_SAME = ("x_mm", "y_mm", "z_mm", "score")
_MIXER = np.uint64(0x9E3779B97F4A7C15)


def repeated_marks(submission: Submission) -> tuple[Notice, ...]:
    """The number of marks that equal another mark of the same case, to the last digit.

    First only hashes of position and score are compared: for files of a million different marks,
    one in thirty million is searched in vain.
    """
    marks = submission.marks
    mixed = np.zeros(marks.height, dtype=np.uint64)
    for name in _SAME:
        mixed = (mixed ^ marks[name].cast(pl.Float64).to_numpy().view(np.uint64)) * _MIXER
        mixed ^= mixed >> np.uint64(32)
    mixed.sort()
    if not (mixed[1:] == mixed[:-1]).any():
        return ()
    rows = marks.select("case_id", *_SAME).drop_nulls("x_mm")
    is_again = ~rows.select(pl.struct(pl.all()).is_first_distinct()).to_series()
    if not is_again.any():
        return ()
    cases = rows["case_id"].filter(is_again)
    names = cases.unique(maintain_order=True).head(MOST_NAMED).to_list()
    values = {"marks": len(cases), "cases": cases.n_unique(), "names": names}
    return (Notice("marks_repeated", values),)


def cases_without_marks(reference: Reference, submission: Submission) -> tuple[Notice, ...]:
    row = submission.rows_in(reference)
    is_empty = np.bincount(row[row >= 0], minlength=reference.cases.height) == 0
    if submission.runs is not None:
        done = reference.rows_of(submission.runs.filter(pl.col("state") == "ok")["case_id"])
        is_empty[done[done >= 0]] = False
    empty = np.flatnonzero(is_empty)
    if not len(empty):
        return ()
    names = reference.cases["case_id"].gather(empty[:MOST_NAMED]).to_list()
    values = {"count": len(empty), "cases": reference.cases.height, "names": names}
    return (Notice("cases_without_marks", values),)


def failed_runs(submission: Submission) -> tuple[Notice, ...]:
    if submission.runs is None:
        return ()
    state, count = submission.runs["state"], submission.runs.height
    failed = submission.runs.filter(~state.is_in(["ok", "lungs_implausible"]))["case_id"]
    doubtful = submission.runs.filter(state == "lungs_implausible")["case_id"]
    late = int((state == "timed_out").sum())
    notices = []
    if len(failed):
        counts = {"failed": len(failed) - late, "timed_out": late, "runs": count}
        names = failed.head(MOST_NAMED).to_list()
        notices.append(Notice("runs_failed", {**counts, "names": names}))
    if len(doubtful):
        names = doubtful.head(MOST_NAMED).to_list()
        values = {"count": len(doubtful), "runs": count, "names": names}
        notices.append(Notice("runs_lungs_implausible", values))
    return tuple(notices)


FEWEST = 10
"""With fewer hits or fewer false positives their order is chance."""
HIGHEST_SHARE = 1 / 3
"""Share of the pairs of a hit and a false positive in which the hit has the higher score."""


def submission_notices(reference: Reference, submission: Submission) -> tuple[Notice, ...]:
    """Warnings from the rows of a submission; they reveal nothing of the reference."""
    return (
        *repeated_marks(submission),
        *cases_without_marks(reference, submission),
        *failed_runs(submission),
    )


def scored_notices(cohort: LabelledCohort) -> tuple[Notice, ...]:
    """Warnings from the labels of the marks; they reveal the reference, so keep them private.

    If the hits have the low scores, one asks whether a low score means a nodule.
    """
    notices = coordinate_notices(cohort)
    hits, others = cohort.hit_score[cohort.is_hit], np.sort(cohort.false_score)
    if not cohort.has_scores or min(len(hits), len(others)) < FEWEST:
        return notices
    below = np.searchsorted(others, hits, "left") + np.searchsorted(others, hits, "right")
    share = float(below.mean() / 2 / len(others))
    if share < HIGHEST_SHARE:
        return (Notice("scores_inverted", {"share": share}), *notices)
    return notices


def threshold_notices(submission: Submission, protocol: TestProtocol) -> tuple[Notice, ...]:
    """State where metrics of one point are read, or what replaces a declared threshold."""
    declared = submission.threshold
    if declared is None:
        return ()
    if protocol.operating_point is not None:
        values = {"declared": declared, "rate": protocol.operating_point}
        return (Notice("threshold_not_used", values),)
    if protocol.score_threshold is not None:
        values = {"declared": declared, "threshold": protocol.score_threshold}
        return (Notice("threshold_overridden", values),)
    if submission.marks["score"].null_count():
        return (Notice("threshold_without_scores", {"declared": declared}),)
    return (Notice("threshold_declared", {"declared": declared}),)


def checked_reference(reference: Reference) -> Reference:
    cases, nodules = reference.cases, reference.nodules
    source = f"reference '{reference.name}'"
    if not CASES.is_sound(cases) or cases["case_id"].is_duplicated().any():
        reference = replace(reference, cases=CASES.conform(cases, f"{source} cases"))
    if not NODULES.is_sound(nodules):
        reference = replace(reference, nodules=NODULES.conform(nodules, f"{source} nodules"))
    return reference


def checked_submission(submission: Submission) -> Submission:
    """The submission, if its marks conform to their schema.

    Reading a file checks its rows, so only marks made in memory are checked for repeated keys.
    """
    if submission.digest and MARKS.is_sound(submission.marks):
        return submission
    marks = MARKS.conform(submission.marks, f"submission '{submission.name}' marks")
    return replace(submission, marks=marks)


_SIGNS = re.compile(r"[\W_]+")


def _without_ending(name: str) -> str:
    return case_of_image(name.strip().strip("\"'")).removesuffix(".0")


WAYS: dict[str, Callable[[str], str]] = {
    "file": _without_ending,
    "letters": lambda name: _without_ending(name).lower(),
    "signs": lambda name: _SIGNS.sub("", _without_ending(name).lower()),
}
"""Simplifications of a name, mild ones first: folders and file endings, upper case, signs."""


@dataclass(frozen=True, slots=True)
class NearNames:
    """Names that match cases after a simplification."""

    way: str
    """The simplification: a key of ``WAYS``."""
    known: dict[str, str]
    """Name as given -> name of the case."""


def near_names(given: Iterable[str], known: Iterable[str]) -> NearNames | None:
    """Which names match cases after the mildest simplification; None: no name does.

    Cases that become equal by the simplification do not match.
    """
    unknown, cases = list(given), list(known)
    best: NearNames | None = None
    for way, simple in WAYS.items():
        of_simple: dict[str, str | None] = {}
        for case in cases:
            key = simple(case)
            of_simple[key] = None if key in of_simple else case
        pairs = ((name, of_simple.get(simple(name))) for name in unknown)
        near = {name: case for name, case in pairs if case is not None}
        if near and (best is None or len(near) > len(best.known)):
            best = NearNames(way, near)
    return best


_SHOWN = MOST_NAMED - 1
_IGNORED = {
    "file": "folders and endings of files",
    "letters": "endings of files and large or small letters",
    "signs": "dashes, underscores, dots and the like",
}


def keep_listed(
    reference: Reference, submission: Submission, protocol: TestProtocol
) -> tuple[Submission, tuple[Notice, ...]]:
    """The submission's marks on cases of the test set, and notices about the others."""
    row = submission.rows_in(reference)
    if (row >= 0).all():
        return submission, ()
    is_listed = pl.Series(row >= 0)
    others = submission.marks.filter(~is_listed)
    is_header = others["case_id"] == "seriesuid"
    foreign = others.filter(~is_header)
    near = near_names(foreign["case_id"].unique(maintain_order=True), reference.cases["case_id"])
    if protocol.unlisted_cases == "error":
        raise _refusal(reference, submission, others, near)
    if foreign.height and not is_listed.any():
        raise _refusal(reference, submission, foreign, near)
    listed_only = replace(submission, marks=submission.marks.filter(is_listed))
    return listed_only, tuple(_dropped_notices(foreign["case_id"], int(is_header.sum()), near))


def _refusal(
    reference: Reference, submission: Submission, foreign: pl.DataFrame, near: NearNames | None
) -> InputError:
    test_set = f"the test set '{reference.name}' ({reference.cases.height} cases)"
    names = foreign["case_id"].unique(maintain_order=True)
    shown = ", ".join(f"'{name}'" for name in names.head(_SHOWN))
    listed = f"{shown}, ..." if len(names) > _SHOWN else shown
    where = f"submission '{submission.name}'"
    if foreign.height == 1:
        where += f" mark '{foreign['mark_id'][0]}'"
        what = f"case {listed} is not in {test_set}."
        remedy = "Remove the mark, or evaluate against the set it was made for."
    elif foreign.height == submission.marks.height:
        what = f"none of its {foreign.height:,} marks is in a case of {test_set}, but in {listed}."
        if odd := _odd_scores(foreign["score"]):
            what += f" {odd:,} of them have a score that is not a finite number."
        remedy = "Evaluate against the set they were made for."
    else:
        what = (
            f"{foreign.height:,} marks are in {len(names):,} cases that are not in {test_set}: "
            f"{listed}."
        )
        remedy = (
            "Evaluate against the set they were made for, or skip them with "
            'unlisted_cases = "drop" in the protocol.'
        )
    return InputError.at(where, what, f"{_correction(near)} {remedy}".strip())


def _odd_scores(scores: pl.Series) -> int:
    """How many scores are not numbers, in a submission that has scores."""
    missing = scores.null_count()
    not_finite = int((~scores.is_finite()).sum())
    return not_finite + (missing if missing < len(scores) else 0)


def _correction(near: NearNames | None) -> str:
    if near is None:
        return ""
    given, case = next(iter(near.known.items()))
    return (
        f"Without {_IGNORED[near.way]} {len(near.known):,} of the names would match cases "
        f"('{given}' is '{case}'?): correct them."
    )


def _dropped_notices(foreign: pl.Series, headers: int, near: NearNames | None) -> Iterator[Notice]:
    """Notices about marks that the official program drops silently."""
    if len(foreign):
        names = foreign.unique(maintain_order=True)
        named = names.head(MOST_NAMED).to_list()
        yield Notice("marks_dropped", {"marks": len(foreign), "cases": len(names), "names": named})
    if near is not None:
        given, case = next(iter(near.known.items()))
        marks = int(foreign.is_in(list(near.known)).sum())
        values = {"marks": marks, "cases": len(near.known), "way": near.way}
        yield Notice("names_nearly_match", {**values, "given": given, "case": case})
    if headers:
        yield Notice("headers_dropped", {"count": headers})


FEW_HITS = 0.5
"""Share of the nodules in cases with marks: if fewer are hit, coordinate errors are tried."""
VERY_FEW_HITS = 0.1
"""If fewer are hit and no coordinate error explains it, a notice says so."""
FEWEST_NODULES = 3
"""A correction that hits fewer nodules is chance."""
LEAST_SHARE, LEAST_GAIN = 0.25, 2
"""A coordinate error explains the misses if undoing it hits this share of the nodules, and so many
times as many as before."""
UNMEASURED_RADIUS_MM = 5.0

_TURNS: dict[str, tuple[tuple[int, int, int], tuple[float, float, float]]] = {
    "ras": ((0, 1, 2), (-1, -1, 1)),
    "x_mirrored": ((0, 1, 2), (-1, 1, 1)),
    "y_mirrored": ((0, 1, 2), (1, -1, 1)),
    "z_mirrored": ((0, 1, 2), (1, 1, -1)),
    "zyx": ((2, 1, 0), (1, 1, 1)),
    "yxz": ((1, 0, 2), (1, 1, 1)),
    "xzy": ((0, 2, 1), (1, 1, 1)),
    "centimetres": ((0, 1, 2), (10, 10, 10)),
    "metres": ((0, 1, 2), (1000, 1000, 1000)),
}
"""Errors that can be undone without the images: the column of each axis, and its factor."""
GRID_ERRORS = ("flipped_z", "voxels", "voxels_zyx", "from_first_voxel")
"""Errors that need the geometry of the images."""


def coordinate_notices(cohort: LabelledCohort) -> tuple[Notice, ...]:
    """If few nodules are hit, name the coordinate error whose correction would hit many more."""
    case = cohort.submission.rows_in(cohort.reference)
    has_marks = np.zeros(cohort.case_count, dtype=np.bool_)
    has_marks[case] = True
    is_here = has_marks[cohort.nodule_case]
    nodules = int(np.count_nonzero(is_here))
    if nodules < FEWEST_NODULES or np.count_nonzero(cohort.is_hit) >= FEW_HITS * nodules:
        return ()
    xyz = cohort.submission.marks.select("x_mm", "y_mm", "z_mm").to_numpy()
    given = _nodules_hit(cohort, is_here, case, xyz)
    tried = {
        error: _nodules_hit(cohort, is_here, case, moved)
        for error, moved in _coordinate_errors(cohort, case, xyz)
    }
    error = max(tried, key=lambda name: tried[name])
    values = {"given": given, "nodules": nodules}
    if tried[error] >= max(FEWEST_NODULES, LEAST_SHARE * nodules, LEAST_GAIN * given + 1):
        return (Notice("would_be_hit", {**values, "hits": tried[error], "slip": error}),)
    if given >= VERY_FEW_HITS * nodules:
        return ()
    if GRID_ERRORS[0] not in tried:
        return (Notice("few_hits", {**values, "untried": cohort.case_count}),)
    return (Notice("few_hits", values),)


def _nodules_hit(
    cohort: LabelledCohort, is_here: BoolArray, mark_case: IntArray, mark_xyz: FloatArray
) -> int:
    table = cohort.reference.nodules
    row = cohort.nodule_row[is_here]
    diameter = table["diameter_mm"].to_numpy()[row].astype(np.float64)
    radius = np.where(np.isnan(diameter), UNMEASURED_RADIUS_MM, diameter / 2)
    _, nodule = pairs_within(
        mark_case,
        mark_xyz,
        cohort.nodule_case[is_here],
        table.select("x_mm", "y_mm", "z_mm").to_numpy()[row],
        radius,
    )
    return len(np.unique(nodule))


def _coordinate_errors(
    cohort: LabelledCohort, case: IntArray, xyz: FloatArray
) -> Iterator[tuple[str, FloatArray]]:
    """The marks as they would be without each coordinate error."""
    for error, (order, factor) in _TURNS.items():
        yield error, xyz[:, order] * np.array(factor)
    known = geometries(cohort.reference.cases)
    grids = {
        row: known[name]
        for row, name in enumerate(cohort.reference.cases["case_id"])
        if name in known
    }
    if not grids:
        return
    rows_of_case = [
        (grids[row], np.flatnonzero(case == row)) for row in np.unique(case) if row in grids
    ]
    for error in GRID_ERRORS:
        moved = np.full_like(xyz, np.inf)  # without geometry a mark hits nothing
        for grid, rows in rows_of_case:
            moved[rows] = _on_grid(error, grid, xyz[rows])
        yield error, np.where(np.isfinite(moved), moved, 1e9)


def _on_grid(error: str, grid: Geometry, xyz: FloatArray) -> FloatArray:
    if error == "voxels":
        return grid.to_world(xyz)
    if error == "voxels_zyx":
        return grid.to_world(xyz[:, ::-1])
    if error == "from_first_voxel":
        return grid.to_world(xyz / grid.spacing_mm)
    index = grid.to_index(xyz)
    if grid.size is None:
        return np.full_like(xyz, np.inf)
    index[:, 2] = grid.size[2] - 1 - index[:, 2]
    return grid.to_world(index)
