"""Evaluation on a sealed set -> what its developer is told at the level of the policy."""

from dataclasses import replace
from typing import Any

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import Extras, RuleSummary
from nodulebench.core.results import Evaluation, RuleResult
from nodulebench.custody.policy import Reuse
from nodulebench.evaluation.divisions import divide
from nodulebench.report.developer_copy import crossed_name, developers_document
from nodulebench.report.sections.groups import CROSSED
from nodulebench.report.suppression import Divisions, hidden_strata

DECIMALS = 3
"""Of the figures that a developer is told."""


def told_evaluation(
    document: Document, evaluation: Evaluation, reuse: Reuse
) -> dict[str, Any] | None:
    """What is told of a whole evaluation: nothing, its aggregates, or all of it."""
    if reuse.feedback == "cases":
        return document.to_json()
    if reuse.feedback != "figures":
        return None
    fewest = max(reuse.minimum_stratum, evaluation.protocol.minimum_stratum)
    hidden = {
        rule: hidden_strata(_members(result, evaluation), fewest)
        for rule, result in evaluation.algorithms[0].rules.items()
    }
    told = _without_tables(developers_document(document, fewest, hidden)).to_json()
    for algorithm in told["algorithms"]:
        for result in algorithm["rules"].values():
            found = {part: result[part] for part in ("figures", "strata") if part in result}
            result |= as_printed(found)
    if "plan" in told:
        told["plan"]["criteria"] = [
            {name: one if name == "limit" else as_printed(one) for name, one in criterion.items()}
            for criterion in told["plan"]["criteria"]
        ]
    return told


def as_printed(value: Any) -> Any:
    """Figures to as many decimals as reports print.

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
            rules={name: _without_others(one) for name, one in algorithm.rules.items()},
        )
        for algorithm in document.algorithms
    )
    return replace(document, algorithms=algorithms)


def _without_others(result: RuleSummary) -> RuleSummary:
    crossed = result.extras.get("misses_by_type_and_size")
    extras = Extras() if crossed is None else Extras(misses_by_type_and_size=crossed)
    return replace(result, extras=extras)
