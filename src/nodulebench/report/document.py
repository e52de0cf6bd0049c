"""Evaluation -> the dictionary that evaluation.json holds, ready for strict JSON."""

import math
from typing import Any

import numpy as np
import polars as pl

from nodulebench.model.results import AlgorithmResult, Estimate, Evaluation, RuleResult, Stratum

SCHEMA = "nodulebench/evaluation@1"


def evaluation_document(evaluation: Evaluation) -> dict[str, Any]:
    """Everything that an evaluation found, with nothing but JSON's own types in it.

    What is undefined is ``{"value": null, "reason": ...}``; a rule that could not be applied is
    ``{"undefined": reason}``. Keys stand in a fixed order, so equal evaluations give equal files.
    """
    document: dict[str, Any] = plain(
        {
            "schema": SCHEMA,
            "version": evaluation.version,
            "digests": evaluation.digests,
            "protocol": evaluation.protocol.model_dump(mode="python"),
            **({} if evaluation.plan is None else {"plan": evaluation.plan.to_json()}),
            "reference": evaluation.reference,
            "notices": evaluation.notices,
            "algorithms": [_algorithm(one) for one in evaluation.algorithms],
            "comparisons": [],
        }
    )
    return document


def _algorithm(result: AlgorithmResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "digest": result.digest,
        "facts": {name: fact for name, fact in result.facts.items() if fact is not None},
        "notices": result.notices,
        "rules": {name: _rule(one) for name, one in result.rules.items()},
        "rule_differences": result.rule_differences,
    }


def _rule(result: RuleResult) -> dict[str, Any]:
    if result.undefined:
        return {"undefined": result.undefined}
    return {
        "parameters": result.parameters,
        "counts": result.counts,
        "figures": result.figures,
        "strata": result.strata,
        "extras": result.extras,
        "notices": result.notices,
        "remarks": result.remarks,
    }


def plain(value: Any) -> Any:
    """A value as JSON knows it: results as dictionaries, tables as rows, arrays as lists.

    JSON has no infinity and no NaN: they become ``"inf"``, ``"-inf"`` and null.

    Raises:
        TypeError: for a kind of value that has no place in a document.
    """
    match value:
        case None | bool() | str():
            return value
        case Estimate() | Stratum():
            return plain(value.to_json())
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case pl.DataFrame():
            return [plain(row) for row in value.iter_rows(named=True)]
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case int():
            return value
        case float():
            return _number(value)
    raise TypeError(f"a {type(value).__name__} has no place in evaluation.json")


def _number(value: float) -> float | str | None:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return None
    return "inf" if value > 0 else "-inf"
