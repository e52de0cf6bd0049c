"""Size, density and change -> Lung-RADS 2022 category of a nodule that was looked for before.

=============  ================================================  ================================
density        change                                            category
=============  ================================================  ================================
calcified      any                                               1
solid          new: < 4, [4, 6), [6, 8), >= 8 mm                 2, 3, 4A, 4B
solid          growing: < 8, >= 8 mm                             4A, 4B
part-solid     new, < 6 mm                                       3
part-solid     new or growing: solid part < 4, >= 4 mm           4A, 4B
solid, part-   slowly growing                                    4B
solid
ground glass   new or growing: < 30, >= 30 mm                    2, 3
ground glass   slowly growing or stable                          2
solid, part-   stable: as at baseline; 3 becomes 2 after six     2, 3, 4A, 4B
solid          months, 4A becomes 3 after three
=============  ================================================  ================================

Rows for new and growing nodules are in version 1.1, too (NBK568579, Appendix A Table 2), those for
ground glass and a stable 3 in RadElement RDES267. A month has 30 days. What ``lung_rads`` says of
its limits holds here too.
"""

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.tables import DENSITIES
from nodulebench.metrics.classes import SILENT
from nodulebench.metrics.guidelines import LUNG_RADS, lung_rads_class

NEW_SOLID_CUTS_MM = (4.0, 6.0, 8.0)
GROWING_SOLID_CUT_MM = 8.0
NEW_PART_SOLID_CUT_MM = 6.0
SOLID_PART_CUT_MM = 4.0
GROUND_GLASS_CUT_MM = 30.0
SIX_MONTHS_DAYS, THREE_MONTHS_DAYS = 180, 90
_SOLID, _PART_SOLID, _GROUND_GLASS, _CALCIFIED = (
    DENSITIES.index(name) for name in ("solid", "part_solid", "ground_glass", "calcified")
)
_1, _2, _3, _4A, _4B = (LUNG_RADS.index(name) for name in ("1", "2", "3", "4A", "4B"))


def follow_up_class(
    mean_mm: FloatArray,
    density: IntArray,
    solid_part_mm: FloatArray,
    change: list[str | None],
    prior_days: IntArray,
) -> IntArray:
    """The number in LUNG_RADS of each nodule, -1 where the data do not suffice.

    Args:
        mean_mm: mean diameter to 0.1 mm, NaN where not measured.
        density: number in DENSITIES, -1 where unknown.
        solid_part_mm: mean diameter of the solid part, NaN where unknown.
        change: new, growing, slowly_growing, stable; None: not known.
        prior_days: since the latest earlier scan.
    """
    baseline = lung_rads_class(mean_mm, density, solid_part_mm)
    named = np.array([one or "" for one in change], dtype=object)
    is_new, is_growing = named == "new", named == "growing"
    is_changed = is_new | is_growing
    by_part = np.where(solid_part_mm < SOLID_PART_CUT_MM, _4A, _4B)
    by_part = np.where(np.isnan(solid_part_mm), SILENT, by_part)
    is_small_new = is_new & (mean_mm < NEW_PART_SOLID_CUT_MM)
    of_solid = np.where(
        is_new,
        _2 + np.searchsorted(NEW_SOLID_CUTS_MM, mean_mm, "right"),
        np.where(mean_mm < GROWING_SOLID_CUT_MM, _4A, _4B),
    )
    of_glass = np.where(mean_mm < GROUND_GLASS_CUT_MM, _2, _3)
    changed = np.select(
        [density == _SOLID, density == _PART_SOLID, density == _GROUND_GLASS],
        [of_solid, np.where(is_small_new, _3, by_part), of_glass],
        SILENT,
    )
    slow = np.where(density == _GROUND_GLASS, _2, _4B)
    stable = np.where((baseline == _3) & (prior_days >= SIX_MONTHS_DAYS), _2, baseline)
    stable = np.where((baseline == _4A) & (prior_days >= THREE_MONTHS_DAYS), _3, stable)
    stable = np.where(density == _GROUND_GLASS, _2, stable)
    found = np.select(
        [is_changed, named == "slowly_growing", named == "stable"], [changed, slow, stable], SILENT
    )
    is_known = ~np.isnan(mean_mm) & (density != SILENT)
    found = np.where(is_known, found, SILENT)
    return np.where((density == _CALCIFIED) & (named != ""), _1, found).astype(np.int64)
