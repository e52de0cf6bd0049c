"""Protocol + test set + acceptance criteria -> a frozen TestPlan, and its file."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nodulebench.core.cohort import labelled_cohort
from nodulebench.core.config_model import checked, parse_config
from nodulebench.core.documents.records import as_json
from nodulebench.core.errors import InputError, Problem, did_you_mean, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.plans import AcceptanceCriteria, Criterion, TestPlan
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.protocols import load_protocol
from nodulebench.core.results import RuleResult
from nodulebench.core.tables import MARK_SLICES, MARKS, Reference, Submission
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.plans.attainable import not_assessable
from nodulebench.evaluation.plans.verdict import estimates_of
from nodulebench.evaluation.service import read_test_set, with_options
from nodulebench.i18n.translator import in_english
from nodulebench.io.json_files import read_json, write_json
from nodulebench.io.manifests import reference_digest, table_digest
from nodulebench.matching import label_marks, targets

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
    """Read, freeze and write a plan.

    Returns:
        The plan, and for criteria that not even a perfect result could meet on this test set:
        index -> reason.

    Raises:
        InputError: if there is a problem with the files, a criterion cannot be decided by this
            protocol on this test set, or the plan's file exists.
    """
    if options.out.exists():
        what = "exists already; a frozen plan is never overwritten."
        raise InputError.at(str(options.out), what, "Choose a new name.")
    reference = read_test_set(
        options.reference, cases=options.cases, nodules=options.nodules, series=options.series
    )
    protocol = with_options(
        load_protocol(options.protocol), bootstraps=options.bootstraps, seed=options.seed
    )
    criteria = read_criteria(options.criteria)
    plan = freeze_plan(criteria, reference, protocol, source=str(options.criteria))
    write_plan(plan, options.out)
    return plan, unattainable(plan, reference)


def unattainable(plan: TestPlan, reference: Reference) -> dict[int, Notice]:
    """Criteria that no result could meet on this test set: index in the plan -> reason."""
    protocol, silent = plan.protocol, _silent()
    choices = {choice.name: choice for choice in protocol.rules}
    reasons: dict[int, Notice] = {}
    for number, criterion in enumerate(plan.criteria):
        labels = label_marks(reference, silent, protocol, choices[criterion.rule])
        is_target = targets(reference, silent, protocol)
        cohort = labelled_cohort(reference, silent, labels, is_target)
        reason = not_assessable(criterion, cohort, protocol)
        if reason is not None:
            reasons[number] = reason
    return reasons


def _silent() -> Submission:
    """An algorithm that marks nothing."""
    return Submission("silent", MARKS.empty(), MARK_SLICES.empty())


def freeze_plan(
    stated: AcceptanceCriteria,
    reference: Reference,
    protocol: TestProtocol,
    *,
    source: str = "criteria",
    at: datetime | None = None,
) -> TestPlan:
    """Bind criteria to a protocol and a test set.

    Args:
        stated: the criteria, with title and laboratory.
        reference: the test set; only its name, number of cases and digests go into the plan.
        protocol: the protocol with its effective values.
        source: the name of the criteria in error messages.
        at: the time that is written; None: now.

    Raises:
        InputError: for each criterion that this protocol cannot decide on this test set.
    """
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
    """Acceptance criteria from a TOML or JSON file."""
    if path.suffix == ".json":
        return checked(AcceptanceCriteria, read_json(path), str(path))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.at(str(path), f"cannot be read as text: {error}.") from error
    return parse_config(AcceptanceCriteria, text, str(path))


def plan_document(plan: TestPlan) -> JsonObject:
    """A plan as its file holds it."""
    content: JsonObject = as_json(plan.model_dump(mode="json"))
    return {"schema": SCHEMA, "digest": plan.digest, **content}


def write_plan(plan: TestPlan, path: Path) -> None:
    write_json(plan_document(plan), path)


def read_plan(path: Path) -> TestPlan:
    """A frozen plan from its file.

    Raises:
        InputError: if it is not a plan, or was changed after it was frozen.
    """
    content = read_json(path)
    schema = content.pop("schema", None) if isinstance(content, dict) else None
    if not isinstance(content, dict) or schema != SCHEMA:
        raise InputError.at(
            str(path),
            f"has the schema '{schema}', not '{SCHEMA}'.",
            "Give a file that 'nodulebench test-plan freeze' wrote.",
        )
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
    trial = evaluate(reference, [_silent()], with_options(protocol, bootstraps=0))
    rules = trial.algorithms[0].rules
    for number, criterion in enumerate(stated.criteria, 1):
        where = f"{source} criterion {number}"
        if criterion.rule not in rules:
            yield Problem(
                where,
                f"the protocol '{protocol.name}' has no rule '{criterion.rule}'.",
                f"Its rules: {', '.join(rules)}.",
            )
        elif rules[criterion.rule].undefined:
            reason = rules[criterion.rule].undefined
            yield Problem(
                where,
                f"'{criterion.rule}' cannot be applied to this test set: {in_english(reason)}.",
            )
        else:
            yield from _unknown_metric(criterion, rules[criterion.rule], where)
            yield from _no_such_bound(criterion, protocol, where)


def _unknown_metric(criterion: Criterion, result: RuleResult, where: str) -> Iterator[Problem]:
    known = estimates_of(result)
    if (criterion.stratum, criterion.metric) in known:
        return
    strata = list(dict.fromkeys(stratum for stratum, _ in known if stratum))
    if criterion.stratum and criterion.stratum not in strata:
        yield Problem(
            where,
            f"there is no stratum '{criterion.stratum}' in this test set.",
            f"Strata: {', '.join(strata) or 'none, the protocol asks for none'}.",
        )
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
        yield Problem(
            where,
            f"the protocol '{protocol.name}' computes no intervals: it has 0 bootstraps.",
            'Use bound = "value", or set bootstraps.',
        )
