"""Verdicts -> NODULE_SLICES: box and outline of every nodule on each of its slices."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nodulebench.imaging.outlines import outline_texts
from nodulebench.imaging.trace import trace_outlines
from nodulebench.model.arrays import FloatArray, IntArray
from nodulebench.model.tables import NODULE_SLICES
from nodulebench.reference.measure import slice_sizes
from nodulebench.reference.panel import Panel
from nodulebench.reference.region import known
from nodulebench.reference.verdict import Verdict


def nodule_slices(
    panel: Panel, verdicts: Sequence[Verdict], names: Sequence[str]
) -> pl.DataFrame | None:
    """NODULE_SLICES of all verdicts that have voxels; None where none has.

    Long and short axis are measured on nodules only: no rule asks for those of ignored findings.
    """
    outlined = [number for number, one in enumerate(verdicts) if one.voxels is not None]
    if not outlined:
        return None
    regions = [region for one in verdicts if (region := one.voxels) is not None]
    owner = np.repeat(outlined, [len(region) for region in regions])
    voxel = np.concatenate(regions)
    case = np.array([panel.case[one.members[0]] for one in verdicts], dtype=np.int64)
    is_nodule = ~np.array([one.is_ignored for one in verdicts])[owner]
    axes = slice_sizes(owner[is_nodule], voxel[is_nodule], panel.spacing_mm[case][:, :2])
    rows = _boxes(panel, case, owner, voxel)
    return NODULE_SLICES.arrange(
        rows.with_columns(
            case_id=panel.readings.cases["case_id"][case[rows["owner"].to_numpy()]],
            nodule_id=pl.Series(names, dtype=pl.String)[rows["owner"].to_numpy()],
        ).join(axes, on=["owner", "slice_index"], how="left", maintain_order="left")
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
