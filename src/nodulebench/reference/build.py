"""Readings + rule -> Reference: NODULES with agreement, types and provenance, and their slices."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from nodulebench.core.config_model import checked_parameters
from nodulebench.core.readings import CHARACTERISTICS, Readings
from nodulebench.core.tables import NODULES, Reference
from nodulebench.reference.decision import (
    Verdict,
    density_of_type,
    lidc_type,
    most_frequent,
    nodule_slices,
)
from nodulebench.reference.panel import Panel, measure_findings
from nodulebench.reference.rules import RULES


def build_reference(
    readings: Readings | Panel,
    rule: str = "luna16",
    parameters: Mapping[str, object] | None = None,
    *,
    has_slices: bool = True,
) -> Reference:
    """Build the reference standard from readings by a rule.

    Long and short axis of a nodule are those on its largest slice, where slices are made.
    NODULES gets additional columns: ``findings`` (ids of the merged findings),
    ``finding_count``, ``kind``, ``size_definition``, and the mean of each LIDC characteristic.

    Args:
        readings: what the readers drew, or the same as a measured panel.
        rule: the name of a reference rule.
        parameters: those of its parameters that differ from their defaults; text is converted.
        has_slices: whether boxes and outlines are built too; mark rules by distance need none.

    Raises:
        InputError: if a parameter is unknown or not valid, or the readings cannot be used.
    """
    decide = RULES[rule]
    chosen = checked_parameters(decide, parameters or {}, f"reference rule '{rule}'")
    panel = measure_findings(readings) if isinstance(readings, Readings) else readings
    verdicts = decide(panel, **chosen)
    counts: Counter[tuple[int, bool]] = Counter()
    names = []  # nodule-1, nodule-2, ... and ignored-1, ... within each case
    for verdict in verdicts:
        key = (int(panel.case[verdict.members[0]]), verdict.is_ignored)
        counts[key] += 1
        names.append(f"{'ignored' if verdict.is_ignored else 'nodule'}-{counts[key]}")
    nodules, slices = _nodules(panel, verdicts, names), None
    if has_slices:
        slices, axes = nodule_slices(panel, verdicts, names)
        keys, unmeasured = ["case_id", "nodule_id"], nodules.drop("long_mm", "short_mm")
        nodules = NODULES.arrange(unmeasured.join(axes, on=keys, how="left", maintain_order="left"))
    return Reference(
        name=panel.readings.name,
        cases=panel.readings.cases,
        nodules=nodules,
        slices=slices,
        notices=panel.readings.notices,
        rule=rule,
    )


def _nodules(panel: Panel, verdicts: Sequence[Verdict], names: list[str]) -> pl.DataFrame:
    """NODULES: by case; within a case nodules before ignored findings."""
    first = np.array([verdict.members[0] for verdict in verdicts], dtype=np.int64)
    center = np.array([verdict.center_mm for verdict in verdicts]).reshape(-1, 3)
    placed = pl.DataFrame(
        {
            "case_id": panel.readings.cases["case_id"][panel.case[first]],
            "nodule_id": pl.Series(names, dtype=pl.String),
            **{f"{axis}_mm": center[:, at] for at, axis in enumerate("xyz")},
            "diameter_mm": [verdict.diameter_mm for verdict in verdicts],
            "is_ignored": [verdict.is_ignored for verdict in verdicts],
            "size_definition": [verdict.size_definition or None for verdict in verdicts],
            "case": panel.case[first],
        },
        schema_overrides={
            "diameter_mm": pl.Float64,
            "is_ignored": pl.Boolean,
            "size_definition": pl.String,
        },
    )
    described = _descriptions(panel.readings.findings, verdicts)
    table = pl.concat([placed, described], how="horizontal")
    return NODULES.arrange(table.sort("case", "is_ignored", maintain_order=True).drop("case"))


def _descriptions(findings: pl.DataFrame, verdicts: Sequence[Verdict]) -> pl.DataFrame:
    """Agreement, type, mean ratings and provenance of the members of each verdict."""
    member = np.concatenate(
        [np.empty(0, dtype=np.int64), *(verdict.members for verdict in verdicts)]
    )
    owner = np.repeat(np.arange(len(verdicts)), [len(verdict.members) for verdict in verdicts])
    rated = pl.col(CHARACTERISTICS).replace(0, None)  # 0: not rated
    return (
        findings.with_columns(rated)
        .with_columns(type=pl.coalesce("type", lidc_type()))
        .with_columns(density=pl.coalesce("density", density_of_type()))[member]
        .with_columns(owner=pl.Series(owner))
        .group_by("owner", maintain_order=True)
        .agg(
            most_frequent("type").alias("type"),
            most_frequent("density").alias("density"),
            pl.col("reader_id").n_unique().cast(pl.Int64).alias("agreement"),
            pl.len().cast(pl.Int64).alias("finding_count"),
            pl.col("finding_id").str.join(" ").alias("findings"),
            pl.col("kind").first(),
            pl.col(CHARACTERISTICS).mean(),
        )
        .drop("owner")
    )
