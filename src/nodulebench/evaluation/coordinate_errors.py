"""Labelled marks -> notices if few nodules are hit: which coordinate error would explain it.

These notices reveal where nodules are, so they are for the laboratory only.
"""

from collections.abc import Iterator

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.notices import Notice
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.matching.pairs import pairs_within

FEW = 0.5
"""Share of the nodules in cases with marks: if fewer are hit, coordinate errors are tried."""
VERY_FEW = 0.1
"""If fewer are hit and no coordinate error explains it, a notice says so."""
FEWEST_NODULES = 3
"""A correction that hits fewer nodules is chance."""
LEAST_SHARE, LEAST_GAIN = 0.25, 2
"""A coordinate error explains the misses if undoing it hits this share of the nodules, and so many
times as many as before."""
UNMEASURED_RADIUS_MM = 5.0

_TURNS: dict[str, tuple[tuple[int, int, int], tuple[float, float, float]]] = {
    "ras": ((0, 1, 2), (-1, -1, 1)),
    "x_mirrored": ((0, 1, 2), (-1, 1, 1)),
    "y_mirrored": ((0, 1, 2), (1, -1, 1)),
    "z_mirrored": ((0, 1, 2), (1, 1, -1)),
    "zyx": ((2, 1, 0), (1, 1, 1)),
    "yxz": ((1, 0, 2), (1, 1, 1)),
    "xzy": ((0, 2, 1), (1, 1, 1)),
    "centimetres": ((0, 1, 2), (10, 10, 10)),
    "metres": ((0, 1, 2), (1000, 1000, 1000)),
}
"""Errors that can be undone without the images: the column of each axis, and its factor."""
GRID_ERRORS = ("flipped_z", "voxels", "voxels_zyx", "from_first_voxel")
"""Errors that need the geometry of the images."""


def coordinate_notices(cohort: LabelledCohort) -> tuple[Notice, ...]:
    """If few nodules are hit, name the coordinate error whose correction would hit many more."""
    case = cohort.submission.rows_in(cohort.reference)
    has_marks = np.zeros(cohort.case_count, dtype=np.bool_)
    has_marks[case] = True
    is_here = has_marks[cohort.nodule_case]
    nodules = int(np.count_nonzero(is_here))
    if nodules < FEWEST_NODULES or np.count_nonzero(cohort.is_hit) >= FEW * nodules:
        return ()
    xyz = cohort.submission.marks.select("x_mm", "y_mm", "z_mm").to_numpy()
    given = _hits(cohort, is_here, case, xyz)
    tried = {
        error: _hits(cohort, is_here, case, moved)
        for error, moved in _coordinate_errors(cohort, case, xyz)
    }
    error = max(tried, key=lambda name: tried[name])
    values = {"given": given, "nodules": nodules}
    if tried[error] >= max(FEWEST_NODULES, LEAST_SHARE * nodules, LEAST_GAIN * given + 1):
        return (Notice("would_be_hit", {**values, "hits": tried[error], "slip": error}),)
    if given >= VERY_FEW * nodules:
        return ()
    if GRID_ERRORS[0] not in tried:
        return (Notice("few_hits", {**values, "untried": cohort.case_count}),)
    return (Notice("few_hits", values),)


def _hits(
    cohort: LabelledCohort, is_here: BoolArray, mark_case: IntArray, mark_xyz: FloatArray
) -> int:
    table = cohort.reference.nodules
    row = cohort.nodule_row[is_here]
    diameter = table["diameter_mm"].to_numpy()[row].astype(np.float64)
    radius = np.where(np.isnan(diameter), UNMEASURED_RADIUS_MM, diameter / 2)
    _, nodule = pairs_within(
        mark_case,
        mark_xyz,
        cohort.nodule_case[is_here],
        table.select("x_mm", "y_mm", "z_mm").to_numpy()[row],
        radius,
    )
    return len(np.unique(nodule))


def _coordinate_errors(
    cohort: LabelledCohort, case: IntArray, xyz: FloatArray
) -> Iterator[tuple[str, FloatArray]]:
    for error, (order, factor) in _TURNS.items():
        yield error, xyz[:, order] * np.array(factor)
    known = geometries(cohort.reference.cases)
    grids = {
        row: known[name]
        for row, name in enumerate(cohort.reference.cases["case_id"])
        if name in known
    }
    if not grids:
        return
    rows_of_case = [
        (grids[row], np.flatnonzero(case == row)) for row in np.unique(case) if row in grids
    ]
    for error in GRID_ERRORS:
        moved = np.full_like(xyz, np.inf)  # without geometry a mark hits nothing
        for grid, rows in rows_of_case:
            moved[rows] = _on_grid(error, grid, xyz[rows])
        yield error, np.where(np.isfinite(moved), moved, 1e9)


def _on_grid(error: str, grid: Geometry, xyz: FloatArray) -> FloatArray:
    if error == "voxels":
        return grid.to_world(xyz)
    if error == "voxels_zyx":
        return grid.to_world(xyz[:, ::-1])
    if error == "from_first_voxel":
        return grid.to_world(xyz / grid.spacing_mm)
    index = grid.to_index(xyz)
    if grid.size is None:
        return np.full_like(xyz, np.inf)
    index[:, 2] = grid.size[2] - 1 - index[:, 2]
    return grid.to_world(index)
