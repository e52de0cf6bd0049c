"""Document: what evaluation.json holds, read and written.

Its JSON Schema is published from these records; each field has its meaning below it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import TypeAdapter

from nodulebench.core.documents.notice_field import NoticeField
from nodulebench.core.documents.records import (
    AlgorithmSummary,
    DiameterHistogram,
    PlanSummary,
    ReferenceSummary,
    RuleDifference,
    RuleSummary,
    as_json,
    record,
)
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import Estimate, Evaluation

if TYPE_CHECKING:
    from nodulebench.core.documents.comparison import ComparisonDocument
    from nodulebench.core.plans import PlanOutcome


SCHEMA: Final = "nodulebench/evaluation@1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Everything that one evaluation found, as evaluation.json holds it."""

    schema: Literal["nodulebench/evaluation@1"] = SCHEMA
    """Name and version of this layout."""
    version: str
    """Version of NoduleBench."""
    digests: dict[str, str]
    """SHA-256 of the ``protocol``'s effective values, of the findings and their slices
    (``reference``), of the table of cases (``cohort``), and of the frozen test ``plan``, where
    there was one."""
    protocol: TestProtocol
    """Every field of the protocol as it was applied, options included."""
    plan: PlanSummary | None = None
    """What came of the test plan, where there was one."""
    reference: ReferenceSummary
    """The test set."""
    notices: tuple[NoticeField, ...]
    """What a reader must know about how the reference was read."""
    algorithms: tuple[AlgorithmSummary, ...]
    """Each algorithm."""
    comparisons: "tuple[ComparisonDocument, ...]" = ()
    """What ``nodulebench compare`` found, one for each baseline."""

    @property
    def baseline_rule(self) -> str:
        """The rule that comparisons start from."""
        return self.protocol.baseline_rule or self.protocol.rules[0].name

    @property
    def results(self) -> Iterator[tuple[AlgorithmSummary, str, RuleSummary]]:
        """Every algorithm under every rule: the algorithm, the rule's name and its result."""
        for algorithm in self.algorithms:
            for rule, result in algorithm.rules.items():
                yield algorithm, rule, result

    @property
    def rules(self) -> list[str]:
        """The names of the rules under which marks were labelled, in their order."""
        return list(dict.fromkeys(rule for _, rule, _ in self.results))

    @property
    def has_declared_points(self) -> bool:
        """Whether an algorithm is read at the threshold that it declares."""
        points = [result.operating_point for _, _, result in self.results]
        return any(point is not None and point.fp_per_case is None for point in points)

    @property
    def soundly(self) -> "Document":
        """The document with the intervals that may be relied on; official ones in addition."""
        algorithms = []
        for algorithm in self.algorithms:
            rules = {}
            for name, rule in algorithm.rules.items():
                metrics = {
                    metric: estimate.soundly
                    if isinstance(estimate, Estimate)
                    else {point: reading.soundly for point, reading in estimate.items()}
                    for metric, estimate in rule.metrics.items()
                }
                strata = {
                    division: {
                        label: replace(
                            stratum,
                            miss_rate=stratum.miss_rate.soundly,
                            metrics={m: value.soundly for m, value in stratum.metrics.items()},
                        )
                        for label, stratum in strata_of.items()
                    }
                    for division, strata_of in rule.strata.items()
                }
                rules[name] = replace(rule, metrics=metrics, strata=strata)
            algorithms.append(replace(algorithm, rules=rules))
        return replace(self, algorithms=tuple(algorithms))

    def with_comparison(self, found: "ComparisonDocument") -> "Document":
        """The document with a comparison; an older one against the same baseline is replaced."""
        others = [
            comparison for comparison in self.comparisons if comparison.baseline != found.baseline
        ]
        return replace(self, comparisons=(*others, found))

    def to_json(self) -> JsonObject:
        """The document with nothing but JSON's own types in it.

        What is undefined is ``{"value": null, "reason": ...}``; a rule that could not be applied is
        ``{"undefined": reason}``. Keys have a fixed order, so equal documents give equal files.
        """
        shown = record(self)
        if self.plan is None:
            del shown["plan"]
        return shown


