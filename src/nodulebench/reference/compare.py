"""Two references -> the nodules they share, and the differences in position and size."""

from dataclasses import dataclass
from pathlib import Path

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
    """
    shared = first.cases.select("case_id").join(second.cases, on="case_id", how="semi")
    if not shared.height:
        what = "have no case in common."
        remedy = "Check whether their cases have the same names."
        raise InputError.at(f"references '{first.name}' and '{second.name}'", what, remedy)
    left, right = (
        reference.nodules.filter(~pl.col("is_ignored"))
        .join(shared, on="case_id", how="semi", maintain_order="left")
        .select("case_id", "nodule_id", "x_mm", "y_mm", "z_mm", "diameter_mm")
        .with_row_index("row")
        for reference in (first, second)
    )
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
    taken: tuple[set[int], set[int]] = (set(), set())
    paired_rows = []  # each nodule takes its nearest free partner
    for number, row in enumerate(close.select("row", "row_second").iter_rows()):
        if row[0] not in taken[0] and row[1] not in taken[1]:
            taken[0].add(row[0])
            taken[1].add(row[1])
            paired_rows.append(number)
    pairs = close[paired_rows].sort("row")
    return ReferenceComparison(
        cases=shared.height,
        pairs=pairs.select(
            "case_id", "nodule_id", "nodule_id_second", "distance_mm", "diameter_difference_mm"
        ),
        only_first=left.join(pairs, on="row", how="anti").drop("row"),
        only_second=right.join(pairs.select(row="row_second"), on="row", how="anti").drop("row"),
    )


def compare_reference_files(first: Path, second: Path) -> ReferenceComparison:
    return compare_references(read_reference(first), read_reference(second))
