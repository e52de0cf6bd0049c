"""Labelled cohort -> its errors: misses by type and size, the worst cases; sizes of a set."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from nodulebench.core.arrays import IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.error_tables import FALSE_POSITIVES, MISSES, MOST_FALSE_POSITIVES
from nodulebench.core.json_types import JsonObject
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.tables import PLACE, Reference
from nodulebench.evaluation.strata import divide
from nodulebench.matching.pairs import nearest_in_case
from nodulebench.metrics.metric import sum_by_case
from nodulebench.metrics.score_order import score_order

WORST_CASES = 10
MOST_BINS = 40
LEAST_FITTED = 20
"""With fewer nodules above the peak no curve is fitted to their sizes."""


def error_analysis(cohort: LabelledCohort, protocol: TestProtocol) -> JsonObject:
    """Misses by type and size, if the protocol asks for both, and the worst cases."""
    has_both = {"type", "size"} <= set(protocol.strata)
    crossed = misses_by_type_and_size(cohort, protocol) if has_both else []
    cases = (cohort.nodule_case, cohort.nodule_case[~cohort.is_hit], cohort.false_case)
    nodules, missed, falses = (sum_by_case(cohort, case).astype(np.int64) for case in cases)
    names = cohort.reference.cases["case_id"]
    worst: dict[str, list[JsonObject]] = {}
    for kind, first, then in (("missed", missed, falses), ("false_positive", falses, missed)):
        order = np.lexsort((-then, -first))[:WORST_CASES].tolist()
        worst[kind] = [
            {
                "case_id": names[case],
                "nodules": int(nodules[case]),
                "missed": int(missed[case]),
                "false_positive": int(falses[case]),
            }
            for case in order
            if first[case]
        ]
    return {**({"misses_by_type_and_size": crossed} if crossed else {}), "worst_cases": worst}


def misses_by_type_and_size(cohort: LabelledCohort, protocol: TestProtocol) -> list[JsonObject]:
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


def diameter_histogram(reference: Reference) -> JsonObject | None:
    """The number of nodules of each size; None if no diameter is known.

    Above the peak the counts fall about exponentially. That curve, fitted to the nodules above the
    peak and extended below it, estimates how many small nodules there would be if all were seen
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
    peak = float(edges[int(np.argmax(counts)) + 1])
    excess = size[size >= peak] - peak
    expected: list[float] = []
    if len(excess) >= LEAST_FITTED:  # the exponential of maximum likelihood
        survival = np.exp(-(edges - peak) / excess.mean())
        expected = (len(excess) * (survival[:-1] - survival[1:])).tolist()
    return {
        "from_mm": 0.0,
        "width_mm": float(width),
        "counts": counts.tolist(),
        "peak_mm": peak,
        "expected": expected,
    }


Cohorts = Mapping[str, Mapping[str, LabelledCohort]]
"""The cohort of each rule (first key) and algorithm (second key), at the operating point."""


