"""Evaluation document + policy -> what the developer of an algorithm is told, and nothing else."""

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
from nodulebench.report.sections.groups import CROSSED

SCHEMA = "nodulebench/feedback@2"
LEVEL = 0.95
"""Of the two-sided intervals whose lower bound is corrected for repeated looks."""


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """Which look of a developer this is."""

    look: int
    allowed: int
    answers: Answers


IsLowerBetter = Callable[[str], bool]
"""Whether lower values of a metric, by its name, are better."""


def disclose_nothing(name: str) -> bool:
    """That no metric is better when lower."""
    del name
    return False


def disclosed_verdict(plan: PlanSummary) -> JsonObject:
    """The verdict under a plan, with a reason if it is undecided, as any developer may have both.

    The reason does not depend on the marks: a further answer would widen the bounds after repeated
    evaluations. Which criterion is undecided, and on how few patients, stays with the laboratory.
    """
    if plan.verdict != "undecided":
        return {"verdict": plan.verdict}
    reason = Notice("plan_undecided") if plan.matches else Notice("not_planned")
    return {"verdict": plan.verdict, "verdict_reason": reason.to_json()}


def feedback(
    document: Document,
    reuse: Reuse,
    standing: BudgetStatus,
    is_lower_better: IsLowerBetter = disclose_nothing,
) -> JsonObject:
    """What is told of one algorithm's evaluation at the levels ``verdict`` and ``rounded``.

    Raises:
        InputError: if the policy names a metric that the evaluation does not have.
    """
    algorithm = document.algorithms[0]
    told: JsonObject = {
        "schema": SCHEMA,
        "algorithm": algorithm.name,
        "submission": algorithm.digest,
        "test_set": document.reference.name,
        "protocol": document.digests["protocol"],
        "level": reuse.feedback,
    }
    if document.plan is not None:
        told["plan"] = document.plan.name
        told |= disclosed_verdict(document.plan)
    if reuse.feedback == "rounded":
        found = {name: metric_named(document, name) for name in reuse.metrics}
        told["metrics"] = {
            name: _rounded(one, reuse.step, standing, is_upper=is_lower_better(metric_of(name)))
            for name, one in found.items()
        }
    told["looks"] = budget_statement(standing)
    return told


def budget_statement(standing: BudgetStatus) -> JsonObject:
    """How often the developer has looked, and what that does to a claim."""
    told: JsonObject = {"look": standing.look, "allowed": standing.allowed}
    if standing.look == 1:
        return told | _first_after_failure(standing)
    told["optimism_standard_errors"] = round(expected_best(standing.look), 4)
    values = {"look": standing.look, "optimism": told["optimism_standard_errors"]}
    try:
        count = log_hypotheses(standing.look, standing.answers)
        told["bound_standard_errors"] = round(deviations(_one_sided(LEVEL), count), 4)
        needed = {"needed": told["bound_standard_errors"]}
        usual = {"usual": deviations(_one_sided(LEVEL), 0)}
        warning = Notice("repeated_evaluation", {**values, **needed, **usual})
    except UndefinedError as error:
        warning = Notice("repeated_evaluation_unbounded", {**values, "reason": reason_of(error)})
    told["warning"] = warning.to_json()
    return told


def _first_after_failure(standing: BudgetStatus) -> JsonObject:
    """What a look that failed before the first one does to a claim."""
    if not standing.answers.has_failed:
        return {}
    needed = deviations(_one_sided(LEVEL), log_hypotheses(1, standing.answers))
    values = {"needed": round(needed, 4), "usual": deviations(_one_sided(LEVEL), 0)}
    warning = Notice("evaluation_after_failure", values)
    return {"bound_standard_errors": values["needed"], "warning": warning.to_json()}


def corrected_metrics(
    document: Document, standing: BudgetStatus, is_lower_better: IsLowerBetter = disclose_nothing
) -> dict[str, JsonObject]:
    """For the lab: every metric with an interval, with its optimism and the bound that holds."""
    return {
        name: corrected(metric, standing, is_upper=is_lower_better(metric_of(name)))
        for name, metric in _all_metrics(document).items()
        if has_interval(metric)
    }


def metric_of(name: str) -> str:
    """The metric of ``rule.metric`` or ``rule.metric@point``."""
    return name.partition(".")[2].partition("@")[0]


def has_interval(metric: Estimate) -> bool:
    """Whether a metric has bounds that can be corrected."""
    return None not in (metric.value, metric.low, metric.high, metric.level)


def corrected(metric: Estimate, standing: BudgetStatus, *, is_upper: bool = False) -> JsonObject:
    """A metric with what repeated looks make of it.

    Its bound is the lower end of its interval, at the first look as it stands; the upper end of a
    metric that is better when lower. Where the interval holds nothing negative, nor is the bound.
    """
    value, low, high = metric.value or 0.0, metric.low or 0.0, metric.high or 0.0
    error = standard_error_of(low, high, metric.level or LEVEL)
    told: JsonObject = {
        "value": value,
        "standard_error": error,
        "optimism": optimism(standing.look, error),
    }
    try:
        bound = bound_after_evaluations(
            value, high if is_upper else low, standing.look, standing.answers, _one_sided(LEVEL)
        )
    except UndefinedError as undefined:
        return told | {"bound": None, "reason": reason_of(undefined).to_json()}
    if is_upper:
        return told | {"bound": bound, "side": "upper"}
    return told | {"bound": bound if low < 0 else max(bound, 0.0)}


