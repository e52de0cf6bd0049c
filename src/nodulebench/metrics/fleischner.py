"""Size and density -> class of the Fleischner Society's 2017 guideline for incidental nodules.

MacMahon et al., Radiology 284 (2017) 228-243, table 1. The mean of long and short axis is rounded
to the nearest millimetre (halves up), so the cuts lie at 5.5 and 8.5 mm.
"""

import numpy as np

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.tables import DENSITIES
from nodulebench.metrics.classes import SILENT, density_pairs
from nodulebench.metrics.guidelines import SIZES, mean_diameter_mm

FLEISCHNER_SIZES = (
    "solid <6 mm",
    "solid 6-8 mm",
    "solid >8 mm",
    "subsolid <6 mm",
    "subsolid ≥6 mm",
)
"""Classes of whole millimetres; subsolid nodules are ground glass or part-solid."""


def fleischner_size(mean_mm: FloatArray, density: IntArray) -> IntArray:
    """The number in FLEISCHNER_SIZES of each nodule, -1 where the data do not suffice.

    Args:
        mean_mm: mean diameter, NaN where not measured.
        density: number in DENSITIES, -1 where unknown; calcified nodules have no class.
    """
    whole = np.floor(mean_mm + 0.5 + 1e-9)
    of_solid = np.searchsorted((6.0, 9.0), whole, "right")
    of_subsolid = 3 + np.searchsorted((6.0,), whole, "right")
    solid, *subsolid = (DENSITIES.index(name) for name in ("solid", "part_solid", "ground_glass"))
    found = np.select(
        [density == solid, np.isin(density, subsolid)], [of_solid, of_subsolid], SILENT
    )
    return np.where(np.isnan(whole), SILENT, found)


def fleischner_strata(cohort: LabelledCohort) -> IntArray:
    """The Fleischner size class of each nodule of a cohort."""
    mean_mm = mean_diameter_mm(*(cohort.truth(name) for name in SIZES))
    return fleischner_size(mean_mm, density_pairs(cohort).truth)
