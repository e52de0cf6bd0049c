"""Checked readings -> the nodules that are the union of what their readers drew."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.annotate.consistency import Box, Candidate, CaseCheck
from nodulebench.annotate.reading import DrawnSlice, Reading
from nodulebench.errors import InputError, Problem
from nodulebench.formats.slice_boxes import gather
from nodulebench.model.geometry import geometries
from nodulebench.model.tables import NODULE_SLICES, NODULES, Reference


@dataclass(frozen=True, slots=True)
class Accepted:
    """A candidate that is a nodule, and its type where it was said."""

    case_id: str
    candidate: Candidate
    type: str | None = None


def accept_all(checks: Iterable[CaseCheck]) -> list[Accepted]:
    """Every candidate, as the check left it."""
    return [Accepted(check.case_id, one) for check in checks for one in check.candidates]


def unite(
    name: str, cases: pl.DataFrame, readings: Iterable[Reading], accepted: Iterable[Accepted]
) -> Reference:
    """A reference of nodules: on each slice the hull of the readers' boxes.

    Args:
        name: of the reference.
        cases: CASES, in order.
        readings: what the readers drew.
        accepted: the candidates that are nodules.
    """
    drawn = {
        (reading.case_id, reading.reader_id, finding.finding_id, one.slice_index): one
        for reading in readings
        for finding in reading.findings
        for one in finding.slices
    }
    rows = [row for one in accepted for row in _rows(one, drawn)]
    empty = {column.name: column.dtype for column in NODULE_SLICES.columns}
    more = {"score": pl.Float64, "type": pl.String, "agreement": pl.Int64}
    said = {"density": pl.String, "malignancy": pl.Float64, "category": pl.String}
    table = _with_heights(pl.DataFrame(rows, schema={**empty, **more, **said}), cases)
    agreement = table.group_by("case_id", "nodule_id", maintain_order=True).agg(
        pl.col("agreement").first()
    )
    nodules = (
        gather(table, "nodule_id")
        .drop("score")
        .with_columns(agreement["agreement"], is_ignored=pl.lit(False))
    )
    return Reference(
        name=name,
        cases=cases,
        nodules=NODULES.arrange(nodules),
        slices=NODULE_SLICES.arrange(table),
    )


def _rows(
    accepted: Accepted, drawn: Mapping[tuple[str, str, str, int], DrawnSlice]
) -> Iterable[dict[str, object]]:
    one = accepted.candidate
    for number in sorted({box.slice_index for box in one.boxes}):
        members = [
            drawn[accepted.case_id, *finding, number]
            for cluster in one.clusters
            if cluster.box.slice_index == number
            for finding in cluster.findings
        ]
        box = _hull([box for box in one.boxes if box.slice_index == number])
        heights = [member.z_mm for member in members if member.z_mm is not None]
        yield {
            "case_id": accepted.case_id,
            "nodule_id": one.candidate_id.replace("candidate", "nodule"),
            "slice_index": number,
            "z_mm": heights[0] if heights else None,
            "center_x_mm": box.center_x_mm,
            "center_y_mm": box.center_y_mm,
            "length_mm": box.length_mm,
            "width_mm": box.width_mm,
            "type": accepted.type,
            "agreement": len(one.reader_ids),
        }


def _hull(boxes: list[Box]) -> Box:
    left = min(box.center_x_mm - box.length_mm / 2 for box in boxes)
    right = max(box.center_x_mm + box.length_mm / 2 for box in boxes)
    front = min(box.center_y_mm - box.width_mm / 2 for box in boxes)
    back = max(box.center_y_mm + box.width_mm / 2 for box in boxes)
    middle = ((left + right) / 2, (front + back) / 2)
    return Box(boxes[0].slice_index, *middle, right - left, back - front)


def _with_heights(table: pl.DataFrame, cases: pl.DataFrame) -> pl.DataFrame:
    """The table with the height of each slice: as drawn, else from the geometry.

    Raises:
        InputError: for each case whose slices lie nobody knows where.
    """
    places = geometries(cases)
    bare = table.filter(pl.col("z_mm").is_null())["case_id"].unique(maintain_order=True)
    unknown = [case_id for case_id in bare if case_id not in places]
    if unknown:
        raise InputError(
            Problem(
                f"case '{case_id}'",
                "the height of its slices is not known.",
                "Give z_mm with the slices, or a table of cases with spacing and origin.",
            )
            for case_id in unknown
        )
    heights = [
        float(
            places[row["case_id"]].height_on(
                np.array([float(row["slice_index"])]),
                np.array([[row["center_x_mm"], row["center_y_mm"]]]),
            )[0]
        )
        if row["z_mm"] is None
        else row["z_mm"]
        for row in table.iter_rows(named=True)
    ]
    return table.with_columns(pl.Series("z_mm", heights, dtype=pl.Float64))
