"""Files -> Evaluation -> files: what ``nodulebench evaluate`` does."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nodulebench.core.errors import InputError, Problem
from nodulebench.core.executor import IN_PROCESS, Executor, Progress, no_progress
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.protocols import load_protocol
from nodulebench.core.results import Evaluation
from nodulebench.core.tables import Reference, Submission, without_images
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.result_folder import require_same_result, write_evaluation
from nodulebench.io.cases import algorithm_name
from nodulebench.io.formats import read_case_list, read_reference, read_submission
from nodulebench.io.marks.luna16 import parse_columns

if TYPE_CHECKING:
    from nodulebench.core.plans import TestPlan


def evaluate_files(
    marks: tuple[Path, ...],
    reference: Path,
    protocol: str | None = None,
    *,
    plan: Path | None = None,
    series: Path | None = None,
    cases: Path | None = None,
    nodules: Path | None = None,
    columns: str | None = None,
    candidates: Path | None = None,
    bootstraps: int | None = None,
    seed: int | None = None,
    at_fp: float | None = None,
    out: Path | None = None,
    names: Sequence[str] = (),
    force: bool = False,
    executor: Executor = IN_PROCESS,
    progress: Progress = no_progress,
) -> tuple[Evaluation, list[Path]]:
    """Read, evaluate and, with ``out``, write; nothing is written if anything is wrong.

    The protocol is the plan's where there is a plan, else the one named, else ``luna16``. A result
    that lies in ``out`` is replaced with ``force`` only. The algorithms are called by ``names``,
    else as they say themselves. ``columns`` names those of CSV files that have their own.

    Returns:
        The evaluation and the files written.
    """
    if out is not None and not force:
        require_same_result(out)
    chosen, frozen = choose_protocol(protocol, plan, bootstraps=bootstraps, seed=seed, at_fp=at_fp)
    truth = read_reference(reference, cases=cases, nodules=nodules)
    if series is not None:
        truth = truth.restricted(read_case_list(series), series.name)
    given = None if columns is None else parse_columns(columns)
    read = [read_submission(path, truth.cases, columns=given) for path in marks]
    submissions = named(read, marks, names)
    truth = replace(truth, cases=without_images(truth.cases))
    if candidates is not None:
        submissions = keep_to_candidates(submissions, candidates, truth)
    evaluation = evaluate(truth, submissions, chosen, progress, executor)
    if frozen is not None:
        from nodulebench.evaluation.plans.verdict import evaluated_under

        evaluation = evaluated_under(frozen, evaluation)
    return evaluation, [] if out is None else write_evaluation(evaluation, out)


def named(
    submissions: list[Submission], paths: Sequence[Path], names: Sequence[str] = ()
) -> list[Submission]:
    """Submissions under the names given, else their own; files of one name by their folders.

    Raises:
        InputError: if there are not as many names as files.
    """
    if names and len(names) != len(paths):
        what = f"{len(names)} name(s) for {len(paths)} file(s) of marks."
        raise InputError.at("--name", what, "Give one for each, in the same order, or none.")
    if names:
        return [
            replace(submission, name=name)
            for submission, name in zip(submissions, names, strict=True)
        ]
    count = Counter(submission.name for submission in submissions)
    folders = [path.resolve().parent.name for path in paths]
    return [
        replace(submission, name=folder)
        if count[submission.name] > 1
        and folders.count(folder) == 1
        and submission.name == algorithm_name(path)
        else submission
        for submission, path, folder in zip(submissions, paths, folders, strict=True)
    ]


def choose_protocol(
    protocol: str | None,
    plan: Path | None,
    *,
    bootstraps: int | None = None,
    seed: int | None = None,
    at_fp: float | None = None,
) -> "tuple[TestProtocol, TestPlan | None]":
    """The protocol of a test, and its frozen plan where there is one."""
    if plan is not None:
        frozen = _read_plan(plan, protocol, bootstraps, seed, at_fp)
        return frozen.protocol, frozen
    named = load_protocol(protocol or "luna16")
    return with_options(named, bootstraps=bootstraps, seed=seed, at_fp=at_fp), None


def _read_plan(
    path: Path,
    protocol: str | None,
    bootstraps: int | None,
    seed: int | None,
    at_fp: float | None,
) -> "TestPlan":
    """A frozen plan, whose protocol no option may change."""
    from nodulebench.evaluation.plans.freeze import read_plan

    plan = read_plan(path)
    planned = plan.protocol
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
    if differing:
        raise InputError(
            Problem(str(path), f"fixes {what}.", "Leave the option out, or the plan.")
            for what in differing
        )
    return plan


def keep_to_candidates(
    submissions: list[Submission], candidates: Path, reference: Reference
) -> list[Submission]:
    """Submissions to the false-positive-reduction track: each mark scores a listed candidate.

    A candidate without a mark counts as not shown and is told in a notice.

    Raises:
        InputError: for marks that are no candidates, and candidates scored more than once.
    """
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
    """The protocol as the command line changed it; its digest covers the change."""
    if bootstraps is not None:
        interval = protocol.interval.model_copy(update={"bootstraps": bootstraps})
        protocol = protocol.model_copy(update={"interval": interval})
    if seed is not None:
        protocol = protocol.model_copy(update={"seed": seed})
    if at_fp is not None:
        protocol = protocol.model_copy(update={"operating_point": at_fp})
    return protocol
