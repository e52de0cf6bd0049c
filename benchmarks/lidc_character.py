"""LUNA16's nodules -> the same with density and agreement, as LIDC-IDRI's readers saw them."""

import lzma
from pathlib import Path

import polars as pl

from nodulebench.reference.decision import density_of_type, lidc_type, most_frequent

NEAR_MM = 5.0
"""LUNA16 averages readers' marks step by step: its centres lie up to 4.6 mm from their mean."""


def with_character(nodules: pl.DataFrame, marks: Path) -> pl.DataFrame:
    """Nodules (case_id: series) with ``density`` and ``agreement`` of the nearest LIDC nodule."""
    groups = _lidc_nodules(marks)
    to_find = nodules.filter(~pl.col("is_ignored")).select(
        "case_id", "nodule_id", "x_mm", "y_mm", "z_mm"
    )
    apart = sum((pl.col(f"{axis}_mm") - pl.col(f"{axis}_mm_right")) ** 2 for axis in "xyz")
    nearest = (
        to_find.join(groups, on="case_id")
        .with_columns(apart=apart)
        .filter(pl.col("apart") < NEAR_MM**2)
        .sort("apart")
        .unique(["case_id", "nodule_id"], keep="first", maintain_order=True)
        .select("case_id", "nodule_id", "density", "agreement")
    )
    return nodules.drop("density", "agreement").join(
        nearest, on=["case_id", "nodule_id"], how="left", maintain_order="left"
    )


def _lidc_nodules(marks: Path) -> pl.DataFrame:
    """Nodules that three or more readers outlined; density null where readers disagree evenly."""
    with lzma.open(marks) as file:
        table = pl.read_csv(file.read(), infer_schema_length=None)
    outlined = table.filter(pl.col("category") == "nodule_ge3").with_columns(type=lidc_type())
    return (
        outlined.group_by(pl.col("seriesuid").alias("case_id"), "merged_group")
        .agg(
            *(pl.col(f"{axis}_world_mm").mean().alias(f"{axis}_mm") for axis in "xyz"),
            agreement=pl.col("session").n_unique().cast(pl.Int64),
            marks=pl.len(),
            type=most_frequent("type"),
        )
        .filter(pl.col("marks") >= 3)
        .with_columns(density=density_of_type("type"))
        .drop("type", "marks", "merged_group")
    )
