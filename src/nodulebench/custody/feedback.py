"""Feedback for the developer of an algorithm: what the policy allows of an evaluation, no more."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import Extras, PlanSummary, RuleSummary
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.results import Estimate, Evaluation, RuleResult
from nodulebench.custody.adaptive_reuse import (
    Answers,
    bound_after_evaluations,
    deviations,
    expected_best,
    log_hypotheses,
    optimism,
    standard_error_of,
)
from nodulebench.custody.policy import Reuse
from nodulebench.evaluation.strata import divide
from nodulebench.report.developer_copy import crossed_name, developers_document
from nodulebench.report.disclosure import Divisions, hidden_strata
from nodulebench.report.groups import CROSSED

SCHEMA = "nodulebench/feedback@2"
LEVEL = 0.95
"""Level of the two-sided intervals whose lower bound is corrected for repeated evaluations."""


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """The number of a developer's evaluation, and how many are allowed."""

    used: int
    allowed: int
    answers: Answers


IsLowerBetter = Callable[[str], bool]
"""Whether lower values of a metric, by its name, are better."""


def disclose_nothing(name: str) -> bool:
    """Say of every metric that higher is better, which discloses nothing."""
    del name
    return False


def disclosed_verdict(plan: PlanSummary) -> JsonObject:
    """Return the verdict under a plan, with a reason if undecided; every developer may see both.

    The reason does not depend on the marks: a further answer would widen the bounds after repeated
    evaluations. Only the laboratory sees which criterion is undecided, and on how few patients.
    """
    if plan.verdict != "undecided":
        return {"verdict": plan.verdict}
    reason = Notice("plan_undecided") if plan.matches else Notice("not_planned")
    return {"verdict": plan.verdict, "verdict_reason": reason.to_json()}


def feedback(
    document: Document,
    reuse: Reuse,
    status: BudgetStatus,
    is_lower_better: IsLowerBetter = disclose_nothing,
) -> JsonObject:
    algorithm = document.algorithms[0]
    answer: JsonObject = {
        "schema": SCHEMA,
        "algorithm": algorithm.name,
        "submission": algorithm.digest,
        "test_set": document.reference.name,
        "protocol": document.digests["protocol"],
        "level": reuse.feedback,
    }
    if document.plan is not None:
        answer["plan"] = document.plan.name
        answer |= disclosed_verdict(document.plan)
    if reuse.feedback == "rounded":
        metrics = {name: metric_named(document, name) for name in reuse.metrics}
        answer["metrics"] = {
            name: _rounded(metric, reuse.step, status, is_upper=is_lower_better(metric_of(name)))
            for name, metric in metrics.items()
        }
    answer["budget"] = budget_statement(status)
    return answer


def budget_statement(status: BudgetStatus) -> JsonObject:
    statement: JsonObject = {"used": status.used, "allowed": status.allowed}
    if status.used == 1:
        return statement | _first_after_failure(status)
    statement["optimism_standard_errors"] = round(expected_best(status.used), 4)
    values = {"evaluation": status.used, "optimism": statement["optimism_standard_errors"]}
    try:
        count = log_hypotheses(status.used, status.answers)
        statement["bound_standard_errors"] = round(deviations(_one_sided(LEVEL), count), 4)
        needed = {"needed": statement["bound_standard_errors"]}
        usual = {"usual": deviations(_one_sided(LEVEL), 0)}
        warning = Notice("repeated_evaluation", {**values, **needed, **usual})
    except UndefinedError as error:
        warning = Notice("repeated_evaluation_unbounded", {**values, "reason": reason_of(error)})
    statement["warning"] = warning.to_json()
    return statement


def _first_after_failure(status: BudgetStatus) -> JsonObject:
    if not status.answers.has_failed:
        return {}
    needed = deviations(_one_sided(LEVEL), log_hypotheses(1, status.answers))
    values = {"needed": round(needed, 4), "usual": deviations(_one_sided(LEVEL), 0)}
    warning = Notice("evaluation_after_failure", values)
    return {"bound_standard_errors": values["needed"], "warning": warning.to_json()}


def corrected_metrics(
    document: Document, status: BudgetStatus, is_lower_better: IsLowerBetter = disclose_nothing
) -> dict[str, JsonObject]:
    return {
        name: corrected(metric, status, is_upper=is_lower_better(metric_of(name)))
        for name, metric in _all_metrics(document).items()
        if has_interval(metric)
    }


def metric_of(name: str) -> str:
    return name.partition(".")[2].partition("@")[0]


def has_interval(metric: Estimate) -> bool:
    return None not in (metric.value, metric.low, metric.high, metric.level)


