"""Check submissions against the rules of a benchmark.

The reference is never opened: files are checked with the case table only.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from nodulebench.core.errors import InputError, Problem, folded_problems
from nodulebench.evaluation.check import Checked, check_without_reference
from nodulebench.evaluation.folds import read_folds
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
    Upload,
    algorithm_of,
    marks_of,
)


def check_submission(
    site: Site, benchmark: Benchmark, sent: Upload, track: str = "detection"
) -> Checked:
    """All problems of an upload, without paths of the site; the reference is never opened."""
    try:
        folder = algorithm_of(sent.path)
        if folder is not None and track == "detection":
            if not rules_of(benchmark).takes_algorithms:
                what = "is an algorithm, and this benchmark takes marks."
                raise InputError.at(folder.name, what, "Run it, and send its marks.")
            named_algorithm(str(folder))
            check = Checked(folder, ALGORITHM)
        else:
            cases = known_cases(site, benchmark)
            check = check_without_reference(marks_of(sent.path), cases, benchmark.protocol)
            candidates = rules_of(benchmark).listed_for(track)
            if candidates is not None and cases is not None and not check.problems:
                listed = rule_file_path(site, benchmark.id, "candidates", candidates.version)
                wrong = candidate_problems(marks_of(sent.path), listed, cases)
                check = replace(check, problems=wrong)
    except InputError as error:
        check = Checked(sent.path, problems=tuple(error.problems))
        if isinstance(error, ArchiveError):
            site.refuse(sent.by, "archive", digest=sent.digest)
    problems = for_page(check.problems, str(sent.path.parent))
    return replace(check, path=sent.path, problems=problems)


_SENTENCE_END = re.compile(r"(?<=[.?!]) +(?=[A-Z])")


def for_page(problems: Iterable[Problem], place: str = "") -> tuple[Problem, ...]:
    """Problems as a page shows them: without paths of the site, commands and their options."""

    def plain(text: str) -> str:
        return text.replace(f"{place}/{UNPACKED}/", "").replace(f"{place}/", "") if place else text

    def without_commands(text: str) -> str:
        sentences = _SENTENCE_END.split(text)
        return " ".join(s for s in sentences if "nodulebench " not in s and " --" not in s)

    return tuple(
        Problem(plain(problem.where), plain(problem.what), without_commands(plain(problem.remedy)))
        for problem in folded_problems(problems)
    )


def declared_training(
    site: Site, benchmark: Benchmark, answer: Answer, folds: Path | None
) -> Training:
    """The checked statement about training on the test set.

    ``folds`` None: those of the benchmark. Refused if the folds do not test every case once with an
    untrained network, or the rules of the benchmark require another answer.
    """
    rules, cases = rules_of(benchmark), known_cases(site, benchmark)
    if cases is None:  # cases of a sealed set cannot be trained on
        return Training()
    if rules.cross_validates and answer in ("", "yes"):
        raise DeniedError("training_unsaid" if not answer else "training_unfolded", 422)
    if answer != "folds":
        return Training(answer=answer)
    own_folds = rules.folds
    if folds is None:
        if own_folds is None:
            raise DeniedError("folds_missing", 422)
        return Training(answer=answer, folds=own_folds.digest, count=own_folds.count)
    try:
        given = checked_folds(folds, cases)
        if own_folds is not None:
            own = read_folds([rule_file_path(site, benchmark.id, "folds", own_folds.version)])
            require_same_folds(given, own, folds.name)
    except InputError as error:
        raise InputError(for_page(error.problems, str(folds.parent))) from error
    return Training(answer=answer, folds=file_digest(folds), count=given["fold"].n_unique())
