"""An evaluation as a flat list: each figure under each rule, at each point, with its interval."""

from collections.abc import Iterator
from typing import Any

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.results import Estimate


def readings(document: Document) -> Iterator[dict[str, Any]]:
    """Every figure of the whole cohort under every rule, in the order of the protocol."""
    for _, rule, result in document.results:
        for figure, found in result.figures.items():
            points = {"": found} if isinstance(found, Estimate) else found
            for point, one in points.items():
                yield reading(rule, figure, point, one.value, one.low, one.high)


def reading(
    rule: str, figure: str, point: str, value: float | None, low: float | None, high: float | None
) -> dict[str, Any]:
    """One figure under one rule, at a point where it is read at several."""
    named = {"rule": rule, "figure": figure, "point": point}
    return {**named, "value": value, "low": low, "high": high}
