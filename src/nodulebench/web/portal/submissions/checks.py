"""A submission beside what a benchmark asks for -> everything that is wrong with it.

The reference is never opened: files are looked through beside the table of cases alone.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from nodulebench.core.errors import InputError, Problem
from nodulebench.evaluation.check.service import Checked, check_without_reference
from nodulebench.evaluation.comparison.folds import read_folds
from nodulebench.io.manifests import file_digest
from nodulebench.runner.algorithms import named_algorithm
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.benchmarks.rules import (
    Answer,
    Training,
    candidate_problems,
    checked_folds,
    require_same_folds,
    rule_file_path,
)
from nodulebench.web.portal.benchmarks.service import known_cases, rules_of
from nodulebench.web.portal.database.models import Benchmark
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.archive import ArchiveError
from nodulebench.web.portal.submissions.service import (
    ALGORITHM,
    UNPACKED,
    Received,
    algorithm_of,
    marks_of,
)


def check_submission(
    site: Site, benchmark: Benchmark, sent: Received, track: str = "detection"
) -> Checked:
    """Everything that is wrong with what was sent; the reference is never opened.

    Messages name files as they were sent, not where they lie.
    """
    try:
        folder = algorithm_of(sent.path)
        if folder is not None and track == "detection":
            found = _checked_algorithm(benchmark, folder)
        else:
            cases = known_cases(site, benchmark)
            found = check_without_reference(marks_of(sent.path), cases, benchmark.protocol)
            laid = rules_of(benchmark).listed_for(track)
            if laid is not None and cases is not None and not found.problems:
                listed = rule_file_path(site, benchmark.id, "candidates", laid.version)
                wrong = candidate_problems(marks_of(sent.path), listed, cases)
                found = replace(found, problems=wrong)
    except InputError as error:
        found = Checked(sent.path, problems=tuple(error.problems))
        if isinstance(error, ArchiveError):
            site.refuse(sent.by, "archive", digest=sent.digest)
    problems = without_match(found.problems, str(sent.path.parent))
    return replace(found, path=sent.path, problems=problems)


def without_match(problems: Iterable[Problem], place: str) -> tuple[Problem, ...]:
    """Problems that name files as they were sent, not where they lie."""

    def plain(text: str) -> str:
        return text.replace(f"{place}/{UNPACKED}/", "").replace(f"{place}/", "")

    return tuple(
        Problem(*map(plain, (problem.where, problem.what, problem.remedy))) for problem in problems
    )


def declared_training(
    site: Site, benchmark: Benchmark, answer: Answer, folds: Path | None
) -> Training:
    """What is said of training on the test set, with the folds that show it.

    Args:
        site: the site.
        benchmark: the benchmark.
        answer: what was said.
        folds: the folds that were sent; None: those of the benchmark, where it has any.

    Raises:
        InputError: if the folds do not test every case once, unseen.
        DeniedError: if the rules of the benchmark want more than was said.
    """
    rules, cases = rules_of(benchmark), known_cases(site, benchmark)
    if cases is None:  # nobody could train on a sealed set
        return Training()
    if rules.cross_validates and answer in ("", "yes"):
        raise DeniedError("training_unsaid" if not answer else "training_unfolded", 422)
    if answer != "folds":
        return Training(answer=answer)
    laid = rules.folds
    if folds is None:
        if laid is None:
            raise DeniedError("folds_missing", 422)
        return Training(answer=answer, folds=laid.digest, count=laid.count)
    try:
        given = checked_folds(folds, cases)
        if laid is not None:
            own = read_folds([rule_file_path(site, benchmark.id, "folds", laid.version)])
            require_same_folds(given, own, folds.name)
    except InputError as error:
        raise InputError(without_match(error.problems, str(folds.parent))) from error
    return Training(answer=answer, folds=file_digest(folds), count=given["fold"].n_unique())


def _checked_algorithm(benchmark: Benchmark, folder: Path) -> Checked:
    """Whether an algorithm could be run, by its manifest alone."""
    if not rules_of(benchmark).takes_algorithms:
        what = "is an algorithm, and this benchmark takes marks."
        raise InputError.at(folder.name, what, "Run it, and send its marks.")
    named_algorithm(str(folder))
    return Checked(folder, ALGORITHM)