def miss_table(cohorts: Cohorts, protocol: TestProtocol) -> pl.DataFrame:
    """MISSES of every algorithm under every rule, in the order of the reference."""
    rates = np.asarray(protocol.operating_points)
    shown_rates = [f"{rate:g}" for rate in rates]
    parts = [MISSES.empty()]
    for rule, of_rule in cohorts.items():
        for name, cohort in of_rule.items():
            # the highest threshold at which each nodule is hit, and the FP per case there; NaN if
            # it is never hit, or marks have no scores
            every = cohort.at_every_score
            score, falses = np.full((2, every.nodule_count), np.nan)
            if every.has_scores and every.nodule_count:
                order = score_order(every)
                score = np.where(every.is_hit, every.hit_score, np.nan)
                group = np.searchsorted(-order.threshold, -score) % len(order.threshold)
                above = order.falses_through[group] / every.case_count
                falses = np.where(every.is_hit, above, np.nan)
            is_missed_at = ~(falses[:, np.newaxis] <= rates)
            if not cohort.has_scores:
                is_missed_at[:] = False
            listed = np.flatnonzero(~cohort.is_hit | is_missed_at.any(axis=1))
            row, marks = cohort.nodule_row[listed], cohort.submission.marks
            nodules = cohort.reference.nodules[row]
            nearest, distance = nearest_in_case(
                cohort.nodule_case[listed],
                nodules.select(PLACE).to_numpy(),
                cohort.submission.rows_in(cohort.reference),
                marks.select(PLACE).to_numpy(),
            )
            columns = ("case_id", "nodule_id", *PLACE, "diameter_mm", "type")
            kinds, kind = np.unique(is_missed_at[listed], axis=0, return_inverse=True)
            texts = [" ".join(np.compress(is_missed, shown_rates)) or None for is_missed in kinds]
            missed_at = [texts[place] for place in kind.ravel()]
            missed_by, found_by = _other_algorithms(of_rule, name, row)
            misses = nodules.select(columns).with_columns(
                pl.lit(name).alias("algorithm"),
                pl.lit(rule).alias("rule"),
                pl.Series("is_missed", ~cohort.is_hit[listed]),
                pl.Series("missed_at", missed_at, pl.String),
                pl.Series("found_from_score", score[listed]).fill_nan(None),
                pl.Series("found_from_fp", falses[listed]).fill_nan(None),
                marks["mark_id"].gather(nearest).alias("nearest_mark"),
                pl.Series("nearest_mark_mm", distance).fill_nan(None),
                marks["score"].gather(nearest).alias("nearest_mark_score"),
                pl.Series("also_missed_by", missed_by, pl.String),
                pl.Series("found_by", found_by, pl.String),
            )
            parts.append(MISSES.arrange(misses))
    return pl.concat(parts)


def _other_algorithms(
    of_rule: Mapping[str, LabelledCohort], name: str, row: IntArray
) -> tuple[list[str | None], list[str | None]]:
    """For each nodule the other algorithms that had to find it and did not, and those that did."""
    missed_by: list[list[str]] = [[] for _ in row]
    found_by: list[list[str]] = [[] for _ in row]
    for other, cohort in of_rule.items():
        if other != name:
            state = np.full(cohort.reference.nodules.height, -1)
            state[cohort.nodule_row] = cohort.is_hit
            for number, is_hit in enumerate(state[row].tolist()):
                if is_hit >= 0:
                    (found_by if is_hit else missed_by)[number].append(other)
    return (
        ["; ".join(names) or None for names in missed_by],
        ["; ".join(names) or None for names in found_by],
    )


def false_positive_table(cohorts: Cohorts) -> pl.DataFrame:
    """FALSE_POSITIVES of every algorithm under every rule, the best scores first."""
    parts = [FALSE_POSITIVES.empty()]
    for rule, of_rule in cohorts.items():
        for name, cohort in of_rule.items():
            score = cohort.false_score
            index = np.arange(len(score))
            if len(score) > MOST_FALSE_POSITIVES:  # sorting all of them would take long
                last = len(score) - MOST_FALSE_POSITIVES
                index = np.flatnonzero(score >= np.partition(score, last)[last])
            best = index[np.argsort(-score[index], kind="stable")][:MOST_FALSE_POSITIVES]
            marks = cohort.submission.marks[cohort.false_mark[best]]
            nodules = cohort.reference.nodules
            nearest, distance = nearest_in_case(
                cohort.false_case[best],
                marks.select(PLACE).to_numpy(),
                cohort.reference.nodule_case,
                nodules.select(PLACE).to_numpy(),
            )
            columns = ("case_id", "mark_id", *PLACE, "score", "diameter_mm", "type")
            falses = marks.select(columns).with_columns(
                pl.lit(name).alias("algorithm"),
                pl.lit(rule).alias("rule"),
                pl.int_range(1, pl.len() + 1).alias("rank"),
                nodules["nodule_id"].gather(nearest).alias("nearest_nodule"),
                pl.Series("nearest_nodule_mm", distance).fill_nan(None),
                nodules["diameter_mm"].gather(nearest).alias("nearest_nodule_diameter_mm"),
                nodules["is_ignored"].gather(nearest).alias("nearest_is_ignored"),
            )
            parts.append(FALSE_POSITIVES.arrange(falses))
    return pl.concat(parts)
