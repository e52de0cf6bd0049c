"""A finding -> its sizes, by the geometry that references are measured with."""

from typing import Any

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.outlines import area_mm2
from nodulebench.imaging.rasters import voxels_of
from nodulebench.reference.sizes import drawn_slice_sizes, region_sizes
from nodulebench.web.viewer.findings import Finding, OutlinedSlice
from nodulebench.web.viewer.tiles import Tiles


def measured(finding: Finding, tiles: Tiles) -> dict[str, Any]:
    """Sizes of a finding in mm, and the mean of its voxels in HU; nothing without outlines."""
    sizes = sizes_of(finding, tiles.grid)
    return {**sizes, "mean_hu": _mean_hu(finding.slices, tiles)} if sizes else {}


def sizes_of(finding: Finding, grid: Geometry) -> dict[str, Any]:
    """Sizes of a finding in mm; nothing without outlines.

    ``slices`` has for each outline its box (centre, length along x, width along y), axes and area,
    as they are exported and scored.
    """
    if not finding.slices:
        return {}
    corners = [np.array(one.outline, dtype=np.float64) for one in finding.slices]
    on_slices = drawn_slice_sizes(
        np.zeros(len(corners), dtype=np.int64),
        np.array([one.slice_index for one in finding.slices], dtype=np.int64),
        np.zeros(len(corners), dtype=np.bool_),
        np.zeros(len(corners), dtype=np.bool_),
        corners,
    )
    spacing_mm = float(grid.spacing_mm[2])
    whole = region_sizes(on_slices, np.array([spacing_mm])).row(0, named=True)
    area = float(on_slices["area_mm2"].sum())
    return {
        "long_mm": whole["long_mm"],
        "short_mm": whole["short_mm"],
        "average_mm": whole["average"],
        "diameter_mm": whole["volume_equivalent"],
        "volume_mm3": area * spacing_mm,
        "slices": [
            {
                **box_of(outline),
                "slice_index": drawn.slice_index,
                "area_mm2": area_mm2(outline),
                "long_mm": row["long_mm"],
                "short_mm": row["short_mm"],
            }
            for drawn, outline, row in zip(
                finding.slices, corners, _rows_of(finding.slices, on_slices), strict=True
            )
        ],
    }


def box_of(outline: FloatArray) -> dict[str, float]:
    """The box around an outline, as NODULE_SLICES has it."""
    low, high = outline.min(axis=0), outline.max(axis=0)
    (x, y), (length, width) = ((low + high) / 2).tolist(), (high - low).tolist()
    return {"center_x_mm": x, "center_y_mm": y, "length_mm": length, "width_mm": width}


def _rows_of(slices: tuple[OutlinedSlice, ...], sizes: Any) -> list[dict[str, float]]:
    by_slice = {row["slice_index"]: row for row in sizes.iter_rows(named=True)}
    return [by_slice[one.slice_index] for one in slices]


def _mean_hu(slices: tuple[OutlinedSlice, ...], tiles: Tiles) -> float | None:
    voxel: IntArray = voxels_of((one.as_drawn for one in slices), tiles.grid)
    if not len(voxel):
        return None
    i, j, k = voxel.T
    return float(tiles.volume.hu[k, j, i].mean())
