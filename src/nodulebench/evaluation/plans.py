"""Test plans: frozen from protocol, test set and criteria before a test; the verdict after it.

Verdicts use the guarded interval, even if the protocol names another method. A verdict must not
depend on the chance of resampling: its bound has more replicates, and ten times as many if it comes
close to the limit. If not even a perfect result could meet a criterion on these patients, it is not
assessable: never met, and failed only if the whole interval is on the wrong side of the limit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.config_model import checked, parse_config
from nodulebench.core.documents.records import PRIMARY, CriterionSummary, as_json
from nodulebench.core.errors import (
    InputError,
    Problem,
    UndefinedError,
    did_you_mean,
    raise_problems,
)
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.plans import DEMANDS, AcceptanceCriteria, Criterion, PlanOutcome, TestPlan
from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.core.results import AlgorithmResult, Estimate, Evaluation, RuleResult
from nodulebench.core.tables import MARK_SLICES, MARKS, Reference, Submission
from nodulebench.evaluation.estimates import (
    bind_parameters,
    column_keys,
    guarded_bootstrap_of,
    guarded_rows_of,
    shown_name,
)
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.guarded_rows import (
    FEWEST_FOR_RATE,
    GuardedRows,
    guarded_metric_interval,
    sums_of,
)
from nodulebench.evaluation.service import with_options
from nodulebench.evaluation.strata import stratum_rows
from nodulebench.i18n.translator import in_english
from nodulebench.io.formats import read_reference
from nodulebench.io.json_files import read_json, with_schema, write_json
from nodulebench.io.manifests import reference_digest, table_digest
from nodulebench.matching import label_cohort
from nodulebench.metrics import METRICS, guard_of, info_of
from nodulebench.metrics.pseudo_patient import SINGLE_ICC, perfect_cohort, pseudo_size
from nodulebench.metrics.score_order import at_operating_point
from nodulebench.statistics.bootstrap import (
    bound_reach,
    guarded_interval,
    guarded_p_value,
    proportion_of,
    ratio_rows,
    units_needed,
)
from nodulebench.statistics.multiplicity import gatekeeping

SCHEMA = "nodulebench/test-plan@1"


@dataclass(frozen=True, kw_only=True, slots=True)
class FreezeOptions:
    """What is frozen; the fields that ``EvaluateOptions`` has, too, have the same meaning."""

    criteria: Path
    """Acceptance criteria, TOML or JSON."""
    reference: Path
    protocol: str
    out: Path
    """The file of the plan; it must not exist."""
    series: Path | None = None
    cases: Path | None = None
    nodules: Path | None = None
    bootstraps: int | None = None
    seed: int | None = None


def freeze_files(options: FreezeOptions) -> tuple[TestPlan, dict[int, Notice]]:
    """Read, freeze and write a plan; return it, and by index the criteria that cannot be met."""
    if options.out.exists():
        what = "exists already; a frozen plan is never overwritten."
        raise InputError.at(str(options.out), what, "Choose a new name.")
    reference = read_reference(
        options.reference, cases=options.cases, nodules=options.nodules, series=options.series
    )
    protocol = with_options(
        load_protocol(options.protocol), bootstraps=options.bootstraps, seed=options.seed
    )
    criteria = read_criteria(options.criteria)
    plan = freeze_plan(criteria, reference, protocol, source=str(options.criteria))
    write_plan(plan, options.out)
    return plan, unattainable(plan, reference)


SILENT = Submission("silent", MARKS.empty(), MARK_SLICES.empty())
"""An algorithm that marks nothing."""


def unattainable(plan: TestPlan, reference: Reference) -> dict[int, Notice]:
    """Criteria that no result could meet on this test set: index in the plan -> reason."""
    protocol = plan.protocol
    choices = {choice.name: choice for choice in protocol.rules}
    reasons: dict[int, Notice] = {}
    for number, criterion in enumerate(plan.criteria):
        _, cohort = label_cohort(reference, SILENT, protocol, choices[criterion.rule])
        reason = not_assessable(criterion, cohort, protocol)
        if reason is not None:
            reasons[number] = reason
    return reasons


def freeze_plan(
    stated: AcceptanceCriteria,
    reference: Reference,
    protocol: TestProtocol,
    *,
    source: str = "criteria",
    at: datetime | None = None,
) -> TestPlan:
    """Bind criteria to a protocol and a test set (its name, number of cases and digests)."""
    problems = list(_undecidable(stated, reference, protocol, source))
    raise_problems(problems)
    return TestPlan(
        **dict(stated),
        frozen_at=(at or datetime.now(UTC)).replace(microsecond=0),
        test_set=reference.name,
        cases=reference.cases.height,
        digests={
            "protocol": protocol.digest,
            "cohort": table_digest(reference.cases),
            "reference": reference_digest(reference),
        },
        protocol=protocol,
    )


def read_criteria(path: Path) -> AcceptanceCriteria:
    if path.suffix == ".json":
        return checked(AcceptanceCriteria, read_json(path), str(path))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.at(str(path), f"cannot be read as text: {error}.") from error
    return parse_config(AcceptanceCriteria, text, str(path))


def plan_document(plan: TestPlan) -> JsonObject:
    content: JsonObject = as_json(plan.model_dump(mode="json"))
    return {"schema": SCHEMA, "digest": plan.digest, **content}


def write_plan(plan: TestPlan, path: Path) -> None:
    write_json(plan_document(plan), path)


def read_plan(path: Path) -> TestPlan:
    remedy = "Give a file that 'nodulebench test-plan freeze' wrote."
    content = with_schema(read_json(path), SCHEMA, path, remedy)
    del content["schema"]
    digest = content.pop("digest", None)
    plan = checked(TestPlan, content, str(path))
    if plan.digest != digest:
        raise InputError.at(
            str(path),
            f"was changed after it was frozen: it states the digest {digest}, its content has "
            f"{plan.digest}.",
            "Use the plan as it was frozen, or freeze a new one.",
        )
    return plan


def _undecidable(
    stated: AcceptanceCriteria, reference: Reference, protocol: TestProtocol, source: str
) -> Iterator[Problem]:
    """Problems of each criterion; an algorithm without marks shows which metrics there will be."""
    trial = evaluate(reference, [SILENT], with_options(protocol, bootstraps=0))
    rules = trial.algorithms[0].rules
    for number, criterion in enumerate(stated.criteria, 1):
        where = f"{source} criterion {number}"
        if criterion.rule not in rules:
            what = f"the protocol '{protocol.name}' has no rule '{criterion.rule}'."
            yield Problem(where, what, f"Its rules: {', '.join(rules)}.")
        elif rules[criterion.rule].undefined:
            reason = rules[criterion.rule].undefined
            what = f"'{criterion.rule}' cannot be applied to this test set: {in_english(reason)}."
            yield Problem(where, what)
        else:
            yield from _unknown_metric(criterion, rules[criterion.rule], where)
            yield from _no_such_bound(criterion, protocol, where)


def _unknown_metric(criterion: Criterion, result: RuleResult, where: str) -> Iterator[Problem]:
    known = estimates_of(result)
    if (criterion.stratum, criterion.metric) in known:
        return
    strata = list(dict.fromkeys(stratum for stratum, _ in known if stratum))
    if criterion.stratum and criterion.stratum not in strata:
        remedy = f"Strata: {', '.join(strata) or 'none, the protocol asks for none'}."
        yield Problem(where, f"there is no stratum '{criterion.stratum}' in this test set.", remedy)
        return
    metrics = [metric for stratum, metric in known if stratum == criterion.stratum]
    within = f" in the stratum '{criterion.stratum}'" if criterion.stratum else ""
    yield Problem(
        where,
        f"there is no metric '{criterion.metric}'{within}.",
        f"{did_you_mean(criterion.metric, metrics)} Metrics: {', '.join(metrics)}.".lstrip(),
    )


def _no_such_bound(criterion: Criterion, protocol: TestProtocol, where: str) -> Iterator[Problem]:
    if criterion.bound == "value":
        return
    if criterion.metric.startswith("threshold_at_fp_rate@"):
        yield Problem(where, f"'{criterion.metric}' has no interval.", 'Use bound = "value".')
    elif protocol.interval.method != "jackknife" and not protocol.interval.bootstraps:
        what = f"the protocol '{protocol.name}' computes no intervals: it has 0 bootstraps."
        yield Problem(where, what, 'Use bound = "value", or set bootstraps.')


def by_family(outcomes: Sequence[CriterionSummary], level: float) -> Iterator[CriterionSummary]:
    """One algorithm's criteria, in the plan's order, with P values adjusted by gatekeeping."""
    families: dict[str, list[CriterionSummary]] = {PRIMARY: []}
    for outcome in outcomes:
        families.setdefault(outcome.family, []).append(outcome)
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
        family = outcome.family
        p_value = next(p_values[family])
        shown = replace(outcome, adjusted_p_value=None if outcome.p_value is None else p_value)
        if family == PRIMARY or outcome.met is None:
            yield shown
        elif gate is not None and names.index(gate) < names.index(family):
            yield replace(shown, met=None, reason=Notice("gate_closed", {"family": gate}))
        elif outcome.met and p_value > alpha:
            values = {"p_value": outcome.p_value, "adjusted": p_value, "alpha": alpha}
            yield replace(shown, met=False, reason=Notice("lost_by_adjustment", values))
        else:
            yield shown


def _p_value(outcome: CriterionSummary, alpha: float) -> float:
    if not outcome.met:
        return 1.0 if outcome.p_value is None else outcome.p_value
    if (outcome.bound, outcome.comparison) not in DEMANDS:
        return 0.0
    return alpha if outcome.p_value is None else outcome.p_value


def evaluated_under(plan: TestPlan, evaluation: Evaluation) -> Evaluation:
    differences = plan_differences(plan, evaluation)
    criteria: list[CriterionSummary] = []
    for algorithm in evaluation.algorithms:
        outcomes = [
            criterion_outcome(criterion, algorithm, evaluation, is_planned=not differences)
            for criterion in plan.criteria
        ]
        criteria.extend(by_family(outcomes, evaluation.protocol.interval.level))
    digests = {**evaluation.digests, "plan": plan.digest}
    outcome = PlanOutcome(plan, differences, tuple(criteria))
    return replace(evaluation, digests=digests, plan=outcome)


def plan_differences(plan: TestPlan, evaluation: Evaluation) -> tuple[Notice, ...]:
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
    evaluation: Evaluation | None = None,
    *,
    is_planned: bool = True,
) -> CriterionSummary:
    """Whether an algorithm meets a criterion; an undefined metric is never met and never failed.

    Bounds are recomputed from the tables that the evaluation holds, if it is given.
    """
    result = algorithm.rules.get(criterion.rule)
    estimate: Estimate | None = None
    reason: Notice | None = None
    if result is None:
        reason = Notice("rule_not_applied", {"rule": criterion.rule})
    elif result.undefined:
        reason = Notice("rule_not_applicable", {"rule": criterion.rule, "reason": result.undefined})
    else:
        estimate = estimates_of(result).get((criterion.stratum, criterion.metric))
        reason = None if estimate is not None else Notice("no_such_metric")
    shown = (estimate or Estimate(None)).soundly
    outcome = CriterionSummary(
        algorithm=algorithm.name,
        **criterion.model_dump(),
        value=shown.value,
        low=shown.low,
        high=shown.high,
        met=None,
        reason=reason,
    )
    if not is_planned:
        return replace(outcome, reason=Notice("not_planned"))
    reason = reason or shown.reason or Notice("no_bound", {"bound": criterion.bound})
    if criterion.bound != "value" and estimate is not None and evaluation is not None:
        test_set, submission = evaluation.test_set, algorithm.submission
        if test_set is not None and submission is not None:
            if shown.value is None or shown.low is None:
                return replace(outcome, reason=reason)
            protocol = evaluation.protocol
            choice = next(rule for rule in protocol.rules if rule.name == criterion.rule)
            _, every = label_cohort(test_set, submission, protocol, choice)
            cohort = at_operating_point(every, protocol)
            return _bound_outcome(outcome, criterion, cohort, protocol, reason)
    compared: float | None = getattr(shown, criterion.bound)
    if compared is None:
        return replace(outcome, reason=reason)
    return replace(outcome, met=_is_met(criterion, compared))


def _bound_outcome(
    outcome: CriterionSummary,
    criterion: Criterion,
    cohort: LabelledCohort,
    protocol: TestProtocol,
    no_bound: Notice,
) -> CriterionSummary:
    """The outcome of a criterion on a bound: recomputed, and checked for what could be shown."""
    value = outcome.value
    refined = None if value is None else refine(criterion, cohort, protocol, value)
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
        return replace(outcome, reason=no_bound)
    if _is_met(criterion, compared):
        return replace(outcome, met=True)
    reason = not_assessable(criterion, cohort, protocol)
    if reason is not None and _is_met(criterion, other):
        return replace(outcome, reason=reason)
    return replace(outcome, met=False)


def _is_met(criterion: Criterion, compared: float) -> bool:
    return (
        compared >= criterion.limit if criterion.comparison == ">=" else compared <= criterion.limit
    )


def estimates_of(result: RuleResult) -> dict[tuple[str, str], Estimate]:
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


VERDICT_REPLICATES = 10_000
"""The least number of replicates of a bound on which a verdict depends."""
MORE = 10
"""The factor by which replicates increase within two standard errors of the limit."""


@dataclass(frozen=True, slots=True)
class Refined:
    """The bounds of a criterion's metric, precise enough for a verdict."""

    low: float
    high: float
    replicates: int
    p_value: float | None
    """The P value of a criterion that demands evidence, else None."""