def metric_named(document: Document, name: str) -> Estimate:
    """A metric of the one algorithm of a document, by ``rule.metric`` or ``rule.metric@point``.

    Raises:
        InputError: if there is none of that name.
    """
    known = _all_metrics(document)
    if name not in known:
        raise InputError.at(
            f"policy metric '{name}'",
            "is not in the evaluation.",
            f"It has: {', '.join(sorted(known))}.",
        )
    return known[name]


def _all_metrics(document: Document) -> dict[str, Estimate]:
    found: dict[str, Estimate] = {}
    for rule, result in document.algorithms[0].rules.items():
        for metric, one in result.metrics.items():
            if isinstance(one, Estimate):
                found[f"{rule}.{metric}"] = one.soundly
            else:
                found |= {f"{rule}.{metric}@{point}": part.soundly for point, part in one.items()}
    return found


def _rounded(
    metric: Estimate, step: float, standing: BudgetStatus, *, is_upper: bool
) -> JsonObject:
    if metric.value is None:
        return {"value": None, "reason": Notice("undisclosed_undefined").to_json()}
    if not -step / 2 <= metric.value <= 1 + step / 2:
        return {"value": None, "reason": Notice("not_a_share").to_json()}
    told: JsonObject = {"value": _multiple(round(metric.value / step), step)}
    if has_interval(metric):
        found = corrected(metric, standing, is_upper=is_upper)
        if found["bound"] is not None and is_upper:
            told |= {"bound": min(1.0, _multiple(math.ceil(found["bound"] / step), step))}
            told["side"] = "upper"
        elif found["bound"] is not None:
            told["bound"] = _multiple(max(0, math.floor(found["bound"] / step)), step)
    return told


def _multiple(count: int, step: float) -> float:
    return round(count * step, 12)


def _one_sided(level: float) -> float:
    return 0.5 + level / 2


DECIMALS = 3
"""Of the metrics that a developer is told."""


def disclosed_result(document: Document, evaluation: Evaluation, reuse: Reuse) -> JsonObject | None:
    """What is told of a whole evaluation: nothing, its aggregates, or all of it."""
    if reuse.feedback == "cases":
        return document.to_json()
    if reuse.feedback != "metrics":
        return None
    fewest = max(reuse.minimum_stratum, evaluation.protocol.minimum_stratum)
    hidden = {
        rule: hidden_strata(_members(result, evaluation), fewest)
        for rule, result in evaluation.algorithms[0].rules.items()
    }
    told = _without_tables(developers_document(document, fewest, hidden)).to_json()
    for algorithm in told["algorithms"]:
        for result in algorithm["rules"].values():
            found = {part: result[part] for part in ("metrics", "strata") if part in result}
            result |= as_printed(found)
    if "plan" in told:
        told["plan"]["criteria"] = [
            {name: one if name == "limit" else as_printed(one) for name, one in criterion.items()}
            for criterion in told["plan"]["criteria"]
        ]
    return told


def as_printed(value: Any) -> Any:
    """Metrics to as many decimals as reports print.

    The ends of an interval are those of resampled cases, drawn by a seed that is known: with all
    their digits a single one tells which nodules were hit.
    """
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {name: as_printed(one) for name, one in value.items()}
    return [as_printed(one) for one in value] if isinstance(value, list) else value


def _members(result: RuleResult, evaluation: Evaluation) -> Divisions:
    """Which nodules are in which stratum, and of which type and size."""
    cohort, protocol = result.cohort, evaluation.protocol
    if cohort is None:
        return {}
    found = {name: divide(cohort, name, protocol) for name in result.strata}
    members = {
        name: {stratum: one.of_nodule == number for number, stratum in enumerate(one.names)}
        for name, one in found.items()
        if one is not None
    }
    if CROSSED in result.extras:
        members[CROSSED] = {
            crossed_name(kind, size): in_type & in_size
            for kind, in_type in members["type"].items()
            for size, in_size in members["size"].items()
        }
    return members


def _without_tables(document: Document) -> Document:
    """The document without tables whose cells hold single nodules, but misses by type and size."""
    algorithms = tuple(
        replace(
            algorithm,
            rules={name: _without_others(rule) for name, rule in algorithm.rules.items()},
        )
        for algorithm in document.algorithms
    )
    return replace(document, algorithms=algorithms)


def _without_others(result: RuleSummary) -> RuleSummary:
    crossed = result.extras.get("misses_by_type_and_size")
    extras = Extras() if crossed is None else Extras(misses_by_type_and_size=crossed)
    return replace(result, extras=extras)
