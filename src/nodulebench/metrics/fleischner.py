"""Mean diameter -> size class of the Fleischner Society's 2017 guideline for incidental nodules."""

import numpy as np

from nodulebench.metrics.lung_rads import mean_diameter_mm
from nodulebench.model.arrays import FloatArray, IntArray
from nodulebench.model.cohort import LabelledCohort

FLEISCHNER_SIZES = ("<6 mm", "6-8 mm", ">8 mm")
"""Classes after rounding to whole millimetres."""


def fleischner_size(mean_mm: FloatArray) -> IntArray:
    """The number in FLEISCHNER_SIZES of each mean diameter, -1 where it is not measured.

    The mean of long and short axis is rounded to the nearest millimetre (halves up), so the cuts
    lie at 5.5 and 8.5 mm. MacMahon et al., Radiology 284 (2017) 228-243.
    """
    whole = np.floor(mean_mm + 0.5 + 1e-9)
    return np.where(np.isnan(whole), -1, np.searchsorted((6.0, 9.0), whole, "right"))


def fleischner_strata(cohort: LabelledCohort) -> IntArray:
    """The Fleischner size class of each nodule of a cohort."""
    axes = (cohort.truth(name) for name in ("long_mm", "short_mm", "diameter_mm"))
    return fleischner_size(mean_diameter_mm(*axes))
