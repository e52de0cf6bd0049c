"""Scene: the marks and nodules that a rule labels, as arrays prepared once for all rules."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cache import cached_on_owner
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.core.tables import Reference, Submission
from nodulebench.matching.pairs import first_of_each

NEGLIGIBLE_MM = 1e-6
"""Lengths that differ by less are equal. Files give decimals, whose differences are not exact."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of nodules or marks, one entry per slice."""

    owner: IntArray
    """Which nodule or mark of the scene the box belongs to."""
    case: IntArray
    slice_index: IntArray
    center_mm: FloatArray
    """Centre x, y, z; z is NaN where the file does not say."""
    length_mm: FloatArray
    width_mm: FloatArray
    radius_mm: FloatArray
    """A quarter of long + short diameter; of the box where the diameters are not given."""
    contour: pl.Series
    """Outline 'x y;x y;...' in mm, or null."""


@dataclass(frozen=True)
class Scene:
    """The input of a rule. Marks are numbered 0..n-1 here; ``mark_row`` leads back to MARKS."""

    mark_row: IntArray
    mark_case: IntArray
    mark_xyz: FloatArray
    mark_score: FloatArray | None
    nodule_case: IntArray
    nodule_xyz: FloatArray
    nodule_diameter_mm: FloatArray
    """NaN where it was not measured."""
    is_target: BoolArray
    """False: an ignored finding, or one out of scope."""
    reference: Reference
    submission: Submission

    @property
    def mark_count(self) -> int:
        return len(self.mark_row)

    @property
    def nodule_count(self) -> int:
        """How many findings there are, ignored ones included."""
        return len(self.nodule_case)

    @cached_property
    def best_first(self) -> IntArray:
        """The marks from the highest score down; equal scores in file order."""
        if self.mark_score is None:
            return np.arange(self.mark_count)
        return np.argsort(-self.mark_score, kind="stable")

    @cached_property
    def nodule_boxes(self) -> Boxes | None:
        return _nodule_boxes(self.reference)

    @cached_property
    def mark_boxes(self) -> Boxes | None:
        marks = self.submission.marks[self.mark_row]
        return _boxes(self.submission.slices, marks, "mark_id", self.mark_case)


def scene(
    reference: Reference,
    submission: Submission,
    *,
    mark_case: IntArray,
    takes_part: BoolArray,
    is_target: BoolArray,
) -> Scene:
    mark_row = np.flatnonzero(takes_part)
    scores = submission.marks["score"]
    return Scene(
        mark_row=mark_row,
        mark_case=mark_case[mark_row],
        mark_xyz=submission.marks.select("x_mm", "y_mm", "z_mm").to_numpy()[mark_row],
        mark_score=None if scores.null_count() else scores.to_numpy()[mark_row],
        nodule_case=reference.nodule_case,
        nodule_xyz=reference.nodules.select("x_mm", "y_mm", "z_mm").to_numpy(),
        nodule_diameter_mm=reference.nodules["diameter_mm"].to_numpy(),
        is_target=is_target,
        reference=reference,
        submission=submission,
    )


@cached_on_owner
def _nodule_boxes(reference: Reference) -> Boxes | None:
    """The same for every submission and rule, so they are made once."""
    return _boxes(reference.slices, reference.nodules, "nodule_id", reference.nodule_case)


def _boxes(
    slices: pl.DataFrame | None, owners: pl.DataFrame, key: str, owner_case: IntArray
) -> Boxes | None:
    if slices is None:
        return None
    joined = slices.join(
        owners.select("case_id", key).with_row_index("owner"),
        on=["case_id", key],
        how="inner",
        maintain_order="left",
    )
    owner = joined["owner"].cast(pl.Int64).to_numpy()
    quarter = pl.coalesce(
        (pl.col("long_mm") + pl.col("short_mm")) / 4, (pl.col("length_mm") + pl.col("width_mm")) / 4
    )
    return Boxes(
        owner=owner,
        case=owner_case[owner],
        slice_index=joined["slice_index"].to_numpy(),
        center_mm=joined.select("center_x_mm", "center_y_mm", "z_mm").to_numpy(),
        length_mm=joined["length_mm"].to_numpy(),
        width_mm=joined["width_mm"].to_numpy(),
        radius_mm=joined.select(quarter).to_series().to_numpy(),
        contour=joined["contour"],
    )


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
    """Join the boxes of marks and nodules on case and slice."""
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
    """Notices of marks and nodules that cannot take part because they have no box."""
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
