"""Frozen plan + evaluation -> the outcome: each criterion met or not, and a verdict.

Verdicts use the guarded interval, even if the protocol names another method. If not even a perfect
result could meet a criterion on these patients, it is not assessable: never met, and failed only
if the whole interval is on the wrong side of the limit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from nodulebench.core.cohort import LabelledCohort, labelled_cohort
from nodulebench.core.documents.records import PRIMARY
from nodulebench.core.notices import Notice
from nodulebench.core.plans import DEMANDS, Criterion, CriterionOutcome, PlanOutcome, TestPlan
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import AlgorithmResult, Estimate, Evaluation, RuleResult
from nodulebench.evaluation.plans.attainable import not_assessable, refine
from nodulebench.matching import label_marks, targets
from nodulebench.metrics.score_order import at_operating_point
from nodulebench.statistics.multiplicity import gatekeeping


def by_family(outcomes: Sequence[CriterionOutcome], level: float) -> Iterator[CriterionOutcome]:
    """One algorithm's criteria with P values adjusted by gatekeeping over the families.

    Args:
        outcomes: the unadjusted outcome of each criterion, in the order of the plan.
        level: confidence level of the two-sided intervals; claims are one-sided at (1 - level) / 2.
    """
    families: dict[str, list[CriterionOutcome]] = {PRIMARY: []}
    for outcome in outcomes:
        families.setdefault(outcome.criterion.family, []).append(outcome)
    if len(families) == 1:
        yield from outcomes
        return
    alpha = (1 - level) / 2
    adjusted = gatekeeping(
        *([_p_value(outcome, alpha) for outcome in family] for family in families.values())
    )
    p_values = dict(zip(families, (iter(values.tolist()) for values in adjusted), strict=True))
    not_met = (name for name, values in zip(families, adjusted, strict=True) if max(values) > alpha)
    names, gate = list(families), next(not_met, None)
    for outcome in outcomes:
        family = outcome.criterion.family
        p_value = next(p_values[family])
        shown = replace(outcome, adjusted_p_value=None if outcome.p_value is None else p_value)
        if family == PRIMARY or outcome.is_met is None:
            yield shown
        elif gate is not None and names.index(gate) < names.index(family):
            yield replace(shown, is_met=None, reason=Notice("gate_closed", {"family": gate}))
        elif outcome.is_met and p_value > alpha:
            values = {"p_value": outcome.p_value, "adjusted": p_value, "alpha": alpha}
            yield replace(shown, is_met=False, reason=Notice("lost_by_adjustment", values))
        else:
            yield shown


def _p_value(outcome: CriterionOutcome, alpha: float) -> float:
    """The P value of a criterion; if it has none, the largest possible one."""
    if not outcome.is_met:
        return 1.0 if outcome.p_value is None else outcome.p_value
    if (outcome.criterion.bound, outcome.criterion.comparison) not in DEMANDS:
        return 0.0
    return alpha if outcome.p_value is None else outcome.p_value


CohortOf = Callable[[str], LabelledCohort]
"""The cohort of a rule, by its name."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The data from which the bound of a verdict is computed."""

    protocol: TestProtocol
    cohort_of: CohortOf


def evaluated_under(plan: TestPlan, evaluation: Evaluation) -> Evaluation:
    """The evaluation with the plan's digest and outcome."""
    differences = plan_differences(plan, evaluation)
    outcome = PlanOutcome(
        plan,
        differences,
        tuple(
            outcome
            for algorithm in evaluation.algorithms
            for outcome in by_family(
                [
                    criterion_outcome(
                        criterion,
                        algorithm,
                        is_planned=not differences,
                        bench=_bench(evaluation, algorithm),
                    )
                    for criterion in plan.criteria
                ],
                evaluation.protocol.interval.level,
            )
        ),
    )
    digests = {**evaluation.digests, "plan": plan.digest}
    return replace(evaluation, digests=digests, plan=outcome)


def plan_differences(plan: TestPlan, evaluation: Evaluation) -> tuple[Notice, ...]:
    """Notices for protocol, cases and findings of a test that differ from the plan."""
    planned = dict(plan.digests)
    return tuple(
        Notice(
            "other_than_planned",
            {"part": part, "planned": planned[part], "tested": evaluation.digests[part]},
        )
        for part in ("protocol", "cohort", "reference")
        if planned[part] != evaluation.digests[part]
    )


