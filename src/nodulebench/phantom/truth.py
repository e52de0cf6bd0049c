"""The truth of a phantom scan: its nodules as tables and as voxels."""

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import DENSITY_OF_TYPE, NODULE_SLICES, NODULES
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.outlines import long_and_short_mm, outline_text
from nodulebench.phantom.nodule import Nodule


def nodule_mask(nodule: Nodule, geometry: Geometry) -> tuple[tuple[slice, ...], BoolArray]:
    """The voxels of an axial volume whose centres lie in a nodule: a box of it, and which."""
    reach = nodule.shape.largest_reach_mm
    center = nodule.shape.center_mm
    assert geometry.size is not None  # noqa: S101 - scans know their size
    low = np.ceil(geometry.to_index((center - reach)[None])[0]).astype(int)
    high = np.floor(geometry.to_index((center + reach)[None])[0]).astype(int)
    low, high = np.maximum(low, 0), np.minimum(high, geometry.size - 1)
    bounds = zip(low[::-1].tolist(), high[::-1].tolist(), strict=True)
    box = tuple(slice(first, last + 1) for first, last in bounds)
    index = np.moveaxis(np.mgrid[box], 0, -1)[..., ::-1].astype(np.float64)
    inside = nodule.shape.contains(geometry.to_world(index.reshape(-1, 3)))
    return box, inside.reshape(index.shape[:3])


CONTOUR_CORNERS = 72


def nodule_rows(case_id: str, nodules: Iterable[Nodule]) -> list[JsonObject]:
    rows = []
    for nodule in nodules:
        shape = nodule.shape
        x, y, z = shape.centroid_mm.tolist()
        long, short = shape.long_and_short_mm
        core = nodule.core
        rows.append(
            {
                "case_id": case_id,
                "nodule_id": nodule.nodule_id,
                "x_mm": x,
                "y_mm": y,
                "z_mm": z,
                "diameter_mm": shape.diameter_mm,
                "is_ignored": False,
                "long_mm": long,
                "short_mm": short,
                "type": nodule.type,
                "density": DENSITY_OF_TYPE[nodule.type],
                "malignancy": float(nodule.is_malignant),
                "volume_mm3": shape.volume_mm3,
                "surface": nodule.surface,
                "attachment": nodule.attachment,
                "hu": nodule.hu,
                "core_diameter_mm": None if core is None else core.diameter_mm,
            }
        )
    return rows


def slice_rows(case_id: str, nodules: Iterable[Nodule], geometry: Geometry) -> list[JsonObject]:
    """One row of NODULE_SLICES for each nodule and slice of an axial scan that cuts it.

    A nodule between two slices is seen on the nearer one, with its largest section.
    """
    return [
        {"case_id": case_id, "nodule_id": nodule.nodule_id, **row}
        for nodule in nodules
        for row in _sections(nodule, geometry)
    ]


def _sections(nodule: Nodule, geometry: Geometry) -> list[JsonObject]:
    shape = nodule.shape
    bottom, step = float(geometry.origin_mm[2]), float(geometry.spacing_mm[2])
    assert geometry.size is not None  # noqa: S101 - scans know their size
    low, high = (int(np.ceil((z - bottom) / step)) for z in shape.extent_z_mm)
    heights = {number: bottom + number * step for number in range(low, high)}
    if not heights:
        widest = shape.largest_section_z_mm
        heights = {round((widest - bottom) / step): widest}
    rows = []
    for number, height in heights.items():
        outline = shape.outline(height, CONTOUR_CORNERS)
        if outline is not None and 0 <= number < geometry.size[2]:
            least, most = outline.min(axis=0), outline.max(axis=0)
            x, y = ((least + most) / 2).tolist()
            length, width = (most - least).tolist()
            long, short = long_and_short_mm(outline)
            row = {"slice_index": number, "z_mm": bottom + number * step}
            row |= {"center_x_mm": x, "center_y_mm": y, "length_mm": length, "width_mm": width}
            row |= {"long_mm": long, "short_mm": short}
            rows.append({**row, "contour": outline_text(outline.tolist(), ".3f")})
    return rows


def nodule_tables(
    nodules: Sequence[JsonObject], slices: Sequence[JsonObject]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    return (
        NODULES.conform(_table(nodules, NODULES.empty()), "phantom nodules"),
        NODULE_SLICES.conform(_table(slices, NODULE_SLICES.empty()), "phantom slices"),
    )


def _table(rows: Sequence[JsonObject], empty: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None) if rows else empty
