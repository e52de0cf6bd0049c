"""Labelled cohorts of several algorithms -> which nodules each finds that the baseline does not."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from nodulebench.core.arrays import BoolArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.comparison import MissedByOne, MissedNodule
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.protocol import TestProtocol
from nodulebench.evaluation.estimates import units_of
from nodulebench.statistics.mcnemar import (
    DetectionComparison,
    PairedHits,
    compare_detection,
    paired_hits,
)
from nodulebench.statistics.multiplicity import ADJUSTMENTS

ADJUSTED_BY = ("holm", "bonferroni", "benjamini_hochberg")
"""How P values of one metric are adjusted over all algorithms and rules."""

Cohorts = Mapping[str, Mapping[str, LabelledCohort]]
"""The cohort of each rule (first key) and algorithm (second key)."""


@dataclass(frozen=True, slots=True)
class DetectionDifference:
    """Nodules that an algorithm and the baseline find, under one rule."""

    rule: str
    algorithm: str
    both: int
    """Nodules that both find, of those that both had to find."""
    algorithm_only: int
    baseline_only: int
    neither: int
    tests: DetectionComparison | None = None
    """None: both find the same nodules."""
    adjusted: dict[str, float] = field(default_factory=dict)
    """Obuchowski's P value adjusted over all algorithms and rules, by method."""
    reason: Notice | None = None
    missed_by_one: MissedByOne = field(default_factory=lambda: MissedByOne((), ()))
    """Nodules that only one of the two finds."""


def compare_nodules(
    cohorts: Cohorts, protocol: TestProtocol, baseline: str
) -> Iterator[DetectionDifference]:
    """McNemar's tests on the nodules, if a nodule is found by only one of the two algorithms."""
    differences: list[DetectionDifference] = []
    for rule, of_rule in cohorts.items():
        for algorithm, cohort in of_rule.items():
            if algorithm == baseline or baseline not in of_rule:
                continue
            hits = paired_hits(cohort, of_rule[baseline], units_of(cohort, protocol.interval))
            difference = DetectionDifference(
                rule,
                algorithm,
                both=_count(hits.first & hits.second),
                algorithm_only=_count(hits.first & ~hits.second),
                baseline_only=_count(~hits.first & hits.second),
                neither=_count(~hits.first & ~hits.second),
                missed_by_one=_missed_by_one(cohort, of_rule[baseline], hits),
            )
            try:
                tests = compare_detection(hits, level=protocol.interval.level)
            except UndefinedError as error:
                differences.append(replace(difference, reason=reason_of(error)))
            else:
                differences.append(replace(difference, tests=tests))
    p_values = [
        difference.tests.obuchowski.p_value
        for difference in differences
        if difference.tests is not None
    ]
    adjusted = iter(adjusted_p_values(p_values))
    for difference in differences:
        yield (
            difference if difference.tests is None else replace(difference, adjusted=next(adjusted))
        )


def _missed_by_one(
    cohort: LabelledCohort, baseline: LabelledCohort, hits: PairedHits
) -> MissedByOne:
    rows = np.intersect1d(cohort.nodule_row, baseline.nodule_row, assume_unique=True)

    def named(is_missed: BoolArray) -> tuple[MissedNodule, ...]:
        nodules = cohort.reference.nodules[rows[is_missed]]
        nodules = nodules.select("case_id", "nodule_id", "diameter_mm")
        largest = nodules.sort("diameter_mm", descending=True, nulls_last=True, maintain_order=True)
        return tuple(MissedNodule(*row) for row in largest.iter_rows())

    return MissedByOne(named(~hits.first & hits.second), named(hits.first & ~hits.second))


def _count(is_counted: BoolArray) -> int:
    return int(np.count_nonzero(is_counted))


def adjusted_p_values(p_values: list[float]) -> list[dict[str, float]]:
    by_method = {name: ADJUSTMENTS[name](p_values).tolist() for name in ADJUSTED_BY}
    return [
        {name: values[place] for name, values in by_method.items()}
        for place in range(len(p_values))
    ]
