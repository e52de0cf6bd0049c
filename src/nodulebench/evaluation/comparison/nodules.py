"""Labelled cohorts of several algorithms -> which nodules each finds that the baseline does not."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from nodulebench.core.arrays import BoolArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.comparison import (
    DetectionSummary,
    MissedByOne,
    MissedNodule,
    NodulesFound,
)
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import reason_of
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import Estimate
from nodulebench.evaluation.estimates import units_of
from nodulebench.statistics.mcnemar import PairedHits, compare_detection, paired_hits
from nodulebench.statistics.multiplicity import ADJUSTMENTS

ADJUSTED_BY = ("holm", "bonferroni", "benjamini_hochberg")
"""How P values of one metric are adjusted over all algorithms and rules."""

Cohorts = Mapping[str, Mapping[str, LabelledCohort]]
"""The cohort of each rule (first key) and algorithm (second key)."""


TESTS = ("exact", "durkalski", "obuchowski", "eliasziw_donner")
"""The forms of McNemar's test that are reported."""


def compare_nodules(
    cohorts: Cohorts, protocol: TestProtocol, baseline: str
) -> Iterator[DetectionSummary]:
    """McNemar's tests on the nodules, if a nodule is found by only one of the two algorithms."""
    differences: list[DetectionSummary] = []
    for rule, of_rule in cohorts.items():
        for algorithm, cohort in of_rule.items():
            if algorithm == baseline or baseline not in of_rule:
                continue
            hits = paired_hits(cohort, of_rule[baseline], units_of(cohort, protocol.interval))
            kinds = (
                hits.first & hits.second,
                hits.first & ~hits.second,
                ~hits.first & hits.second,
                ~hits.first & ~hits.second,
            )
            found = NodulesFound(*(int(np.count_nonzero(is_counted)) for is_counted in kinds))
            try:
                tests = compare_detection(hits, level=protocol.interval.level)
            except UndefinedError as error:
                undefined = Estimate(None, reason=reason_of(error))
                differences.append(DetectionSummary(rule, algorithm, found, undefined))
                continue
            differences.append(
                DetectionSummary(
                    rule,
                    algorithm,
                    found,
                    tests.difference,
                    tests={name: getattr(tests, name) for name in TESTS},
                    missed_by_one=_missed_by_one(cohort, of_rule[baseline], hits),
                )
            )
    family = [
        difference.tests["obuchowski"].p_value for difference in differences if difference.tests
    ]
    adjusted = iter(adjusted_p_values(family))
    for difference in differences:
        yield (
            replace(difference, adjusted_p_value=next(adjusted)) if difference.tests else difference
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


def adjusted_p_values(p_values: list[float]) -> list[dict[str, float]]:
    by_method = {name: ADJUSTMENTS[name](p_values).tolist() for name in ADJUSTED_BY}
    return [
        {name: values[place] for name, values in by_method.items()}
        for place in range(len(p_values))
    ]
