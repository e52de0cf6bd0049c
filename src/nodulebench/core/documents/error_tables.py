"""MISSES and FALSE_POSITIVES: the errors of a result one by one, as tables."""

import polars as pl

from nodulebench.core.schema import Column, TableSchema, optional
from nodulebench.core.tables import IN_CASE, POSITION

MOST_FALSE_POSITIVES = 500
"""Of each algorithm under each rule, those with the best scores."""

_OWNER = (
    Column("algorithm", pl.String, "name of the algorithm"),
    Column("rule", pl.String, "name of the rule"),
)
MISSES = TableSchema(
    "MISSES",
    "One row per nodule that is missed at the operating point or at any rate of the protocol.",
    (
        *_OWNER,
        IN_CASE,
        Column("nodule_id", pl.String, "the nodule"),
        *POSITION,
        optional("diameter_mm", pl.Float64, "its diameter", "mm"),
        optional("type", pl.String, "its type"),
        Column("is_missed", pl.Boolean, "missed at the operating point of the result"),
        optional(
            "missed_at", pl.String, "rates of the protocol, FP per case, at which it is missed"
        ),
        optional("found_from_score", pl.Float64, "score threshold that finds it; empty: none does"),
        optional("found_from_fp", pl.Float64, "false positives per case at that threshold"),
        optional("nearest_mark", pl.String, "the mark nearest to its centre, at any score"),
        optional("nearest_mark_mm", pl.Float64, "distance of that mark", "mm"),
        optional("nearest_mark_score", pl.Float64, "score of that mark"),
        optional("also_missed_by", pl.String, "other algorithms that miss it there"),
        optional("found_by", pl.String, "other algorithms that find it there"),
    ),
    key=("algorithm", "rule", "case_id", "nodule_id"),
)
FALSE_POSITIVES = TableSchema(
    "FALSE_POSITIVES",
    "One row per false positive at the operating point, the best scores first.",
    (
        *_OWNER,
        Column("rank", pl.Int64, "1: the highest score"),
        IN_CASE,
        Column("mark_id", pl.String, "the mark"),
        *POSITION,
        optional("score", pl.Float64, "its score"),
        optional("diameter_mm", pl.Float64, "diameter stated by the algorithm", "mm"),
        optional("type", pl.String, "type stated by the algorithm"),
        optional("nearest_nodule", pl.String, "the finding of the reference nearest to it"),
        optional("nearest_nodule_mm", pl.Float64, "distance of that finding's centre", "mm"),
        optional("nearest_nodule_diameter_mm", pl.Float64, "diameter of that finding", "mm"),
        optional("nearest_is_ignored", pl.Boolean, "whether marks on that finding do not count"),
    ),
    key=("algorithm", "rule", "case_id", "mark_id"),
)
