"""A table of LIDC-IDRI scans (one row per series) -> CASES with their geometry."""

from pathlib import Path

import polars as pl

from nodulebench.core.tables import CASES
from nodulebench.io.csv_files import read_columns

IN_PLANE_SIZE = 512
"""Every CT image of LIDC-IDRI has 512 x 512 pixels."""
_OF_LUNA16 = ("luna_step_xy_mm", "luna_origin_x_mm", "luna_origin_y_mm")
_OPTIONAL_NUMBERS = ("n_slices", "slice_thickness_mm", *_OF_LUNA16)
_HALF_TURN = "-1 0 0 0 -1 0 0 0 1"


def read_scans(path: Path) -> pl.DataFrame:
    """CASES of a scan table.

    Needed columns are ``seriesuid``, ``pixel_spacing_mm``, ``slice_spacing_mm`` and
    ``z_first_mm`` (the lowest slice); LIDC's XML holds none of them. The origin in the plane
    (``luna_origin_x_mm``, ``luna_origin_y_mm``) and the step with its sign (``luna_step_xy_mm``,
    negative for an image that lies rotated by half a turn) are read where they are given.

    Raises:
        InputError: for each missing column and unreadable number.
    """
    rows = read_columns(
        path,
        text=("seriesuid",),
        numbers=("pixel_spacing_mm", "slice_spacing_mm", "z_first_mm"),
        optional_text=("patient_id",),
        optional_numbers=_OPTIONAL_NUMBERS,
    )
    rows = rows.with_columns(
        pl.lit(None, dtype=pl.String if name == "patient_id" else pl.Float64).alias(name)
        for name in ("patient_id", *_OPTIONAL_NUMBERS)
        if name not in rows.columns
    )
    step = pl.coalesce(pl.col("luna_step_xy_mm").abs(), "pixel_spacing_mm")
    return CASES.conform(
        rows.select(
            "patient_id",
            "slice_thickness_mm",
            case_id="seriesuid",
            size_x=pl.lit(IN_PLANE_SIZE),
            size_y=pl.lit(IN_PLANE_SIZE),
            size_z="n_slices",
            spacing_x_mm=step,
            spacing_y_mm=step,
            spacing_z_mm="slice_spacing_mm",
            origin_x_mm="luna_origin_x_mm",
            origin_y_mm="luna_origin_y_mm",
            origin_z_mm="z_first_mm",
            direction=pl.when(pl.col("luna_step_xy_mm") < 0).then(pl.lit(_HALF_TURN)),
        ),
        path.name,
    )
