"""Outlines or boxes per slice -> Dice and IoU of found nodules.

A nodule's extent is the stack of its slices: on each the contour, or the box where there is no
contour. Areas are exact, added over slices of equal index; slices are taken as equally thick, so
the thickness cancels. Found nodules with slices on both sides take part. The mean gives every
nodule the same say, the pooled form every cubic millimetre.
"""

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.cache import cached_on_owner
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.imaging.outlines import areas_and_overlap_mm2, box_outline, read_outline
from nodulebench.metrics.metric import CaseSums, ratio, sum_by_case

_SHAPE = ("center_x_mm", "center_y_mm", "length_mm", "width_mm", "contour")
_NOTHING = np.empty((0, 2))
_WHOLE = pl.col("truth_mm2") + pl.col("mark_mm2")


@cached_on_owner  # four metrics read the same table; tracing outlines takes seconds
def overlap_table(cohort: LabelledCohort) -> pl.DataFrame:
    """For each found nodule with slices on both sides its areas and its Dice and IoU.

    Returns:
        Rows ``nodule`` (number in the cohort), ``truth_mm2, mark_mm2, shared_mm2`` (added over
        slices), ``dice``, ``iou``. A nodule without any area on both sides is left out.
    """
    slices = _paired_slices(cohort)
    areas = _box_areas(slices)
    is_drawn = slices["contour"].is_not_null() | slices["contour_mark"].is_not_null()
    drawn = np.flatnonzero(is_drawn.to_numpy())
    for row, pair in zip(drawn, slices[drawn].iter_rows(named=True), strict=True):
        areas[row] = areas_and_overlap_mm2(_outline(pair, ""), _outline(pair, "_mark"))
    added = (
        slices.select("nodule")
        .with_columns(pl.DataFrame(areas, schema=["truth_mm2", "mark_mm2", "shared_mm2"]))
        .group_by("nodule", maintain_order=True)
        .sum()
    )
    table = added.filter(_WHOLE > 0).with_columns(
        dice=2 * pl.col("shared_mm2") / _WHOLE,
        iou=pl.col("shared_mm2") / (_WHOLE - pl.col("shared_mm2")),
    )
    if not table.height:
        raise UndefinedError("no_area")
    return table


@ratio("no_area")
def mean_dice(cohort: LabelledCohort) -> CaseSums:
    """Mean Dice coefficient of found nodules, over slices."""
    return CaseSums(*_sums(cohort, pl.col("dice"), pl.lit(1.0)))


@ratio("no_area")
def mean_iou(cohort: LabelledCohort) -> CaseSums:
    """Mean intersection over union of found nodules, over slices."""
    return CaseSums(*_sums(cohort, pl.col("iou"), pl.lit(1.0)))


@ratio("no_area")
def pooled_dice(cohort: LabelledCohort) -> CaseSums:
    """Dice coefficient of all found nodules taken together."""
    shared, whole = _sums(cohort, pl.col("shared_mm2"), _WHOLE)
    return CaseSums(2 * shared, whole)


@ratio("no_area")
def pooled_iou(cohort: LabelledCohort) -> CaseSums:
    """Intersection over union of all found nodules taken together."""
    shared, whole = _sums(cohort, pl.col("shared_mm2"), _WHOLE)
    return CaseSums(shared, whole - shared)


def _sums(cohort: LabelledCohort, *values: pl.Expr) -> tuple[FloatArray, ...]:
    """Values of the table of overlaps, added up by case."""
    table = overlap_table(cohort)
    case = cohort.nodule_case[table["nodule"].to_numpy()]
    columns = (table.with_columns(value=value)["value"] for value in values)
    return tuple(sum_by_case(cohort, case, column.to_numpy()) for column in columns)


def _paired_slices(cohort: LabelledCohort) -> pl.DataFrame:
    """One row per found nodule and slice that either side has; shapes of both sides."""
    truth, mark_slices = cohort.reference.slices, cohort.submission.slices
    if truth is None:
        raise UndefinedError("no_slices_in_reference")
    if mark_slices is None:
        raise UndefinedError("no_slices_in_submission")
    hit_nodules = np.flatnonzero(cohort.is_hit)
    of_truth = _slices_of(
        truth, cohort.reference.nodules, "nodule_id", hit_nodules, cohort.nodule_row[hit_nodules]
    )
    of_marks = _slices_of(
        mark_slices, cohort.submission.marks, "mark_id", hit_nodules, cohort.hit_mark[hit_nodules]
    )
    of_truth = of_truth.join(of_marks, on="nodule", how="semi", maintain_order="left")
    of_marks = of_marks.join(of_truth, on="nodule", how="semi", maintain_order="left")
    paired = of_truth.join(
        of_marks, on=["nodule", "slice_index"], how="full", suffix="_mark", coalesce=True
    )
    if not paired.height:
        raise UndefinedError("no_slices_on_both_sides")
    return paired.sort("nodule", "slice_index")


def _slices_of(
    slices: pl.DataFrame, owners: pl.DataFrame, key: str, nodule: IntArray, owner_row: IntArray
) -> pl.DataFrame:
    """The slices that belong to each found nodule (a mark on two nodules belongs to both)."""
    owner = owners[owner_row].select("case_id", key).with_columns(nodule=pl.Series(nodule))
    return slices.join(owner, on=["case_id", key], how="inner").select(
        "nodule", "slice_index", *_SHAPE
    )


def _box_areas(slices: pl.DataFrame) -> FloatArray:
    """Areas of reference, mark and overlap on each slice, taken as boxes."""
    sides = [
        slices.select(pl.col(f"{name}{side}").fill_null(0.0) for name in _SHAPE[:4]).to_numpy()
        for side in ("", "_mark")
    ]
    low = np.maximum(*(side[:, :2] - side[:, 2:] / 2 for side in sides))
    high = np.minimum(*(side[:, :2] + side[:, 2:] / 2 for side in sides))
    shared = np.prod(np.maximum(high - low, 0.0), axis=1)
    return np.column_stack([*(np.prod(side[:, 2:], axis=1) for side in sides), shared])


def _outline(pair: dict[str, object], side: str) -> FloatArray:
    """One side's outline on a slice: its contour, else its box, else nothing."""
    contour, *box = (pair[f"{name}{side}"] for name in ("contour", *_SHAPE[:4]))
    if isinstance(contour, str):
        return read_outline(contour, f"slice {pair['slice_index']}")
    if box[0] is None:
        return _NOTHING
    return box_outline(*(float(str(value)) for value in box))