def evaluation_document(evaluation: Evaluation) -> Document:
    """What evaluation.json holds of an evaluation."""
    reference = dict(evaluation.reference)
    diameters = reference.pop("diameters", None)
    return Document(
        version=evaluation.version,
        digests=evaluation.digests,
        protocol=evaluation.protocol,
        plan=None if evaluation.plan is None else plan_summary(evaluation.plan),
        reference=ReferenceSummary(
            **reference, diameters=None if diameters is None else DiameterHistogram(**diameters)
        ),
        notices=evaluation.notices,
        algorithms=tuple(
            AlgorithmSummary(
                name=algorithm.name,
                digest=algorithm.digest,
                facts=as_json({k: fact for k, fact in algorithm.facts.items() if fact is not None}),
                notices=algorithm.notices,
                rules={
                    name: RuleSummary(undefined=rule.undefined)
                    if rule.undefined
                    else RuleSummary(
                        parameters=as_json(rule.parameters),
                        counts=rule.counts,
                        metrics=rule.metrics,
                        strata=rule.strata,
                        extras=as_json(rule.extras),
                        notices=rule.notices,
                        remarks=rule.remarks,
                        operating_point=rule.operating_point,
                    )
                    for name, rule in algorithm.rules.items()
                },
                rule_differences=tuple(
                    RuleDifference(**difference) for difference in algorithm.rule_differences
                ),
            )
            for algorithm in evaluation.algorithms
        ),
    )


def plan_summary(outcome: "PlanOutcome") -> PlanSummary:
    """What evaluation.json holds of what came of a plan."""
    plan = outcome.plan
    return PlanSummary(
        digest=plan.digest,
        name=plan.name,
        author=plan.author,
        laboratory=plan.laboratory,
        frozen_at=plan.model_dump(mode="json")["frozen_at"],
        matches=not outcome.differences,
        differences=outcome.differences,
        criteria=outcome.criteria,
        verdict=outcome.verdict,
        verdicts=outcome.verdicts,
    )


COUNTED = ("cases", "nodules", "hit", "missed", "marks", "false_positive")
"""What the counts of every rule that was applied hold."""


def read_evaluation(content: Any, source: str) -> Document:
    """The document that JSON values describe.

    Raises:
        InputError: with one problem per wrong field.
    """
    from nodulebench.core.config_model import checked
    from nodulebench.core.documents.comparison import MOST_RESAMPLES

    document = checked(Document, content, source, document_reader())
    bootstraps = document.protocol.interval.bootstraps
    if bootstraps > MOST_RESAMPLES:
        where = f"{source} field 'protocol.interval.bootstraps'"
        least = f"Input should be less than or equal to {MOST_RESAMPLES}, got {bootstraps}."
        raise InputError.at(where, least)
    raise_problems(_lacking_counts(document, source))
    return document


def _lacking_counts(document: Document, source: str) -> Iterator[Problem]:
    """Where a rule was applied and does not say what everybody counts on."""
    for place, algorithm in enumerate(document.algorithms):
        for rule, result in algorithm.rules.items():
            lacking = [name for name in COUNTED if name not in result.counts]
            if lacking and result.undefined is None:
                yield Problem(
                    f"{source} field 'algorithms.{place}.rules.{rule}.counts'",
                    f"lacks {', '.join(lacking)}.",
                    "Give what 'nodulebench evaluate --out' wrote.",
                )


@cache
def document_reader() -> TypeAdapter[Document]:
    """What reads a document from JSON values, and knows its JSON Schema.

    An evaluation needs no comparison, so that its records are loaded here.
    """
    from nodulebench.core.documents.comparison import ComparisonDocument  # noqa: F401  # of a field above

    return TypeAdapter(Document)


def readings(document: Document) -> Iterator[JsonObject]:
    """Every metric of the whole cohort under every rule, in the order of the protocol."""
    for _, rule, result in document.results:
        for metric, estimates in result.metrics.items():
            points = {"": estimates} if isinstance(estimates, Estimate) else estimates
            for point, estimate in points.items():
                yield reading(rule, metric, point, estimate.value, estimate.low, estimate.high)


def reading(
    rule: str, metric: str, point: str, value: float | None, low: float | None, high: float | None
) -> JsonObject:
    """One metric under one rule, at a point where it is read at several."""
    named = {"rule": rule, "metric": metric, "point": point}
    return {**named, "value": value, "low": low, "high": high}
