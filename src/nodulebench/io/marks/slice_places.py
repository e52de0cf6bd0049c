"""Slice numbers and heights of boxes: one is found from the other, a contradiction is refused."""

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.errors import Problem, Problems, refuse_any
from nodulebench.imaging.geometry import Geometry, GeometryProblem

_LARGEST_DIFFERENCE = 0.5
"""Slices that slice_index and z_mm may be apart, so that rounded heights pass."""
_LARGEST_DIFFERENCE_MM = 0.5
"""What is added to it where the geometry is not known, and all that one slice may differ by."""
_MOST_NAMED = 5


def placed(boxes: pl.DataFrame, known: dict[str, Geometry], name: str) -> pl.DataFrame:
    """Fill slice_index from z_mm, and z_mm from slice_index, where one of them is empty.

    Args:
        boxes: a table with case_id, slice_index, z_mm, center_x_mm, center_y_mm, and ``place``,
            where in the file each box stands. A slice_index need not be whole; it is not changed.
        known: where the voxels of each case are.
        name: the file's name, for messages.

    Raises:
        InputError: with one problem per box whose place is unknown, or said in two ways that
            do not agree.
    """
    number = boxes["slice_index"].cast(pl.Float64).to_numpy(writable=True)
    height = boxes["z_mm"].cast(pl.Float64).to_numpy(writable=True)
    xy_mm = boxes.select("center_x_mm", "center_y_mm").to_numpy()
    groups = boxes.with_row_index("_row").group_by("case_id", maintain_order=True)
    for (case_id,), part in groups:
        if case_id not in known:
            continue
        grid, rows = known[str(case_id)], part["_row"].to_numpy()
        has_number, has_height = ~np.isnan(number[rows]), ~np.isnan(height[rows])
        lost = rows[~has_number & has_height]
        number[lost] = np.round(grid.slice_of(np.column_stack([xy_mm[lost], height[lost]])))
        lost = rows[has_number & ~has_height]
        height[lost] = grid.height_on(number[lost], xy_mm[lost])
    is_unplaced = np.isnan(number) | np.isnan(height)
    is_strange = is_unplaced & ~boxes["case_id"].is_in(list(known)).to_numpy()
    if not known:
        is_strange[:] = False
    unknown = [
        *_told(
            boxes,
            is_strange,
            name,
            f"its case is not among the {len(known)} whose geometry is given, so its slice cannot "
            "be placed.",
            "Is it a case of another set? Else give its geometry, or both slice_index and z_mm.",
        ),
        *_told(
            boxes,
            is_unplaced & ~is_strange,
            name,
            "slice_index and z_mm are not both known.",
            "Give both, or one of them and the geometry of the case (spacing, origin, size).",
        ),
    ]
    cases = tuple(boxes["case_id"].filter(pl.Series(is_unplaced)).unique(maintain_order=True))
    wanted = [GeometryProblem(one.where, one.what, one.remedy, cases) for one in unknown]
    refuse_any([*wanted, *_contradictions(boxes, known, name)])
    return boxes.with_columns(slice_index=pl.Series(number), z_mm=pl.Series(height))


def refuse_contradictions(slices: pl.DataFrame, known: dict[str, Geometry], name: str) -> None:
    """Refuse slices of marks or nodules whose slice_index and z_mm do not agree.

    Raises:
        InputError: with the first of them, and how many there are.
    """
    rows = slices.with_row_index("_row", offset=1)
    places = pl.format("{} row {}", pl.lit(name), "_row")
    refuse_any(
        _contradictions(rows.drop("_row").with_columns(rows.select(place=places)), known, name)
    )


def _contradictions(boxes: pl.DataFrame, known: dict[str, Geometry], name: str) -> list[Problem]:
    """Where slice_index and z_mm contradict the grid of the case, or else its other boxes."""
    said = boxes.with_row_index("_row").drop_nulls(["slice_index", "z_mm"])
    is_off, is_astray = np.zeros((2, boxes.height), dtype=np.bool_)
    for (case_id,), part in said.group_by("case_id", maintain_order=True):
        rows, number = part["_row"].to_numpy(), part["slice_index"].cast(pl.Float64).to_numpy()
        if case_id in known:
            point = part.select("center_x_mm", "center_y_mm", "z_mm").to_numpy()
            away = known[str(case_id)].slice_of(point) - number
            is_off[rows] = np.abs(away) > _LARGEST_DIFFERENCE
        else:
            is_astray[rows] = _is_astray(number, part["z_mm"].to_numpy())
    remedy = "Count slices from 0 at the feet, and give z_mm in LPS."
    of_grid = "slice_index and z_mm do not agree with the geometry of the case."
    of_others = "slice_index and z_mm do not agree with the other boxes of the case."
    return [
        *_told(boxes, is_off, name, of_grid, remedy),
        *_told(boxes, is_astray, name, of_others, remedy),
    ]


def _is_astray(number: FloatArray, height: FloatArray) -> BoolArray:
    """Which boxes of a case do not lie where z rises evenly from slice to slice."""
    order = np.argsort(number)
    half = max(1, len(order) // 2)  # pairs far apart, so that rounding hardly tilts the line
    run = number[order][half:] - number[order][:-half]
    rise = height[order][half:] - height[order][:-half]
    spacing = _middle(rise[run > 0] / run[run > 0], run[run > 0]) if run.any() else 0.0
    if spacing <= 0 and number.min() < number.max():
        return np.ones(len(number), dtype=np.bool_)
    room = _LARGEST_DIFFERENCE * spacing + _LARGEST_DIFFERENCE_MM
    up = height - spacing * number
    is_far: BoolArray = np.abs(up - np.median(up)) > room
    return is_far


def _middle(value: FloatArray, weight: FloatArray) -> float:
    """The value that has half of the weight on either side."""
    order = np.argsort(value)
    through = np.cumsum(weight[order])
    return float(value[order][np.searchsorted(through, through[-1] / 2)])


def _told(
    boxes: pl.DataFrame, is_bad: BoolArray, name: str, what: str, remedy: str
) -> list[Problem]:
    bad = boxes.filter(pl.Series(is_bad, dtype=pl.Boolean))
    problems = Problems(Problem(place, what, remedy) for place in bad["place"].head(_MOST_NAMED))
    if bad.height > _MOST_NAMED:
        problems.add(name, f"{bad.height - _MOST_NAMED} more boxes like this.")
    return problems
