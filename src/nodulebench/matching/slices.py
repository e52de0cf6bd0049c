"""Boxes of marks and nodules that lie on one slice, and how near they are to each other there."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.matching.pairs import first_of_each
from nodulebench.matching.scene import Boxes, Scene


@dataclass(frozen=True, slots=True)
class SharedSlices:
    """One entry per mark and nodule that both have a box on a slice."""

    mark_box: IntArray
    nodule_box: IntArray
    mark: IntArray
    nodule: IntArray
    marks: Boxes
    nodules: Boxes

    def distance_mm(self) -> FloatArray:
        """Distance between the centres of the two boxes in the plane of the slice."""
        apart = self.marks.center_mm[self.mark_box] - self.nodules.center_mm[self.nodule_box]
        return np.hypot(apart[:, 0], apart[:, 1])

    def overlap(self) -> tuple[FloatArray, FloatArray]:
        """Area in both boxes, as a share of the nodule's box and of the union (IoU)."""
        apart = self.marks.center_mm[self.mark_box] - self.nodules.center_mm[self.nodule_box]
        both, mark_area, nodule_area = np.ones((3, len(self.mark)))
        for axis, name in enumerate(("length_mm", "width_mm")):
            mark_side = getattr(self.marks, name)[self.mark_box]
            nodule_side = getattr(self.nodules, name)[self.nodule_box]
            shared = (mark_side + nodule_side) / 2.0 - np.abs(apart[:, axis])
            both *= np.clip(shared, 0.0, np.minimum(mark_side, nodule_side))
            mark_area *= mark_side
            nodule_area *= nodule_side
        return _share(both, nodule_area), _share(both, mark_area + nodule_area - both)


def shared_slices(scene: Scene, rule: str) -> SharedSlices:
    """Join the boxes of marks and nodules on case and slice.

    Raises:
        UndefinedError: where marks or nodules come without boxes.
    """
    marks, nodules = scene.mark_boxes, scene.nodule_boxes
    if marks is None and scene.mark_count:
        raise UndefinedError("no_boxes_in_submission", rule=rule)
    if nodules is None and scene.nodule_count:
        raise UndefinedError("no_boxes_in_reference", rule=rule)
    marks = _NO_BOXES if marks is None else marks
    nodules = _NO_BOXES if nodules is None else nodules
    joined = _keys(marks, "mark_box").join(
        _keys(nodules, "nodule_box"), on=["case", "slice"], how="inner", maintain_order="left_right"
    )
    mark_box, nodule_box = (
        joined[name].cast(pl.Int64).to_numpy() for name in ("mark_box", "nodule_box")
    )
    return SharedSlices(
        mark_box=mark_box,
        nodule_box=nodule_box,
        mark=marks.owner[mark_box],
        nodule=nodules.owner[nodule_box],
        marks=marks,
        nodules=nodules,
    )


def best_slices(mark: IntArray, nodule: IntArray, cost: FloatArray) -> IntArray:
    """For each pair of mark and nodule the entry of the slice with the lowest cost."""
    order = np.lexsort((cost, mark, nodule))
    return order[first_of_each(nodule[order], mark[order])]


def boxless_notices(scene: Scene, shared: SharedSlices) -> tuple[Notice, ...]:
    """Word of marks and nodules that cannot take part because they have no box."""
    is_boxed = np.zeros(scene.nodule_count, dtype=np.bool_)
    is_boxed[shared.nodules.owner] = True
    nodules = int(np.count_nonzero(~is_boxed & scene.is_target))
    marks = scene.mark_count - len(np.unique(shared.marks.owner))
    notices = []
    if nodules:
        notices.append(Notice("nodules_without_box", {"count": nodules}))
    if marks:
        notices.append(Notice("marks_without_box", {"count": marks}))
    return tuple(notices)


def largest_radius_mm(nodules: Boxes, count: int) -> FloatArray:
    """For each nodule the largest quarter of long + short diameter; NaN without a box."""
    radius = np.full(count, -np.inf)
    np.maximum.at(radius, nodules.owner, nodules.radius_mm)
    return np.where(np.isfinite(radius), radius, np.nan)


def _keys(boxes: Boxes, name: str) -> pl.DataFrame:
    return pl.DataFrame({"case": boxes.case, "slice": boxes.slice_index}).with_row_index(name)


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Part of a whole; nothing of a box without area."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


_NO_BOXES = Boxes(
    owner=np.empty(0, dtype=np.int64),
    case=np.empty(0, dtype=np.int64),
    slice_index=np.empty(0, dtype=np.int64),
    center_mm=np.empty((0, 3)),
    length_mm=np.empty(0),
    width_mm=np.empty(0),
    radius_mm=np.empty(0),
    contour=pl.Series([], dtype=pl.String),
)
