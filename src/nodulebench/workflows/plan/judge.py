"""Frozen plan + evaluation -> what came of it: each criterion met or not, and a verdict."""

from dataclasses import replace

from nodulebench.model.notice import Notice
from nodulebench.model.plan import Criterion, CriterionOutcome, PlanOutcome, TestPlan
from nodulebench.model.results import AlgorithmResult, Estimate, Evaluation, RuleResult


def evaluated_under(plan: TestPlan, evaluation: Evaluation) -> Evaluation:
    """The evaluation with the plan's digest and what came of the plan."""
    differences = plan_differences(plan, evaluation)
    outcome = PlanOutcome(
        plan,
        differences,
        tuple(
            judge(criterion, algorithm, is_planned=not differences)
            for algorithm in evaluation.algorithms
            for criterion in plan.criteria
        ),
    )
    digests = {**evaluation.digests, "plan": plan.digest}
    return replace(evaluation, digests=digests, plan=outcome)


def plan_differences(plan: TestPlan, evaluation: Evaluation) -> tuple[Notice, ...]:
    """In which of protocol, cases and findings a test is not the planned one."""
    planned = dict(plan.digests)
    return tuple(
        Notice(
            "other_than_planned",
            {"part": part, "planned": planned[part], "tested": evaluation.digests[part]},
        )
        for part in ("protocol", "cohort", "reference")
        if planned[part] != evaluation.digests[part]
    )


def judge(
    criterion: Criterion, algorithm: AlgorithmResult, *, is_planned: bool = True
) -> CriterionOutcome:
    """How an algorithm stands to a criterion; undefined is never met and never failed."""
    result = algorithm.rules.get(criterion.rule)
    found: Estimate | None = None
    reason: Notice | None = None
    if result is None:
        reason = Notice("rule_not_applied", {"rule": criterion.rule})
    elif result.undefined:
        values = {"rule": criterion.rule, "reason": result.undefined}
        reason = Notice("rule_not_applicable", values)
    else:
        found = estimates_of(result).get((criterion.stratum, criterion.figure))
        reason = None if found is not None else Notice("no_such_figure")
    shown = found or Estimate(None)
    compared: float | None = getattr(shown, criterion.bound)
    is_met: bool | None = None
    if not is_planned:
        reason = Notice("not_planned")
    elif compared is not None:
        reason = None
        is_met = (
            compared >= criterion.limit
            if criterion.comparison == ">="
            else compared <= criterion.limit
        )
    elif not reason:
        reason = shown.reason or Notice("no_bound", {"bound": criterion.bound})
    return CriterionOutcome(
        algorithm.name, criterion, shown.value, shown.low, shown.high, is_met, reason
    )


def estimates_of(result: RuleResult) -> dict[tuple[str, str], Estimate]:
    """Every estimate of a rule's result by its stratum and figure, named as criteria name them."""
    found: dict[tuple[str, str], Estimate] = {}
    for figure, estimate in result.figures.items():
        if isinstance(estimate, Estimate):
            found["", figure] = estimate
        else:
            found |= {("", f"{figure}@{point}"): one for point, one in estimate.items()}
    for division, strata in result.strata.items():
        for name, stratum in strata.items():
            estimates = {"miss_rate": stratum.miss_rate, **stratum.figures}
            found |= {(f"{division}={name}", figure): one for figure, one in estimates.items()}
    return found
