"""Evaluate files of marks: read, evaluate and write."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.executor import IN_PROCESS, Executor, Progress, no_progress
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.core.results import Evaluation
from nodulebench.core.tables import Reference, Submission, without_images
from nodulebench.core.text import counted
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.result_folder import require_same_result, write_evaluation
from nodulebench.io.cases import algorithm_name
from nodulebench.io.formats import read_reference, read_submission
from nodulebench.io.marks.luna16 import parse_columns

if TYPE_CHECKING:
    from nodulebench.core.plans import TestPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluateOptions:
    """What is evaluated, and how."""

    marks: tuple[Path, ...]
    """A file or folder for each algorithm."""
    reference: Path
    protocol: str | None = None
    """Name or TOML file; None: the plan's protocol, else luna16."""
    plan: Path | None = None
    series: Path | None = None
    """List of cases that restricts and orders those of the test set."""
    cases: Path | None = None
    """Table of cases: geometry, patients, strata."""
    nodules: Path | None = None
    """Table with further facts about nodules."""
    columns: str | None = None
    """Names of the columns of CSV files with other column names."""
    candidates: Path | None = None
    """Candidate list; every mark must score one of these candidates."""
    at_fp: float | None = None
    """False positives per case at which recall, precision and the like are read."""
    bootstraps: int | None = None
    """Number of resamples; None: the protocol's."""
    seed: int | None = None
    """Seed of the resamples; None: the protocol's."""
    out: Path | None = None
    """Folder of the result; None: nothing is written."""
    names: tuple[str, ...] = ()
    """Names of the algorithms; empty: their own."""
    force: bool = False
    """Whether a result in ``out`` may be replaced."""


def evaluate_files(
    options: EvaluateOptions, *, executor: Executor = IN_PROCESS, progress: Progress = no_progress
) -> tuple[Evaluation, list[Path]]:
    """Read, evaluate and, with ``out``, write; if there is any problem, nothing is written.

    Returns:
        The evaluation and the files written.
    """
    if options.out is not None and not options.force:
        require_same_result(options.out)
    protocol, frozen = choose_protocol(
        options.protocol,
        options.plan,
        bootstraps=options.bootstraps,
        seed=options.seed,
        at_fp=options.at_fp,
    )
    reference, read = read_files(options)
    submissions = with_names(read, options.marks, options.names)
    reference = replace(reference, cases=without_images(reference.cases))
    if options.candidates is not None:
        submissions = keep_to_candidates(submissions, options.candidates, reference)
    evaluation = evaluate(reference, submissions, protocol, progress, executor)
    if frozen is not None:
        from nodulebench.evaluation.plans import evaluated_under

        evaluation = evaluated_under(frozen, evaluation)
    return evaluation, [] if options.out is None else write_evaluation(evaluation, options.out)


def read_files(options: EvaluateOptions) -> tuple[Reference, list[Submission]]:
    reference = read_reference(
        options.reference, cases=options.cases, nodules=options.nodules, series=options.series
    )
    columns = None if options.columns is None else parse_columns(options.columns)
    return reference, [
        read_submission(path, reference.cases, columns=columns) for path in options.marks
    ]


def with_names(
    submissions: list[Submission], paths: Sequence[Path], names: Sequence[str] = ()
) -> list[Submission]:
    """Submissions with the given names, else their own; files of the same name by their folders."""
    if names and len(names) != len(paths):
        what = f"{counted(len(names), 'name')} for {counted(len(paths), 'file')} of marks."
        raise InputError.at("--name", what, "Give a name for each file in the same order, or none.")
    if names:
        return [
            replace(submission, name=name)
            for submission, name in zip(submissions, names, strict=True)
        ]
    count = Counter(submission.name for submission in submissions)
    folders = [path.resolve().parent.name for path in paths]
    named = []
    for submission, path, folder in zip(submissions, paths, folders, strict=True):
        is_own = submission.name == algorithm_name(path)  # not stated by the submission itself
        is_shared = count[submission.name] > 1 and folders.count(folder) == 1
        named.append(replace(submission, name=folder) if is_shared and is_own else submission)
    return named


def choose_protocol(
    protocol: str | None,
    plan: Path | None,
    *,
    bootstraps: int | None = None,
    seed: int | None = None,
    at_fp: float | None = None,
) -> "tuple[TestProtocol, TestPlan | None]":
    if plan is None:
        named = load_protocol(protocol or "luna16")
        return with_options(named, bootstraps=bootstraps, seed=seed, at_fp=at_fp), None
    from nodulebench.evaluation.plans import read_plan

    frozen = read_plan(plan)
    planned = frozen.protocol
    differing = []
    if protocol is not None and load_protocol(protocol).digest != planned.digest:
        differing.append(f"the protocol '{planned.name}', not '{protocol}'")
    if bootstraps not in (None, planned.interval.bootstraps):
        differing.append(f"{planned.interval.bootstraps} bootstraps, not {bootstraps}")
    if seed not in (None, planned.seed):
        differing.append(f"the seed {planned.seed}, not {seed}")
    if at_fp not in (None, planned.operating_point):
        point = planned.operating_point
        read = "all marks" if point is None else f"{point:g} false positives per case"
        differing.append(f"a reading at {read}, not at {at_fp:g}")
    raise_problems(
        Problem(str(plan), f"fixes {what}.", "Leave out the option or the plan.")
        for what in differing
    )
    return planned, frozen


def keep_to_candidates(
    submissions: list[Submission], candidates: Path, reference: Reference
) -> list[Submission]:
    """Submissions that score listed candidates; a notice counts those without a mark."""
    from nodulebench.io.marks.luna16_candidates import check_candidate_track, read_candidates

    listed = read_candidates(candidates, reference.cases)
    checked = []
    for submission in submissions:
        check = check_candidate_track(submission, listed)
        if check.unlisted or check.repeated:
            raise InputError(check.problems)
        scored = check.candidates - check.missing
        values = {"scored": scored, "candidates": check.candidates, "file": candidates.name}
        notice = Notice("candidates_scored", values)
        checked.append(replace(submission, notices=(*submission.notices, notice)))
    return checked


def with_options(
    protocol: TestProtocol,
    *,
    bootstraps: int | None = None,
    seed: int | None = None,
    at_fp: float | None = None,
) -> TestProtocol:
    """The protocol with changed values; its digest covers the changes."""
    if bootstraps is not None:
        interval = protocol.interval.model_copy(update={"bootstraps": bootstraps})
        protocol = protocol.model_copy(update={"interval": interval})
    if seed is not None:
        protocol = protocol.model_copy(update={"seed": seed})
    if at_fp is not None:
        protocol = protocol.model_copy(update={"operating_point": at_fp})
    return protocol