def criterion_outcome(
    criterion: Criterion,
    algorithm: AlgorithmResult,
    *,
    is_planned: bool = True,
    bench: Bench | None = None,
) -> CriterionOutcome:
    """Whether an algorithm meets a criterion; an undefined metric is never met and never failed."""
    result = algorithm.rules.get(criterion.rule)
    estimate: Estimate | None = None
    reason: Notice | None = None
    if result is None:
        reason = Notice("rule_not_applied", {"rule": criterion.rule})
    elif result.undefined:
        values = {"rule": criterion.rule, "reason": result.undefined}
        reason = Notice("rule_not_applicable", values)
    else:
        estimate = estimates_of(result).get((criterion.stratum, criterion.metric))
        reason = None if estimate is not None else Notice("no_such_metric")
    shown = (estimate or Estimate(None)).soundly
    outcome = CriterionOutcome(
        algorithm.name, criterion, shown.value, shown.low, shown.high, None, reason
    )
    if not is_planned:
        return replace(outcome, reason=Notice("not_planned"))
    if reason is None and bench is not None and criterion.bound != "value":
        return _bound_outcome(outcome, shown, bench)
    compared: float | None = getattr(shown, criterion.bound)
    if compared is not None:
        return replace(outcome, is_met=_is_met(criterion, compared))
    return replace(outcome, reason=reason or _no_bound(shown, criterion))


def _bound_outcome(outcome: CriterionOutcome, shown: Estimate, bench: Bench) -> CriterionOutcome:
    """The outcome of a criterion on a bound: recomputed, and checked for what could be shown."""
    criterion = outcome.criterion
    if shown.value is None or shown.low is None:
        return replace(outcome, reason=_no_bound(shown, criterion))
    cohort = bench.cohort_of(criterion.rule)
    refined = refine(criterion, cohort, bench.protocol, shown.value)
    if refined is not None:
        outcome = replace(
            outcome,
            low=refined.low,
            high=refined.high,
            replicates=refined.replicates,
            p_value=refined.p_value,
        )
    ends = {"low": outcome.low, "high": outcome.high}
    compared, other = ends.pop(criterion.bound), *ends.values()
    if compared is None or other is None:
        return replace(outcome, reason=_no_bound(shown, criterion))
    if _is_met(criterion, compared):
        return replace(outcome, is_met=True)
    reason = not_assessable(criterion, cohort, bench.protocol)
    if reason is not None and _is_met(criterion, other):
        return replace(outcome, reason=reason)
    return replace(outcome, is_met=False)


def _bench(evaluation: Evaluation, algorithm: AlgorithmResult) -> Bench | None:
    """The data for the bound of a verdict; None if the evaluation does not hold its tables."""
    reference, submission = evaluation.test_set, algorithm.submission
    protocol = evaluation.protocol
    if reference is None or submission is None:
        return None

    def cohort_of(rule: str) -> LabelledCohort:
        choice = next(choice for choice in protocol.rules if choice.name == rule)
        labels = label_marks(reference, submission, protocol, choice)
        is_target = targets(reference, submission, protocol)
        cohort = labelled_cohort(reference, submission, labels, is_target)
        return at_operating_point(cohort, protocol)

    return Bench(protocol, cohort_of)


def _is_met(criterion: Criterion, compared: float) -> bool:
    return (
        compared >= criterion.limit if criterion.comparison == ">=" else compared <= criterion.limit
    )


def _no_bound(shown: Estimate, criterion: Criterion) -> Notice:
    return shown.reason or Notice("no_bound", {"bound": criterion.bound})


def estimates_of(result: RuleResult) -> dict[tuple[str, str], Estimate]:
    """Every estimate of a rule's result by stratum and metric, with the names of criteria."""
    by_name: dict[tuple[str, str], Estimate] = {}
    for metric, estimate in result.metrics.items():
        if isinstance(estimate, Estimate):
            by_name["", metric] = estimate
        else:
            by_name |= {("", f"{metric}@{point}"): reading for point, reading in estimate.items()}
    for division, strata in result.strata.items():
        for name, stratum in strata.items():
            estimates = {"miss_rate": stratum.miss_rate, **stratum.metrics}
            by_name |= {
                (f"{division}={name}", metric): estimate for metric, estimate in estimates.items()
            }
    return by_name