def refine(
    criterion: Criterion, cohort: LabelledCohort, protocol: TestProtocol, value: float
) -> Refined | None:
    replicates = max(VERDICT_REPLICATES, protocol.interval.bootstraps)
    for count in (replicates, MORE * replicates):
        rows = _rows(criterion, cohort, _drawing(protocol, count))
        if rows is None:
            return None
        ends = (rows.worst, rows.best)
        low, high = guarded_interval(value, *ends, protocol.interval.level)
        p_value = None
        if (criterion.bound, criterion.comparison) in DEMANDS:
            is_low = criterion.bound == "low"
            p_value = guarded_p_value(value, *ends, criterion.limit, is_low=is_low)
        if not _is_close(criterion, rows, protocol.interval.level):
            break
    return Refined(low, high, count, p_value)


def not_assessable(
    criterion: Criterion, cohort: LabelledCohort, protocol: TestProtocol
) -> Notice | None:
    """Why not even a perfect result could meet a criterion on these cases; None: it could."""
    metric = _registered(criterion, protocol)
    is_higher_better = info_of(metric).is_higher_better
    if (criterion.bound, criterion.comparison) not in DEMANDS or is_higher_better is None:
        return None
    if guard_of(metric) == "none" or (criterion.comparison == ">=") != is_higher_better:
        return None
    best = _drawing(protocol, VERDICT_REPLICATES)
    try:
        rows = _perfect_rows(criterion, cohort, best)
    except UndefinedError:
        return None  # what could be shown depends on the marks
    if rows is None:
        return None
    perfect_value = 1.0 if is_higher_better else 0.0
    sound = guarded_metric_interval(perfect_value, rows, best.interval)
    bound = sound.low if is_higher_better else sound.high
    counted = {"units": rows.units, "unit": protocol.interval.unit}
    allowed = abs(perfect_value - criterion.limit)
    if bound is None:  # a rate on too few cases
        _, high = guarded_interval(perfect_value, rows.worst, rows.best, best.interval.level)
        needed = units_needed(rows.units, high, allowed, best.interval.level)
        values = {**counted, "needed": max(FEWEST_FOR_RATE, needed or 0)}
        return Notice("not_assessable", values)
    is_met = bound >= criterion.limit if is_higher_better else bound <= criterion.limit
    if is_met:
        return None
    needed = units_needed(rows.units, abs(perfect_value - bound), allowed, best.interval.level)
    return Notice("not_assessable", {**counted, "needed": needed})


