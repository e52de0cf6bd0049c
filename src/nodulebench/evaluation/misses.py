"""Labelled cohorts -> which nodules were missed, and the false positives with the best scores."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.error_tables import FALSE_POSITIVES, MISSES, MOST_FALSE_POSITIVES
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.tables import PLACE
from nodulebench.matching.pairs import nearest_in_case
from nodulebench.metrics.score_order import score_order

Cohorts = Mapping[str, Mapping[str, LabelledCohort]]
"""The cohort of each rule (first key) and algorithm (second key), at the operating point."""


def miss_table(cohorts: Cohorts, protocol: TestProtocol) -> pl.DataFrame:
    """MISSES of every algorithm under every rule, in the order of the reference."""
    parts = [
        _misses(name, rule, of_rule, protocol)
        for rule, of_rule in cohorts.items()
        for name in of_rule
    ]
    return pl.concat([MISSES.empty(), *parts])


def false_positive_table(cohorts: Cohorts) -> pl.DataFrame:
    """FALSE_POSITIVES of every algorithm under every rule, the best scores first."""
    parts = [
        _falses(name, rule, cohort)
        for rule, of_rule in cohorts.items()
        for name, cohort in of_rule.items()
    ]
    return pl.concat([FALSE_POSITIVES.empty(), *parts])


def _misses(
    name: str, rule: str, of_rule: Mapping[str, LabelledCohort], protocol: TestProtocol
) -> pl.DataFrame:
    cohort = of_rule[name]
    rates = np.asarray(protocol.operating_points)
    score, falses = found_from(cohort)
    is_missed_at = ~(falses[:, np.newaxis] <= rates)
    if not cohort.has_scores:
        is_missed_at[:] = False
    listed = np.flatnonzero(~cohort.is_hit | is_missed_at.any(axis=1))
    marks = cohort.submission.marks
    nodules = cohort.reference.nodules[cohort.nodule_row[listed]]
    nearest, distance = nearest_in_case(
        cohort.nodule_case[listed],
        _places(nodules),
        cohort.submission.rows_in(cohort.reference),
        _places(marks),
    )
    others = [(other, one) for other, one in of_rule.items() if other != name]
    row = cohort.nodule_row[listed]
    return MISSES.arrange(
        nodules.select("case_id", "nodule_id", *PLACE, "diameter_mm", "type").with_columns(
            pl.lit(name).alias("algorithm"),
            pl.lit(rule).alias("rule"),
            pl.Series("is_missed", ~cohort.is_hit[listed]),
            pl.Series("missed_at", _rates(is_missed_at[listed], rates), pl.String),
            pl.Series("found_from_score", score[listed]).fill_nan(None),
            pl.Series("found_from_fp", falses[listed]).fill_nan(None),
            marks["mark_id"].gather(nearest).alias("nearest_mark"),
            pl.Series("nearest_mark_mm", distance).fill_nan(None),
            marks["score"].gather(nearest).alias("nearest_mark_score"),
            pl.Series("also_missed_by", _named(others, row, is_hit=False), pl.String),
            pl.Series("found_by", _named(others, row, is_hit=True), pl.String),
        )
    )


def found_from(cohort: LabelledCohort) -> FloatArray:
    """For each nodule the score threshold from which down it is hit, and the FP per case there.

    Two rows; NaN where it never is, or marks have no scores.
    """
    every = cohort.at_every_score
    if not every.has_scores or not every.nodule_count:
        return np.full((2, every.nodule_count), np.nan)
    order = score_order(every)
    score = np.where(every.is_hit, every.hit_score, np.nan)
    above = order.falses_through[np.searchsorted(-order.threshold, -score) % len(order.threshold)]
    return np.stack([score, np.where(every.is_hit, above / every.case_count, np.nan)])


def _rates(is_missed_at: BoolArray, rates: FloatArray) -> list[str | None]:
    """For each nodule the rates at which it is missed, as in ``0.125 0.25``."""
    shown = [f"{rate:g}" for rate in rates]
    kinds, kind = np.unique(is_missed_at, axis=0, return_inverse=True)
    texts = [" ".join(np.compress(one, shown)) or None for one in kinds]
    return [texts[place] for place in kind.ravel()]


def _named(
    others: list[tuple[str, LabelledCohort]], row: IntArray, *, is_hit: bool
) -> list[str | None]:
    """For each nodule the other algorithms that had to find it and did, or did not."""
    told = []
    for name, cohort in others:
        state = np.full(cohort.reference.nodules.height, -1)
        state[cohort.nodule_row] = cohort.is_hit
        told.append(np.where(state[row] == int(is_hit), name, ""))
    return ["; ".join(filter(None, names)) or None for names in zip(*told, strict=True)] or (
        [None] * len(row)
    )


def _falses(name: str, rule: str, cohort: LabelledCohort) -> pl.DataFrame:
    order = _best(cohort.false_score, MOST_FALSE_POSITIVES)
    marks = cohort.submission.marks[cohort.false_mark[order]]
    nodules = cohort.reference.nodules
    nearest, distance = nearest_in_case(
        cohort.false_case[order], _places(marks), cohort.reference.nodule_case, _places(nodules)
    )
    return FALSE_POSITIVES.arrange(
        marks.select("case_id", "mark_id", *PLACE, "score", "diameter_mm", "type").with_columns(
            pl.lit(name).alias("algorithm"),
            pl.lit(rule).alias("rule"),
            pl.int_range(1, pl.len() + 1).alias("rank"),
            nodules["nodule_id"].gather(nearest).alias("nearest_nodule"),
            pl.Series("nearest_nodule_mm", distance).fill_nan(None),
            nodules["diameter_mm"].gather(nearest).alias("nearest_nodule_diameter_mm"),
            nodules["is_ignored"].gather(nearest).alias("nearest_is_ignored"),
        )
    )


def _best(score: FloatArray, most: int) -> IntArray:
    """Where the best scores stand, best first; of equal ones the first."""
    place = np.arange(len(score))
    if len(score) > most:
        place = np.flatnonzero(score >= np.partition(score, len(score) - most)[-most])
    return place[np.argsort(-score[place], kind="stable")][:most]


def _places(table: pl.DataFrame) -> FloatArray:
    return table.select(PLACE).to_numpy()
