"""Reference + submissions + protocol -> Evaluation: every rule, metric, interval and stratum."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import isfinite, isnan
from typing import Any, TypeVar

import polars as pl

from nodulebench import __version__
from nodulebench.core.cohort import LABEL_NAMES, LabelledCohort, Labels, labelled_cohort
from nodulebench.core.errors import InputError, NoduleBenchError, UndefinedError
from nodulebench.core.executor import (
    IN_PROCESS,
    Executor,
    FailedTask,
    Progress,
    TaskLimits,
    no_progress,
)
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.protocol import RuleChoice, TestProtocol
from nodulebench.core.results import AlgorithmResult, Curve, Evaluation, OperatingPoint, RuleResult
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.check import (
    checked_reference,
    checked_submission,
    keep_listed,
    scored_notices,
    submission_notices,
    threshold_notices,
)
from nodulebench.evaluation.errors import diameter_histogram, error_analysis
from nodulebench.evaluation.estimates import estimate_all
from nodulebench.evaluation.strata import KNOWN, estimate_strata
from nodulebench.i18n.translator import in_english
from nodulebench.io.manifests import reference_digest, table_digest
from nodulebench.matching import label_cohort, targets
from nodulebench.metrics import function_of
from nodulebench.metrics.froc import froc_curve
from nodulebench.metrics.score_order import at_operating_point

Result = TypeVar("Result")


def curves_and_tables(
    cohort: LabelledCohort, protocol: TestProtocol
) -> tuple[list[Curve], JsonObject]:
    """The curves behind the protocol's areas, and the tables of its metrics, where defined."""
    curves, tables = [], {}
    for metric in protocol.metrics:
        make_curve, make_table = function_of(metric, "curve"), function_of(metric, "table")
        curve = None if make_curve is None else _unless_undefined(make_curve, cohort)
        table = None if make_table is None else _unless_undefined(make_table, cohort)
        if curve is not None:
            curves.append(curve)
        if make_table is not None and table is not None:
            tables[make_table.__name__] = as_rows(table)
    return curves, tables


def size_sweep(
    cohort: LabelledCohort, protocol: TestProtocol, choice: RuleChoice
) -> tuple[JsonObject, list[Curve]]:
    """Counts and rates for each tolerance of the protocol's sweep, and a FROC for each.

    Counts are those of the marks that count at the operating point, curves have every mark.
    """
    limit = protocol.size_limit
    if limit is None or not limit.sweep_mm:
        return {}, []
    from nodulebench.matching.sweep import sweep_size_tolerance

    reference, submission = cohort.reference, cohort.submission
    every = sweep_size_tolerance(reference, submission, protocol, choice)
    sweep = every
    if cohort.threshold is not None:
        counted = protocol.model_copy(update={"score_threshold": cohort.threshold})
        sweep = sweep_size_tolerance(reference, submission, counted, choice)
    table = sweep.table.with_columns(
        sensitivity=pl.col("hit") / (pl.col("hit") + pl.col("missed")),
        fp_per_case=pl.col("false_positive") / cohort.case_count,
    )
    is_target = targets(reference, submission, protocol)
    curves = []
    for tolerance, labels in zip(table["tolerance_mm"], every.labels, strict=True):
        limited = labelled_cohort(reference, submission, labels, is_target)
        curve = _unless_undefined(froc_curve, limited)
        if curve is not None:
            curves.append(replace(curve, name=f"froc_tolerance_{tolerance:g}"))
    return {
        "size_tolerance": {
            "minimum_mm": limit.minimum_mm,
            "sweep": as_rows(table),
            "hits_settle_mm": sweep.hits_settle_mm,
            "false_positives_settle_mm": sweep.false_positives_settle_mm,
        }
    }, curves


def as_rows(table: pl.DataFrame) -> list[JsonObject]:
    """A table as evaluation.json holds it; JSON has no infinity, so it becomes the text "inf"."""

    def shown(value: object) -> object:
        if isinstance(value, float) and not isfinite(value):
            return None if isnan(value) else "inf"
        return value

    return [
        {name: shown(value) for name, value in row.items()} for row in table.iter_rows(named=True)
    ]


def _unless_undefined(
    make: Callable[[LabelledCohort], Result], cohort: LabelledCohort
) -> Result | None:
    try:
        return make(cohort)
    except UndefinedError:
        return None  # the metric itself says why


TASK_LIMITS = TaskLimits(seconds=24 * 3600.0, memory_bytes=None, preload=(__name__,))
TASKS_PER_WORKER = 4
"""With at least so many rules for each worker, a rule is one task; with fewer, it is split."""


