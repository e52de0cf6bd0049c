"""Labelled cohort -> where errors lie: misses by type and size, the worst cases; sizes of a set."""

from typing import Any

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.tables import Reference
from nodulebench.evaluation.divisions import divide
from nodulebench.metrics.metric import sum_by_case

WORST_CASES = 10
MOST_BINS = 40
LEAST_FITTED = 20
"""Below so many nodules beyond the peak no curve is fitted to their sizes."""


def error_analysis(cohort: LabelledCohort, protocol: TestProtocol) -> dict[str, Any]:
    """What belongs to a rule's result about its errors."""
    crossed = misses_by_type_and_size(cohort, protocol)
    return {
        **({"misses_by_type_and_size": crossed} if crossed else {}),
        "worst_cases": worst_cases(cohort),
    }


def misses_by_type_and_size(cohort: LabelledCohort, protocol: TestProtocol) -> list[dict[str, Any]]:
    """Nodules and misses for each type and size, where the protocol asks for both."""
    if not {"type", "size"} <= set(protocol.strata):
        return []
    types, sizes = divide(cohort, "type", protocol), divide(cohort, "size", protocol)
    if types is None or sizes is None:
        return []
    is_known = (types.of_nodule >= 0) & (sizes.of_nodule >= 0)
    cell = types.of_nodule * len(sizes.names) + sizes.of_nodule
    count = len(types.names) * len(sizes.names)
    nodules = np.bincount(cell[is_known], minlength=count).tolist()
    missed = np.bincount(cell[is_known & ~cohort.is_hit], minlength=count).tolist()
    return [
        {"type": kind, "size": size, "nodules": nodules[place], "missed": missed[place]}
        for place, (kind, size) in enumerate(
            (kind, size) for kind in types.names for size in sizes.names
        )
    ]


def worst_cases(cohort: LabelledCohort) -> dict[str, list[dict[str, Any]]]:
    """The cases with most misses and those with most false positives, the worst first."""
    nodules = sum_by_case(cohort, cohort.nodule_case).astype(np.int64)
    missed = sum_by_case(cohort, cohort.nodule_case[~cohort.is_hit]).astype(np.int64)
    falses = sum_by_case(cohort, cohort.false_case).astype(np.int64)
    names = cohort.reference.cases["case_id"]

    def rows(first: IntArray, then: IntArray) -> list[dict[str, Any]]:
        order = np.lexsort((-then, -first))[:WORST_CASES].tolist()
        return [
            {
                "case_id": names[case],
                "nodules": int(nodules[case]),
                "missed": int(missed[case]),
                "false_positive": int(falses[case]),
            }
            for case in order
            if first[case]
        ]

    return {"missed": rows(missed, falses), "false_positive": rows(falses, missed)}


def diameter_histogram(reference: Reference) -> dict[str, Any] | None:
    """How many nodules there are of each size; None where no diameter is known.

    Beyond the peak sizes fall off about exponentially. That curve, fitted to the nodules above the
    peak and continued below it, says how many small nodules there would be if all were seen
    (Fotin 2008, figure 1).
    """
    table = reference.nodules
    size = table["diameter_mm"].to_numpy()[~table["is_ignored"].to_numpy()]
    size = size[size > 0]
    if not len(size):
        return None
    width = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000) if size.max() < step * MOST_BINS)
    bins = int(size.max() // width) + 1
    edges = width * np.arange(bins + 1, dtype=np.float64)
    counts = np.histogram(size, edges)[0]
    peak = int(np.argmax(counts))
    return {
        "from_mm": 0.0,
        "width_mm": float(width),
        "counts": counts.tolist(),
        "peak_mm": float(edges[peak + 1]),
        "expected": _expected(size, edges, float(edges[peak + 1])).tolist(),
    }


def _expected(size: FloatArray, edges: FloatArray, start: float) -> FloatArray:
    """Expected counts by the exponential fitted (maximum likelihood) to sizes above ``start``."""
    excess = size[size >= start] - start
    if len(excess) < LEAST_FITTED:
        return np.empty(0)
    survival = np.exp(-(edges - start) / excess.mean())
    expected: FloatArray = len(excess) * (survival[:-1] - survival[1:])
    return expected
