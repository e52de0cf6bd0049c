"""What is drawn on slices, as rows of a table -> outlines."""

from typing import Any

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.readings import Readings
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.outlines import box_outline, read_outline
from nodulebench.imaging.rasters import DrawnOutline

STEEPEST = 0.1
"""Least cosine between the slices' normal and the z axis for x and y to tell a place on them."""


def drawn_by_owner(
    slices: pl.DataFrame | None, key: str
) -> dict[tuple[str, str], list[DrawnOutline]]:
    """What is drawn for each mark, nodule or finding: (case, id) -> outlines.

    Args:
        slices: MARK_SLICES, NODULE_SLICES or FINDING_SLICES.
        key: "mark_id", "nodule_id" or "finding_id".
    """
    found: dict[tuple[str, str], list[DrawnOutline]] = {}
    for row in () if slices is None else slices.iter_rows(named=True):
        found.setdefault((row["case_id"], row[key]), []).append(_drawn(row, row[key]))
    return found


def drawn_by_session(
    readings: Readings,
) -> dict[tuple[str, str], dict[str, list[DrawnOutline]]]:
    """What every reader outlined in a case: (case, reader) -> finding -> outlines."""
    drawn = drawn_by_owner(readings.slices, "finding_id")
    found: dict[tuple[str, str], dict[str, list[DrawnOutline]]] = {}
    columns = readings.findings.select("case_id", "finding_id", "reader_id")
    for case_id, finding_id, reader_id in columns.iter_rows():
        if (case_id, finding_id) in drawn:
            own = found.setdefault((case_id, reader_id), {})
            own[finding_id] = drawn[case_id, finding_id]
    return found


def _drawn(row: dict[str, Any], owner: str) -> DrawnOutline:
    where = f"case '{row['case_id']}' '{owner}' slice {row['slice_index']}"
    has_corners = row["contour"] is not None
    is_box = not has_corners or row.get("convention") == "box"
    if not has_corners:
        outline = box_outline(
            row["center_x_mm"], row["center_y_mm"], row["length_mm"], row["width_mm"]
        )
    else:
        outline = read_outline(row["contour"], where)
    return DrawnOutline(
        row["slice_index"],
        outline,
        row["z_mm"],
        row.get("convention", "boundary"),
        row.get("is_hole", False),
        is_box,
    )


def refuse_upright(grid: Geometry, where: str) -> None:
    """Refuse slices that stand so steep that x and y do not tell a place on them."""
    if abs(float(grid.direction[2, 2])) < STEEPEST:
        raise InputError.at(
            where,
            "its slices are coronal or sagittal; x and y do not tell a place on them.",
            "Give axial images, or resample them.",
        )
