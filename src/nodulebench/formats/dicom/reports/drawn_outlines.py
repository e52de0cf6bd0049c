"""What is drawn on slices, as rows of a table -> corners in the patient, and voxels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from nodulebench.errors import InputError, Problem
from nodulebench.imaging.contour import box_contour, parse_contour
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.outline_pixels import enclosed_pixels, polygon_pixels
from nodulebench.model.arrays import FloatArray, IntArray

STEEPEST = 0.1
"""Least cosine between the slices' normal and the z axis for x and y to tell a place on them."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One outline or box on one slice."""

    slice_index: int
    """0-based from the feet."""
    xy_mm: FloatArray
    z_mm: float | None = None
    convention: str = "boundary"
    is_hole: bool = False
    is_box: bool = False

    def corners_mm(self, grid: Geometry) -> FloatArray:
        """Its corners in the patient: on the height that was told where slices are axial."""
        if grid.is_axial and self.z_mm is not None:
            return np.column_stack([self.xy_mm, np.full(len(self.xy_mm), self.z_mm)])
        level = np.full(len(self.xy_mm), float(self.slice_index))
        return np.column_stack([self.xy_mm, grid.height_on(level, self.xy_mm)])


def drawn_by_owner(slices: pl.DataFrame | None, key: str) -> dict[tuple[str, str], list[Drawn]]:
    """What is drawn for each mark, nodule or finding: (case, id) -> outlines.

    Args:
        slices: MARK_SLICES, NODULE_SLICES or FINDING_SLICES.
        key: "mark_id", "nodule_id" or "finding_id".
    """
    found: dict[tuple[str, str], list[Drawn]] = {}
    for row in () if slices is None else slices.iter_rows(named=True):
        found.setdefault((row["case_id"], row[key]), []).append(_drawn(row, row[key]))
    return found


def _drawn(row: dict[str, Any], owner: str) -> Drawn:
    where = f"case '{row['case_id']}' '{owner}' slice {row['slice_index']}"
    is_box = row["contour"] is None
    if is_box:
        outline = box_contour(
            row["center_x_mm"], row["center_y_mm"], row["length_mm"], row["width_mm"]
        )
    else:
        outline = parse_contour(row["contour"], where)
    return Drawn(
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
        raise InputError(
            Problem(
                where,
                "its slices are coronal or sagittal; x and y do not tell a place on them.",
                "Give axial images, or resample them.",
            )
        )


def voxels_of(drawn: Iterable[Drawn], grid: Geometry) -> IntArray:
    """Voxels (column, row, image) that outlines hold: all of them joined, less their holes.

    A hole is cut out with its rim, as LIDC-IDRI's rule has it. Voxels outside the image are left
    out.
    """
    by_slice: dict[int, list[Drawn]] = {}
    for one in drawn:
        by_slice.setdefault(one.slice_index, []).append(one)
    parts = [np.empty((0, 3), dtype=np.int64)]
    for number, outlines in sorted(by_slice.items()):
        pixels = _pixels(outlines, grid)
        k = round(float(grid.slice_number(np.array([float(number)]))[0]))
        parts.append(np.column_stack([pixels, np.full(len(pixels), k, dtype=np.int64)]))
    voxel = np.concatenate(parts)
    if grid.size is None:
        return voxel
    kept: IntArray = voxel[np.all((voxel >= 0) & (voxel < grid.size), axis=1)]
    return kept


def _pixels(outlines: Sequence[Drawn], grid: Geometry) -> IntArray:
    """Columns and rows that the outlines of one slice hold, each once."""
    held: set[tuple[int, int]] = set()
    cut: set[tuple[int, int]] = set()
    for one in outlines:
        corners = grid.to_index(one.corners_mm(grid))[:, :2]
        if one.convention == "outside_pixels":
            rim = np.rint(corners).astype(np.int64)
            _, i, j, is_rim = enclosed_pixels(np.zeros(len(rim), dtype=np.int64), *rim.T)
            counts = ~is_rim | one.is_hole
            i, j = i[counts], j[counts]
        else:
            i, j = polygon_pixels(corners)
        (cut if one.is_hole else held).update(zip(i.tolist(), j.tolist(), strict=True))
    return np.array(sorted(held - cut), dtype=np.int64).reshape(-1, 2)