def corrected(metric: Estimate, status: BudgetStatus, *, is_upper: bool = False) -> JsonObject:
    """Return a metric with its correction for repeated evaluations.

    The bound is the lower end of its interval, or the upper end if lower values are better. It is
    unchanged at the first evaluation, and not negative if the interval is not.
    """
    value, low, high = metric.value or 0.0, metric.low or 0.0, metric.high or 0.0
    error = standard_error_of(low, high, metric.level or LEVEL)
    result: JsonObject = {
        "value": value,
        "standard_error": error,
        "optimism": optimism(status.used, error),
    }
    try:
        bound = bound_after_evaluations(
            value, high if is_upper else low, status.used, status.answers, _one_sided(LEVEL)
        )
    except UndefinedError as undefined:
        return result | {"bound": None, "reason": reason_of(undefined).to_json()}
    if is_upper:
        return result | {"bound": bound, "side": "upper"}
    return result | {"bound": bound if low < 0 else max(bound, 0.0)}


def metric_named(document: Document, name: str) -> Estimate:
    known = _all_metrics(document)
    if name not in known:
        what = "is not in the evaluation."
        raise InputError.at(f"policy metric '{name}'", what, f"It has: {', '.join(sorted(known))}.")
    return known[name]


def _all_metrics(document: Document) -> dict[str, Estimate]:
    metrics: dict[str, Estimate] = {}
    for rule, result in document.algorithms[0].rules.items():
        for metric, estimate in result.metrics.items():
            if isinstance(estimate, Estimate):
                metrics[f"{rule}.{metric}"] = estimate.soundly
            else:
                metrics |= {
                    f"{rule}.{metric}@{point}": part.soundly for point, part in estimate.items()
                }
    return metrics


def _rounded(metric: Estimate, step: float, status: BudgetStatus, *, is_upper: bool) -> JsonObject:
    if metric.value is None:
        return {"value": None, "reason": Notice("undisclosed_undefined").to_json()}
    if not -step / 2 <= metric.value <= 1 + step / 2:
        return {"value": None, "reason": Notice("not_a_share").to_json()}
    answer: JsonObject = {"value": _multiple(round(metric.value / step), step)}
    if has_interval(metric):
        bounds = corrected(metric, status, is_upper=is_upper)
        if bounds["bound"] is not None and is_upper:
            answer |= {"bound": min(1.0, _multiple(math.ceil(bounds["bound"] / step), step))}
            answer["side"] = "upper"
        elif bounds["bound"] is not None:
            answer["bound"] = _multiple(max(0, math.floor(bounds["bound"] / step)), step)
    return answer


def _multiple(count: int, step: float) -> float:
    return round(count * step, 12)


def _one_sided(level: float) -> float:
    return 0.5 + level / 2


DECIMALS = 3


def disclosed_result(document: Document, evaluation: Evaluation, reuse: Reuse) -> JsonObject | None:
    """Return what a developer receives of a whole evaluation: nothing, aggregates, or all."""
    if reuse.feedback == "cases":
        return document.to_json()
    if reuse.feedback != "metrics":
        return None
    fewest = max(reuse.minimum_stratum, evaluation.protocol.minimum_stratum)
    hidden = {
        rule: hidden_strata(_members(result, evaluation), fewest)
        for rule, result in evaluation.algorithms[0].rules.items()
    }
    disclosed = _without_tables(developers_document(document, fewest, hidden)).to_json()
    for algorithm in disclosed["algorithms"]:
        for result in algorithm["rules"].values():
            parts = {part: result[part] for part in ("metrics", "strata") if part in result}
            result |= as_printed(parts)
    if "plan" in disclosed:
        disclosed["plan"]["criteria"] = [
            {
                name: entry if name == "limit" else as_printed(entry)
                for name, entry in criterion.items()
            }
            for criterion in disclosed["plan"]["criteria"]
        ]
    return disclosed


def as_printed(value: Any) -> Any:
    """Round metrics to as many decimals as reports print.

    Interval ends come from resampled cases with a known seed: with all digits, a single end would
    disclose which nodules were hit.
    """
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {name: as_printed(entry) for name, entry in value.items()}
    return [as_printed(entry) for entry in value] if isinstance(value, list) else value


def _members(result: RuleResult, evaluation: Evaluation) -> Divisions:
    cohort, protocol = result.cohort, evaluation.protocol
    if cohort is None:
        return {}
    divisions = {name: divide(cohort, name, protocol) for name in result.strata}
    members = {
        name: {
            stratum: division.of_nodule == number for number, stratum in enumerate(division.names)
        }
        for name, division in divisions.items()
        if division is not None
    }
    if CROSSED in result.extras:
        members[CROSSED] = {
            crossed_name(kind, size): in_type & in_size
            for kind, in_type in members["type"].items()
            for size, in_size in members["size"].items()
        }
    return members


def _without_tables(document: Document) -> Document:
    """Remove tables whose cells are single nodules, except misses by type and size."""
    algorithms = tuple(
        replace(
            algorithm, rules={name: _without_others(rule) for name, rule in algorithm.rules.items()}
        )
        for algorithm in document.algorithms
    )
    return replace(document, algorithms=algorithms)


def _without_others(result: RuleSummary) -> RuleSummary:
    crossed = result.extras.get("misses_by_type_and_size")
    extras = Extras() if crossed is None else Extras(misses_by_type_and_size=crossed)
    return replace(result, extras=extras)
