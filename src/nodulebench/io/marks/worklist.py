"""Write the errors of labelled cohorts as a worklist, case by case, in reading order."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.error_tables import MOST_FALSE_POSITIVES
from nodulebench.core.tables import PLACE, Reference
from nodulebench.imaging.geometry import geometries
from nodulebench.io.csv_files import write_csv
from nodulebench.io.format import Format

Cells = Mapping[tuple[str, str], LabelledCohort]


def error_table(cells: Cells) -> pl.DataFrame:
    """The missed nodules and the highest-scored false positives of every algorithm, as rows."""
    kinds = (_missed, _false)
    return pl.concat([rows(cohort) for cohort in cells.values() for rows in kinds])


def _missed(cohort: LabelledCohort) -> pl.DataFrame:
    nodules = cohort.reference.nodules[cohort.nodule_row[~cohort.is_hit]]
    unscored = nodules.with_columns(score=pl.lit(None, pl.Float64))
    return _rows(cohort, "missed", unscored, "nodule_id")


def _false(cohort: LabelledCohort) -> pl.DataFrame:
    best = np.argsort(-cohort.false_score, kind="stable")[:MOST_FALSE_POSITIVES]
    marks = cohort.submission.marks[cohort.false_mark[best]]
    return _rows(cohort, "false_positive", marks, "mark_id")


def _rows(cohort: LabelledCohort, kind: str, table: pl.DataFrame, name: str) -> pl.DataFrame:
    return table.select(
        "case_id",
        pl.lit(kind).alias("kind"),
        pl.lit(cohort.submission.name).alias("algorithm"),
        pl.col(name).alias("name"),
        *PLACE,
        "diameter_mm",
        "type",
        "score",
    )


def write_worklist(cells: Cells, path: Path) -> None:
    """Write a CSV file: cases with most misses first, each from head to feet.

    ``slice_index`` counts from the feet, if the geometry of the case is known. A reviewer fills in
    ``cause`` for the false positives, and ``report --causes`` counts the causes.
    """
    errors = error_table(cells)
    reference = next(iter(cells.values())).reference
    is_missed = pl.col("kind") == "missed"
    ordered = (
        errors.with_columns(
            slice_index=_slices(errors, reference),
            misses=is_missed.sum().over("case_id"),
            falses=(~is_missed).sum().over("case_id"),
            row=pl.Series(reference.rows_of(errors["case_id"])),
        )
        .sort(
            "misses",
            "falses",
            "row",
            "z_mm",
            descending=[True, True, False, True],
            maintain_order=True,
        )
        .with_row_index("order", offset=1)
    )
    shown = ordered.select(
        "order",
        "case_id",
        "slice_index",
        "kind",
        "algorithm",
        "name",
        pl.col(*PLACE, "diameter_mm").round(1),
        "type",
        "score",
        cause=pl.lit(None, pl.String),
    )
    write_csv(shown, path)


def _slices(errors: pl.DataFrame, reference: Reference) -> pl.Series:
    """The slice of each position, from the feet; null if the geometry is not known."""
    known = geometries(reference.cases)
    places = errors.select(PLACE).to_numpy()
    slices = [
        round(float(known[case].slice_of(place[np.newaxis])[0])) if case in known else None
        for case, place in zip(errors["case_id"], places, strict=True)
    ]
    return pl.Series(slices, dtype=pl.Int64)


FORMAT = Format(
    name="worklist_csv",
    meaning="errors of a result to review, case by case, in reading order",
    suffixes=(".csv",),
    example="order,case_id,slice_index,kind,algorithm,name,x_mm,y_mm,z_mm,diameter_mm,type,score,cause",
    write_cohorts=write_worklist,
)
