"""Reference + submissions + protocol -> Evaluation: every rule, figure, interval and stratum."""

from collections.abc import Iterable
from itertools import combinations
from math import isfinite
from typing import Any

import polars as pl

from nodulebench import __version__
from nodulebench.errors import InputError, UndefinedError
from nodulebench.match import label_marks, targets
from nodulebench.metrics.score_order import at_operating_point
from nodulebench.model.cohort import LabelledCohort, labelled_cohort
from nodulebench.model.labels import LABEL_NAMES, Labels
from nodulebench.model.notice import Notice, reason_of
from nodulebench.model.progress import Progress, untold
from nodulebench.model.protocol import RuleChoice, SizeLimit, TestProtocol
from nodulebench.model.results import AlgorithmResult, Evaluation, OperatingPoint, RuleResult
from nodulebench.model.tables import Reference, Submission
from nodulebench.storage.digest import reference_digest, table_digest
from nodulebench.workflows.check.declared import threshold_notices
from nodulebench.workflows.check.listed import keep_listed
from nodulebench.workflows.check.submission import judged_notices, submission_notices
from nodulebench.workflows.check.tables import checked_reference, checked_submission
from nodulebench.workflows.evaluate.divisions import strata_notices
from nodulebench.workflows.evaluate.error_analysis import diameter_histogram, error_analysis
from nodulebench.workflows.evaluate.estimators import estimate_all
from nodulebench.workflows.evaluate.extras import (
    figure_curves,
    figure_tables,
    matching_order,
    size_sweep,
)
from nodulebench.workflows.evaluate.strata import estimate_strata


def evaluate(
    reference: Reference,
    submissions: Iterable[Submission],
    protocol: TestProtocol,
    progress: Progress = untold,
) -> Evaluation:
    """Judge submissions against a reference under every rule of a protocol.

    Args:
        reference: the test set; its CASES table drives every loop and denominator.
        submissions: one per algorithm, names unique.
        protocol: everything that can change a number.
        progress: told which algorithm is worked on.
    """
    reference = checked_reference(reference)
    results: list[AlgorithmResult] = []
    judged = list(submissions)
    for number, submission in enumerate(judged):
        if any(submission.name == done.name for done in results):
            raise InputError.at(
                f"submission '{submission.name}'",
                "has the name of another submission.",
                "Name them with --name, or in their algorithm.toml.",
            )
        progress(submission.name, number, len(judged))
        results.append(_evaluate_algorithm(reference, submission, protocol))
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


def _evaluate_algorithm(
    reference: Reference, submission: Submission, protocol: TestProtocol
) -> AlgorithmResult:
    listed, notices = keep_listed(reference, submission, protocol)
    listed = checked_submission(listed)
    rules: dict[str, RuleResult] = {}
    labels: dict[str, Labels] = {}
    at_point: dict[str, Labels] = {}
    notices += (
        *threshold_notices(submission, protocol),
        *submission_notices(reference, submission),
    )
    for choice in protocol.rules:
        name = choice.name
        try:
            found = label_marks(reference, listed, protocol, choice)
            is_target = targets(reference, listed, protocol)
            every = labelled_cohort(reference, listed, found, is_target)
            cohort = at_operating_point(every, protocol)
        except UndefinedError as error:
            rules[name] = RuleResult(name, choice.parameters, {}, {}, undefined=reason_of(error))
            continue
        labels[name], at_point[name] = found, _at_point(found, cohort)
        if len(labels) == 1:
            notices += judged_notices(every)
        rules[name] = _evaluate_rule(cohort, protocol, choice, at_point[name])
    tables = [
        found.table(submission.name, rule, listed, reference) for rule, found in labels.items()
    ]
    flips, differences = _compare_rules(reference, listed, at_point)
    return AlgorithmResult(
        name=submission.name,
        digest=submission.digest,
        rules=rules,
        labels=pl.concat(tables) if tables else pl.DataFrame(),
        flips=flips,
        rule_differences=differences,
        facts={**submission.facts, "intended_types": submission.intended_types},
        notices=tuple(dict.fromkeys((*submission.notices, *notices))),
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
    from nodulebench.match.flips import flip_list, rule_difference

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


def _evaluate_rule(
    cohort: LabelledCohort, protocol: TestProtocol, choice: RuleChoice, labels: Labels
) -> RuleResult:
    counts = _counts(cohort, labels, protocol.size_limit)
    estimated = estimate_all(cohort, protocol)
    sizes, size_curves = size_sweep(cohort, protocol, choice)
    return RuleResult(
        rule=choice.name,
        parameters=dict(choice.parameters),
        counts=counts,
        figures=estimated.figures,
        strata=estimate_strata(cohort, protocol),
        curves=(*estimated.curves, *figure_curves(cohort, protocol), *size_curves),
        extras={
            **figure_tables(cohort, protocol),
            **matching_order(labels),
            **sizes,
            **error_analysis(cohort, protocol),
        },
        notices=(
            *labels.notices,
            *_cap_notices(counts["over_cap"], protocol),
            *strata_notices(cohort, protocol),
        ),
        remarks=labels.remarks,
        operating_point=_operating_point(cohort, protocol),
        cohort=cohort,
    )


def _operating_point(cohort: LabelledCohort, protocol: TestProtocol) -> OperatingPoint | None:
    threshold = cohort.threshold
    if threshold is None:
        return None
    return OperatingPoint(protocol.operating_point, threshold if isfinite(threshold) else None)


def _counts(cohort: LabelledCohort, labels: Labels, limit: SizeLimit | None) -> dict[str, int]:
    """Nodules hit and missed, and marks by label as the official program counts them."""
    return {
        "cases": cohort.case_count,
        "nodules": cohort.nodule_count,
        "hit": cohort.nodule_count - cohort.missed_count,
        "missed": cohort.missed_count,
        "marks": cohort.submission.marks.height,
        **{name: labels.count(number) for number, name in enumerate(LABEL_NAMES) if number},
        **(
            {}
            if limit is None
            else {"fp_oe": len(labels.overestimated), "fn_ue": len(labels.underestimated)}
        ),
    }


def _cap_notices(count: int, protocol: TestProtocol) -> tuple[Notice, ...]:
    if not count:
        return ()
    values = {"count": count, "cap": protocol.mark_cap, "ties": protocol.ties}
    return (Notice("marks_over_cap", values),)
