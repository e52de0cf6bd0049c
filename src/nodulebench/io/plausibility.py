"""Marks or nodules and the cases' geometry -> notices where their places cannot be right."""

import numpy as np
import polars as pl

from nodulebench.core.notices import Notice
from nodulebench.imaging.geometry import geometries, lps_to_ras


def place_notices(places: pl.DataFrame, cases: pl.DataFrame | None) -> tuple[Notice, ...]:
    """Say how many places lie outside their image, and whether RAS or LPS explains it.

    A mark in the wrong coordinate system is a miss without any other sign, so it is said.

    Args:
        places: a table with case_id, x_mm, y_mm, z_mm.
        cases: CASES; cases without geometry are passed over.
    """
    known = geometries(cases)
    checked = outside = mirrored_outside = 0
    if known:
        for (case_id,), part in places.group_by("case_id", maintain_order=True):
            grid = known.get(str(case_id))
            if grid is None or grid.size is None:
                continue
            point = part.select("x_mm", "y_mm", "z_mm").to_numpy()
            checked += len(point)
            outside += int(np.count_nonzero(~grid.contains(point)))
            mirrored_outside += int(np.count_nonzero(~grid.contains(lps_to_ras(point))))
    if not outside:
        return ()
    values = {"outside": outside, "checked": checked}
    if mirrored_outside < outside:
        values["mirrored"] = mirrored_outside
    return (Notice("outside_image", values),)
