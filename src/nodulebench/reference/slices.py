"""Verdicts -> NODULE_SLICES: box and outline of every nodule on each of its slices."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.tables import NODULE_SLICES
from nodulebench.imaging.outlines import outline_texts
from nodulebench.imaging.trace import trace_outlines
from nodulebench.reference.decision import Verdict
from nodulebench.reference.panel import Panel
from nodulebench.reference.regions import known
from nodulebench.reference.sizes import slice_sizes


def nodule_slices(
    panel: Panel, verdicts: Sequence[Verdict], names: Sequence[str]
) -> tuple[pl.DataFrame | None, pl.DataFrame]:
    """NODULE_SLICES of all verdicts that have voxels, and the axes of nodules; None where none has.

    Axes are measured on nodules only: no rule asks for those of ignored findings. What was drawn as
    boxes alone has the mean of its readers' boxes, and no outline.

    Returns:
        The slices; and one row per measured nodule: case_id, nodule_id, long_mm and short_mm on
        the slice with the largest area.
    """
    outlined = [number for number, one in enumerate(verdicts) if one.voxels is not None]
    if not outlined:
        return None, NODULE_SLICES.empty().select("case_id", "nodule_id", *_AXES)
    regions = [region for one in verdicts if (region := one.voxels) is not None]
    owner = np.repeat(outlined, [len(region) for region in regions])
    voxel = np.concatenate(regions)
    case = np.array([panel.case[one.members[0]] for one in verdicts], dtype=np.int64)
    is_boxed = np.array([bool(panel.is_boxed[one.members].all()) for one in verdicts])
    is_nodule = ~np.array([one.is_ignored for one in verdicts])
    drawn = (is_nodule & ~is_boxed)[owner]
    sizes = slice_sizes(owner[drawn], voxel[drawn], panel.spacing_mm[case][:, :2])
    rows = _boxes(panel, case, owner, voxel).join(
        sizes, on=["owner", "slice_index"], how="left", maintain_order="left"
    )
    if is_boxed.any():
        boxes = _drawn_boxes(panel, verdicts, np.flatnonzero(is_boxed))
        rows = _as_drawn(rows, boxes, is_boxed, is_boxed & is_nodule)
    rows = rows.with_columns(
        case_id=panel.readings.cases["case_id"][case[rows["owner"].to_numpy()]],
        nodule_id=pl.Series(names, dtype=pl.String)[rows["owner"].to_numpy()],
    )
    axes = (
        rows.filter(pl.col("long_mm").is_not_null())
        .group_by("case_id", "nodule_id", maintain_order=True)
        .agg(pl.col(_AXES).get(pl.col("area_mm2").arg_max()))
    )
    return NODULE_SLICES.arrange(rows), axes


_AXES = ("long_mm", "short_mm")
_SIDES = ("center_x_mm", "center_y_mm", "length_mm", "width_mm")


def _drawn_boxes(panel: Panel, verdicts: Sequence[Verdict], boxed: IntArray) -> pl.DataFrame:
    """The mean of the readers' boxes of each boxed verdict on each slice."""
    drawn = panel.outlines
    corners = pl.DataFrame(
        {"outline": drawn.points.owner, "x": drawn.points.x, "y": drawn.points.y}
    )
    x, y = pl.col("x"), pl.col("y")
    boxes = corners.group_by("outline", maintain_order=True).agg(
        center_x_mm=(x.min() + x.max()) / 2,
        center_y_mm=(y.min() + y.max()) / 2,
        length_mm=x.max() - x.min(),
        width_mm=y.max() - y.min(),
    )
    of_outline = pl.DataFrame(
        {
            "outline": np.arange(len(drawn.finding)),
            "finding": drawn.finding,
            "slice_index": drawn.slice_index,
        }
    )
    of_verdict = pl.DataFrame(
        {
            "finding": np.concatenate([verdicts[one].members for one in boxed]),
            "owner": np.repeat(boxed, [len(verdicts[one].members) for one in boxed]),
        }
    )
    joined = of_verdict.join(of_outline, on="finding").join(boxes, on="outline")
    return joined.group_by("owner", "slice_index").agg(pl.col(_SIDES).mean())


def _as_drawn(
    rows: pl.DataFrame, drawn: pl.DataFrame, is_boxed: BoolArray, is_measured: BoolArray
) -> pl.DataFrame:
    """The slices of boxed verdicts with the boxes that were drawn, their sides as axes."""
    joined = rows.join(
        drawn, on=["owner", "slice_index"], how="left", maintain_order="left", suffix="_drawn"
    )
    owner = joined["owner"].to_numpy()
    boxed, measured = pl.Series(is_boxed[owner]), pl.Series(is_measured[owner])
    sides = pl.concat_list("length_mm", "width_mm")
    own = {
        "long_mm": sides.list.max(),
        "short_mm": sides.list.min(),
        "area_mm2": pl.col("length_mm") * pl.col("width_mm"),
    }
    return (
        joined.with_columns(pl.coalesce(f"{name}_drawn", name).alias(name) for name in _SIDES)
        .with_columns(
            contour=pl.when(~boxed).then("contour"),
            **{name: pl.when(measured).then(size).otherwise(name) for name, size in own.items()},
        )
        .select(rows.columns)
    )


def _boxes(panel: Panel, case: IntArray, owner: IntArray, voxel: IntArray) -> pl.DataFrame:
    """Box and outline of each owner on each of its slices."""
    by_slice = np.lexsort((voxel[:, 2], owner))
    owner, voxel = owner[by_slice], voxel[by_slice]
    is_first = (np.diff(owner, prepend=-1) != 0) | (np.diff(voxel[:, 2], prepend=-1) != 0)
    number = np.cumsum(is_first) - 1
    slice_owner, slice_index = owner[is_first], voxel[is_first, 2]
    outline, corner = trace_outlines(number, voxel[:, 0], voxel[:, 1])
    xy_mm = _in_patient(panel, case[slice_owner[outline]], corner, slice_index[outline])
    x, y = pl.col("x"), pl.col("y")
    boxes = (
        pl.DataFrame({"outline": outline, "x": xy_mm[:, 0], "y": xy_mm[:, 1]})
        .group_by("outline", maintain_order=True)
        .agg(
            center_x_mm=(x.min() + x.max()) / 2,
            center_y_mm=(y.min() + y.max()) / 2,
            length_mm=x.max() - x.min(),
            width_mm=y.max() - y.min(),
        )
    )
    heights = panel.slice_heights
    at = zip(case[slice_owner].tolist(), slice_index.tolist(), strict=True)
    return (
        boxes.join(outline_texts(outline, xy_mm[:, 0], xy_mm[:, 1]), on="outline")
        .sort("outline")
        .with_columns(
            owner=pl.Series(slice_owner),
            slice_index=pl.Series(slice_index),
            z_mm=pl.Series([heights[one][slice_number] for one, slice_number in at]),
        )
    )


def _in_patient(
    panel: Panel, case: IntArray, corner: FloatArray, slice_index: IntArray
) -> FloatArray:
    """x, y in mm of corners in image coordinates."""
    xy_mm = np.empty((len(corner), 2))
    by_case = np.argsort(case, kind="stable")
    for part in np.split(by_case, np.flatnonzero(np.diff(case[by_case])) + 1):
        place = known(panel.places[case[part[0]]])
        k = place.slice_number(slice_index[part].astype(np.float64))
        xy_mm[part] = place.to_world(np.column_stack([corner[part], k]))[:, :2]
    return xy_mm
