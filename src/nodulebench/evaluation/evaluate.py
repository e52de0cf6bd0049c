"""Reference + submissions + protocol -> Evaluation: every rule, figure, interval and stratum."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import polars as pl

from nodulebench import __version__
from nodulebench.core.cohort import LabelledCohort, labelled_cohort
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.executor import HERE, Engine
from nodulebench.core.labels import Labels
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.progress import Progress, untold
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import AlgorithmResult, Evaluation, RuleResult
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.check.cases import keep_listed
from nodulebench.evaluation.check.declared import threshold_notices
from nodulebench.evaluation.check.submission import judged_notices, submission_notices
from nodulebench.evaluation.check.tables import checked_reference, checked_submission
from nodulebench.evaluation.errors import diameter_histogram
from nodulebench.evaluation.rule import RuleTask, evaluate_rules
from nodulebench.io.digest import reference_digest, table_digest
from nodulebench.matching import label_marks, targets
from nodulebench.metrics.score_order import at_operating_point


def evaluate(
    reference: Reference,
    submissions: Iterable[Submission],
    protocol: TestProtocol,
    progress: Progress = untold,
    engine: Engine = HERE,
) -> Evaluation:
    """Judge submissions against a reference under every rule of a protocol.

    Args:
        reference: the test set; its CASES table drives every loop and denominator.
        submissions: one per algorithm, names unique.
        protocol: everything that can change a number.
        progress: told which algorithm is worked on.
        engine: what estimates; the numbers are the same whatever it is.
    """
    reference = checked_reference(reference)
    judged: list[_Judged] = []
    for submission in submissions:
        if any(submission.name == one.submission.name for one in judged):
            raise InputError.at(
                f"submission '{submission.name}'",
                "has the name of another submission.",
                "Name them with --name, or in their algorithm.toml.",
            )
        judged.append(_judge(reference, submission, protocol))
    tasks = [task for one in judged for task in one.tasks]
    found = iter(evaluate_rules(tasks, engine, progress))
    results = [
        _algorithm_result(reference, one, {task.choice.name: next(found) for task in one.tasks})
        for one in judged
    ]
    return Evaluation(
        version=__version__,
        protocol=protocol,
        digests={
            "protocol": protocol.digest,
            "reference": reference_digest(reference),
            "cohort": table_digest(reference.cases),
        },
        reference={
            "name": reference.name,
            "cases": reference.cases.height,
            "patients": int(reference.unit_of_case.max(initial=-1)) + 1,
            "findings": reference.nodules.height,
            "ignored_findings": int(reference.nodules["is_ignored"].sum()),
            "rule": reference.rule,
            "diameters": diameter_histogram(reference),
        },
        algorithms=tuple(results),
        notices=reference.notices,
        test_set=reference,
    )


@dataclass(frozen=True, eq=False)
class _Judged:
    """An algorithm whose marks are labelled under every rule."""

    submission: Submission
    listed: Submission
    """Its marks on the cases of the test set."""
    notices: tuple[Notice, ...]
    labels: dict[str, Labels]
    tasks: tuple[RuleTask, ...]
    """One for each of these rules, with the labels at the operating point."""
    rules: dict[str, RuleResult | None]
    """All rules in the protocol's order; what could not be applied at all has its result."""


def _judge(reference: Reference, submission: Submission, protocol: TestProtocol) -> _Judged:
    listed, notices = keep_listed(reference, submission, protocol)
    listed = checked_submission(listed)
    labels: dict[str, Labels] = {}
    tasks: list[RuleTask] = []
    rules: dict[str, RuleResult | None] = {}
    notices += (
        *threshold_notices(submission, protocol),
        *submission_notices(reference, submission),
    )
    for choice in protocol.rules:
        name = choice.name
        rules[name] = None
        try:
            found = label_marks(reference, listed, protocol, choice)
            is_target = targets(reference, listed, protocol)
            every = labelled_cohort(reference, listed, found, is_target)
            cohort = at_operating_point(every, protocol)
        except UndefinedError as error:
            rules[name] = RuleResult(name, choice.parameters, {}, {}, undefined=reason_of(error))
            continue
        labels[name] = found
        if len(labels) == 1:
            notices += judged_notices(every)
        at_point = _at_point(found, cohort)
        tasks.append(RuleTask(submission.name, cohort, protocol, choice, at_point))
    return _Judged(submission, listed, notices, labels, tuple(tasks), rules)


def _algorithm_result(
    reference: Reference, judged: _Judged, found: Mapping[str, RuleResult]
) -> AlgorithmResult:
    submission, listed = judged.submission, judged.listed
    tables = [
        labels.table(submission.name, rule, listed, reference)
        for rule, labels in judged.labels.items()
    ]
    at_point = {task.choice.name: task.labels for task in judged.tasks}
    flips, differences = _compare_rules(reference, listed, at_point)
    return AlgorithmResult(
        name=submission.name,
        digest=submission.digest,
        rules={name: known or found[name] for name, known in judged.rules.items()},
        labels=pl.concat(tables) if tables else pl.DataFrame(),
        flips=flips,
        rule_differences=differences,
        facts={**submission.facts, "intended_types": submission.intended_types},
        notices=tuple(dict.fromkeys((*submission.notices, *judged.notices))),
        submission=listed,
    )


def _at_point(labels: Labels, cohort: LabelledCohort) -> Labels:
    """The labels of the marks that count at the cohort's operating point."""
    if cohort.threshold is None:
        return labels
    return labels.over(cohort.threshold, cohort.submission.marks["score"].to_numpy())


def _compare_rules(
    reference: Reference, submission: Submission, labels: dict[str, Labels]
) -> tuple[pl.DataFrame | None, list[dict[str, Any]]]:
    """For every pair of rules the flip list, and how much the counts change."""
    if len(labels) < 2:
        return None, []
    from nodulebench.matching.flips import flip_list, rule_difference

    flips, differences = [], []
    for base, other in combinations(labels, 2):
        names = {"algorithm": submission.name, "base_rule": base, "rule": other}
        found = flip_list(labels[base], labels[other], submission, reference)
        flips.append(
            found.select(*(pl.lit(value).alias(key) for key, value in names.items()), pl.all())
        )
        difference = rule_difference(labels[base], labels[other])
        differences.append({"base_rule": base, "rule": other, **difference})
    return pl.concat(flips), differences
