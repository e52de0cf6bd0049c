"""Frozen plan + evaluation -> what came of it: each criterion met or not, and a verdict."""

from dataclasses import replace

from nodulebench.model.plan import Criterion, CriterionOutcome, PlanOutcome, TestPlan
from nodulebench.model.results import AlgorithmResult, Estimate, Evaluation, RuleResult

NOT_PLANNED = "the test was not the planned one"


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


def plan_differences(plan: TestPlan, evaluation: Evaluation) -> tuple[str, ...]:
    """In which of protocol, cases and findings a test is not the planned one."""
    parts = {"protocol": "protocol", "cohort": "list of cases", "reference": "reference standard"}
    planned = dict(plan.digests)
    return tuple(
        f"The {words} is not the planned one: planned {planned[part]}, "
        f"tested {evaluation.digests[part]}."
        for part, words in parts.items()
        if planned[part] != evaluation.digests[part]
    )


def judge(
    criterion: Criterion, algorithm: AlgorithmResult, *, is_planned: bool = True
) -> CriterionOutcome:
    """How an algorithm stands to a criterion; undefined is never met and never failed."""
    result = algorithm.rules.get(criterion.rule)
    found = None
    if result is None:
        reason = f"the rule {criterion.rule} was not applied"
    elif result.undefined:
        reason = f"the rule {criterion.rule} could not be applied: {result.undefined}"
    else:
        found = estimates_of(result).get((criterion.stratum, criterion.figure))
        reason = "" if found is not None else "the evaluation has no such figure"
    shown = found or Estimate(None)
    compared: float | None = getattr(shown, criterion.bound)
    is_met: bool | None = None
    if not is_planned:
        reason = NOT_PLANNED
    elif compared is not None:
        reason = ""
        is_met = (
            compared >= criterion.limit
            if criterion.comparison == ">="
            else compared <= criterion.limit
        )
    elif not reason:
        reason = shown.reason or f"there is no {criterion.bound} bound"
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