@dataclass(frozen=True, eq=False)
class RuleTask:
    """What the parts of a rule's result are computed from."""

    algorithm: str
    cohort: LabelledCohort
    protocol: TestProtocol
    choice: RuleChoice
    labels: Labels
    """Labels of the marks that count at the operating point."""
    parts: tuple[str, ...] = ()


PARTS: dict[str, Callable[[RuleTask], Any]] = {
    "metrics": lambda task: estimate_all(task.cohort, task.protocol),
    "strata": lambda task: estimate_strata(task.cohort, task.protocol),
    "sizes": lambda task: size_sweep(task.cohort, task.protocol, task.choice),
    "curves": lambda task: curves_and_tables(task.cohort, task.protocol),
    "errors": lambda task: error_analysis(task.cohort, task.protocol),
}
SPLIT_PARTS = (("metrics",), ("strata",), ("sizes", "curves", "errors"))
"""The tasks into which a rule is split; the bootstrap takes most time of the first two."""


def evaluate_rules(
    tasks: Sequence[RuleTask], executor: Executor, progress: Progress
) -> list[RuleResult]:
    """The results of algorithms under rules, in the order of the tasks."""
    is_whole = executor.workers == 1 or len(tasks) >= TASKS_PER_WORKER * executor.workers
    shares = (tuple(PARTS),) if is_whole else SPLIT_PARTS
    given = [replace(task, parts=parts) for task in tasks for parts in shares]
    parts_of_tasks: list[JsonObject] = [{} for _ in tasks]
    for task in given[:1]:
        progress(task.algorithm, 0, len(given))
    for done, (number, made) in enumerate(executor.map(make_parts, given, TASK_LIMITS), 1):
        task = given[number]
        if isinstance(made, FailedTask):
            where = f"submission '{task.algorithm}' rule '{task.choice.name}'"
            what = f"could not be evaluated: {in_english(made.why)}."
            raise InputError.at(where, what, "Try it with --workers 1, which needs less memory.")
        if isinstance(made, NoduleBenchError):
            raise made
        parts_of_tasks[number // len(shares)] |= made
        if done < len(given):
            progress(given[done].algorithm, done, len(given))
    return [_result(task, parts) for task, parts in zip(tasks, parts_of_tasks, strict=True)]


def make_parts(task: RuleTask) -> JsonObject | NoduleBenchError:
    try:
        return {name: PARTS[name](task) for name in task.parts}
    except NoduleBenchError as error:
        return error


def _result(task: RuleTask, parts: Mapping[str, Any]) -> RuleResult:
    cohort, protocol, labels = task.cohort, task.protocol, task.labels
    (curves, tables), (sizes, size_curves) = parts["curves"], parts["sizes"]
    counts = {  # marks by label as the official program counts them
        "cases": cohort.case_count,
        "nodules": cohort.nodule_count,
        "hit": cohort.nodule_count - cohort.missed_count,
        "missed": cohort.missed_count,
        "marks": cohort.submission.marks.height,
        **{name: labels.count(number) for number, name in enumerate(LABEL_NAMES) if number},
    }
    if protocol.size_limit is not None:
        counts |= {"fp_oe": len(labels.overestimated), "fn_ue": len(labels.underestimated)}
    notices = [*labels.notices]
    if counts["over_cap"]:
        values = {"count": counts["over_cap"], "cap": protocol.mark_cap, "ties": protocol.ties}
        notices.append(Notice("marks_over_cap", values))
    present = {*cohort.reference.cases.columns, *cohort.reference.nodules.columns}
    absent = [name for name in protocol.strata if name in KNOWN and name not in present]
    if absent:
        notices.append(Notice("strata_not_known", {"columns": absent}))
    order = {} if labels.order is None else {"order_sensitivity": asdict(labels.order)}
    point, threshold = None, cohort.threshold
    if threshold is not None:
        read = threshold if isfinite(threshold) else None
        point = OperatingPoint(protocol.operating_point, read)
    return RuleResult(
        rule=task.choice.name,
        parameters=dict(task.choice.parameters),
        counts=counts,
        metrics=parts["metrics"].metrics,
        strata=parts["strata"],
        curves=(*parts["metrics"].curves, *curves, *size_curves),
        extras={**tables, **order, **sizes, **parts["errors"]},
        notices=tuple(notices),
        remarks=labels.remarks,
        operating_point=point,
        cohort=cohort,
    )


def evaluate(
    reference: Reference,
    submissions: Iterable[Submission],
    protocol: TestProtocol,
    progress: Progress = no_progress,
    executor: Executor = IN_PROCESS,
) -> Evaluation:
    """Evaluate submissions against a reference under every rule of a protocol.

    Args:
        reference: the test set; its CASES table drives every loop and denominator.
        submissions: one per algorithm, names unique.
        protocol: everything that can change a number.
        progress: called with the algorithm that is being evaluated.
        executor: where the estimates are computed; every executor gives the same numbers.
    """
    reference = checked_reference(reference)
    labelled: list[_LabelledSubmission] = []
    for submission in submissions:
        if any(submission.name == other.listed.name for other in labelled):
            what = "has the same name as another submission."
            remedy = "Name them with --name, or in their algorithm.toml."
            raise InputError.at(f"submission '{submission.name}'", what, remedy)
        labelled.append(_label_submission(reference, submission, protocol))
    tasks = [task for algorithm in labelled for task in algorithm.tasks]
    rule_results = iter(evaluate_rules(tasks, executor, progress))
    results = []
    for algorithm in labelled:
        listed, at_point = algorithm.listed, {t.choice.name: t.labels for t in algorithm.tasks}
        is_compared = len(at_point) > 1
        flips, differences = (
            _compare_rules(reference, listed, at_point) if is_compared else (None, [])
        )
        results.append(
            AlgorithmResult(
                name=listed.name,
                digest=listed.digest,
                rules={
                    name: undefined or next(rule_results)
                    for name, undefined in algorithm.rules.items()
                },
                labels=pl.concat(algorithm.labels) if algorithm.labels else pl.DataFrame(),
                flips=flips,
                rule_differences=differences,
                facts={**listed.facts, "intended_types": listed.intended_types},
                notices=tuple(dict.fromkeys(algorithm.notices)),
                submission=listed,
            )
        )
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
class _LabelledSubmission:
    """An algorithm whose marks are labelled under every rule."""

    listed: Submission
    """Its marks on the cases of the test set."""
    notices: tuple[Notice, ...]
    labels: list[pl.DataFrame]
    """The table of all marks under each rule that could be applied."""
    tasks: list[RuleTask]
    """A task for each rule that could be applied, with the labels at the operating point."""
    rules: dict[str, RuleResult | None]
    """All rules in the protocol's order; a rule that could not be applied has its result here."""


def _label_submission(
    reference: Reference, submission: Submission, protocol: TestProtocol
) -> _LabelledSubmission:
    listed, notices = keep_listed(reference, submission, protocol)
    listed = checked_submission(listed)
    notices = (
        *submission.notices,
        *notices,
        *threshold_notices(submission, protocol),
        *submission_notices(reference, submission),
    )
    tables: list[pl.DataFrame] = []
    tasks: list[RuleTask] = []
    rules: dict[str, RuleResult | None] = {choice.name: None for choice in protocol.rules}
    for choice in protocol.rules:
        try:
            labels, every = label_cohort(reference, listed, protocol, choice)
            cohort = at_operating_point(every, protocol)
        except UndefinedError as error:
            reason = reason_of(error)
            rules[choice.name] = RuleResult(
                choice.name, choice.parameters, {}, {}, undefined=reason
            )
            continue
        if not tasks:
            notices += scored_notices(every)
        tables.append(labels.table(listed.name, choice.name, listed, reference))
        if cohort.threshold is not None:
            labels = labels.over(cohort.threshold, listed.marks["score"].to_numpy())
        tasks.append(RuleTask(listed.name, cohort, protocol, choice, labels))
    return _LabelledSubmission(listed, notices, tables, tasks, rules)


def _compare_rules(
    reference: Reference, submission: Submission, labels: Mapping[str, Labels]
) -> tuple[pl.DataFrame, list[JsonObject]]:
    """For every pair of rules the marks whose label changes, and how much the counts change."""
    from nodulebench.matching.flips import flip_list, rule_difference

    flips, differences = [], []
    for base, other in combinations(labels, 2):
        names = {"algorithm": submission.name, "base_rule": base, "rule": other}
        flip_rows = flip_list(labels[base], labels[other], submission, reference)
        flips.append(
            flip_rows.select(*(pl.lit(value).alias(key) for key, value in names.items()), pl.all())
        )
        difference = rule_difference(labels[base], labels[other])
        differences.append({"base_rule": base, "rule": other, **difference})
    return pl.concat(flips), differences
