"""Two references -> the nodules they share, and the differences in position and size."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.tables import Reference
from nodulebench.io.formats import read_reference


@dataclass(frozen=True, slots=True)
class ReferenceComparison:
    """The nodules of two references of the same cases."""

    cases: int
    pairs: pl.DataFrame
    """case_id, nodule_id of both, distance_mm, diameter_difference_mm (second minus first; null
    where one of them was not measured)."""
    only_first: pl.DataFrame
    only_second: pl.DataFrame
    """Nodules without a partner: case_id, nodule_id, x_mm, y_mm, z_mm, diameter_mm."""


def compare_references(first: Reference, second: Reference) -> ReferenceComparison:
    """Pair the nodules of two references, the nearest first, each at most once.

    Two nodules can be a pair if their centres are closer than the larger of their measured radii.
    Ignored findings are not compared.

    Raises:
        InputError: if the references have no case in common.
    """
    shared = first.cases.select("case_id").join(second.cases, on="case_id", how="semi")
    if not shared.height:
        raise InputError.at(
            f"references '{first.name}' and '{second.name}'",
            "have no case in common.",
            "Check whether their cases have the same names.",
        )
    left, right = (_targets(reference, shared) for reference in (first, second))
    close = (
        left.join(right, on="case_id", suffix="_second")
        .with_columns(
            distance_mm=pl.sum_horizontal(
                (pl.col(f"{axis}_mm") - pl.col(f"{axis}_mm_second")) ** 2 for axis in "xyz"
            ).sqrt(),
            diameter_difference_mm=pl.col("diameter_mm_second") - pl.col("diameter_mm"),
        )
        .filter(pl.col("distance_mm") < pl.max_horizontal("diameter_mm", "diameter_mm_second") / 2)
        .sort("distance_mm", "row", "row_second")
    )
    paired_rows = _nearest_first(close, left.height, right.height)
    pairs = close[paired_rows].sort("row")
    return ReferenceComparison(
        cases=shared.height,
        pairs=pairs.select(
            "case_id", "nodule_id", "nodule_id_second", "distance_mm", "diameter_difference_mm"
        ),
        only_first=left.join(pairs, on="row", how="anti").drop("row"),
        only_second=right.join(pairs.select(row="row_second"), on="row", how="anti").drop("row"),
    )


def _targets(reference: Reference, shared: pl.DataFrame) -> pl.DataFrame:
    return (
        reference.nodules.filter(~pl.col("is_ignored"))
        .join(shared, on="case_id", how="semi", maintain_order="left")
        .select("case_id", "nodule_id", "x_mm", "y_mm", "z_mm", "diameter_mm")
        .with_row_index("row")
    )


def _nearest_first(close: pl.DataFrame, left: int, right: int) -> list[int]:
    """Rows of the pairs that remain when each nodule takes its nearest free partner."""
    is_free = [np.ones(left, dtype=np.bool_), np.ones(right, dtype=np.bool_)]
    paired_rows = []
    for number, (left_row, other) in enumerate(close.select("row", "row_second").iter_rows()):
        if is_free[0][left_row] and is_free[1][other]:
            is_free[0][left_row] = is_free[1][other] = False
            paired_rows.append(number)
    return paired_rows


def compare_reference_files(first: Path, second: Path) -> ReferenceComparison:
    return compare_references(read_reference(first), read_reference(second))