def _rows(
    criterion: Criterion, cohort: LabelledCohort, protocol: TestProtocol
) -> GuardedRows | None:
    if criterion.stratum:
        division, _, stratum = criterion.stratum.partition("=")
        return stratum_rows(cohort, protocol, division, stratum, criterion.metric)
    metric, point = _registered(criterion, protocol), criterion.metric.partition("@")[2]
    if metric not in METRICS:
        return None
    rows = guarded_rows_of(cohort, protocol, [metric]).get(metric)
    if rows is None or not point:
        return rows
    return rows.at(column_keys(metric, protocol, rows.worst.shape[1]).index(point))


def _perfect_rows(
    criterion: Criterion, cohort: LabelledCohort, protocol: TestProtocol
) -> GuardedRows | None:
    metric = _registered(criterion, protocol)
    if criterion.stratum or guard_of(metric) != "trials":
        return _rows(criterion, perfect_cohort(cohort), protocol)
    bootstrap = guarded_bootstrap_of(cohort, protocol)
    of_case = sums_of(bind_parameters(METRICS[metric], protocol), cohort)
    if bootstrap is None or of_case is None:
        return None
    trials = bootstrap.per_unit(of_case.denominator)
    successes = trials if info_of(metric).is_higher_better else np.zeros_like(trials)
    ratio = proportion_of(successes, trials, pseudo_size(trials, SINGLE_ICC))
    parts = [ratio_rows([ratio], block) for block in bootstrap.blocks()]
    worst, best = (np.concatenate(part)[:, 0] for part in zip(*parts, strict=True))
    return GuardedRows(worst, best, units=int(np.count_nonzero(trials)), guard="trials")


def _registered(criterion: Criterion, protocol: TestProtocol) -> str:
    name = criterion.metric.partition("@")[0]
    return "f_beta" if name == shown_name("f_beta", protocol) else name


def _drawing(protocol: TestProtocol, replicates: int) -> TestProtocol:
    changed = {"method": "guarded", "bootstraps": replicates}
    interval = protocol.interval.model_copy(update=changed)
    return protocol.model_copy(update={"interval": interval})


def _is_close(criterion: Criterion, rows: GuardedRows, level: float) -> bool:
    """Whether another seed might move the bound to the other side of the limit."""
    tail = (1 - level) / 2
    share = tail if criterion.bound == "low" else 1 - tail
    reaches = [bound_reach(rows_of_kind, share) for rows_of_kind in (rows.worst, rows.best)]
    ends = zip(*reaches, strict=True)
    low, high = map(min, ends) if criterion.bound == "low" else map(max, ends)
    return bool(low <= criterion.limit <= high)
