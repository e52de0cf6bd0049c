"""Size and density -> Lung-RADS category of a nodule at baseline, as far as the data allow.

Long and short axis to 0.1 mm, and their mean to 0.1 mm (Lung-RADS 2022, American College of
Radiology; 1.1 has the same cuts):

=============  ==========================================================  ========
density        mean diameter                                               category
=============  ==========================================================  ========
calcified      any (taken as benign calcification)                         1
solid          < 6, [6, 8), [8, 15), >= 15 mm                              2, 3, 4A, 4B
part-solid     < 6 mm                                                      2
part-solid     >= 6 mm with solid part < 6, [6, 8), >= 8 mm                3, 4A, 4B
ground glass   < 30, >= 30 mm                                              2, 3
=============  ==========================================================  ========

Limits. A part-solid nodule of 6 mm or more has no category unless the size of its solid part is
known (column ``solid_part_mm`` of NODULES or MARKS). Growth, new nodules, juxtapleural shape,
airway nodules, cysts and the features that raise 3 or 4 to 4X are not in the data: pleural nodules
get the cuts of their density, and 4X appears only where a file states it. A stated category is
always used as it is.
"""

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import Problem, raise_problems
from nodulebench.core.tables import DENSITIES
from nodulebench.metrics.classes import NO_CLASS, ClassPairs, density_pairs

LUNG_RADS = ("1", "2", "3", "4A", "4B", "4X")

SOLID_CUTS_MM = (6.0, 8.0, 15.0)
SOLID_PART_CUTS_MM = (6.0, 8.0)
PART_SOLID_CUT_MM = 6.0
GROUND_GLASS_CUT_MM = 30.0

_SOLID, _PART_SOLID, _GROUND_GLASS, _CALCIFIED = (
    DENSITIES.index(name) for name in ("solid", "part_solid", "ground_glass", "calcified")
)


def mean_diameter_mm(
    long_mm: FloatArray, short_mm: FloatArray, diameter_mm: FloatArray
) -> FloatArray:
    """Mean of both axes; the diameter where an axis is not given; NaN where nothing is measured."""
    axes = (long_mm + short_mm) / 2
    return np.where(axes > 0, axes, np.where(diameter_mm > 0, diameter_mm, np.nan))


def lung_rads_class(
    mean_mm: FloatArray, density: IntArray, solid_part_mm: FloatArray | None = None
) -> IntArray:
    """The number in LUNG_RADS of each nodule at baseline, -1 where the data do not suffice.

    Densities are numbers in DENSITIES, -1 where unknown; unknown sizes are NaN.
    """
    mean = _to_tenth(mean_mm)
    part = np.full(len(mean), np.nan) if solid_part_mm is None else _to_tenth(solid_part_mm)
    of_solid = 1 + np.searchsorted(SOLID_CUTS_MM, mean, "right")
    of_part = np.where(
        np.isnan(part), NO_CLASS, 2 + np.searchsorted(SOLID_PART_CUTS_MM, part, "right")
    )
    of_glass = np.where(mean < GROUND_GLASS_CUT_MM, 1, 2)
    category = np.select(
        [density == _SOLID, density == _PART_SOLID, density == _GROUND_GLASS],
        [of_solid, np.where(mean < PART_SOLID_CUT_MM, 1, of_part), of_glass],
        NO_CLASS,
    )
    category = np.where(np.isnan(mean), NO_CLASS, category)
    return np.where(density == _CALCIFIED, 0, category).astype(np.int64)


def category_pairs(cohort: LabelledCohort) -> ClassPairs:
    """Lung-RADS category of each nodule and of its hit: as stated, else derived.

    Raises:
        InputError: where a table states a category that Lung-RADS does not have.
    """
    _check_categories(cohort.reference.nodules["category"], "NODULES")
    _check_categories(cohort.submission.marks["category"], "MARKS")
    density = density_pairs(cohort)
    marks = cohort.submission.marks
    stated_part = cohort.stated(_PART) if _PART in marks.columns else None
    stated_size = _measured(*(cohort.stated(name) for name in SIZES))
    truth = cohort.truth_class("category", LUNG_RADS)
    stated = cohort.stated_class("category", LUNG_RADS)
    return ClassPairs(
        LUNG_RADS,
        np.where(truth == NO_CLASS, lung_rads_strata(cohort), truth),
        np.where(
            stated == NO_CLASS, lung_rads_class(stated_size, density.stated, stated_part), stated
        ),
    )


def lung_rads_strata(cohort: LabelledCohort) -> IntArray:
    has_part = _PART in cohort.reference.nodules.columns
    return lung_rads_class(
        _measured(*(cohort.truth(name) for name in SIZES)),
        density_pairs(cohort).truth,
        cohort.truth(_PART) if has_part else None,
    )


SIZES = ("long_mm", "short_mm", "diameter_mm")
_PART = "solid_part_mm"


def _measured(long_mm: FloatArray, short_mm: FloatArray, diameter_mm: FloatArray) -> FloatArray:
    """The mean diameter of axes that were measured to 0.1 mm, as Lung-RADS asks."""
    return mean_diameter_mm(_to_tenth(long_mm), _to_tenth(short_mm), diameter_mm)


def _check_categories(stated: pl.Series, table: str) -> None:
    unknown = stated.filter(stated.is_not_null() & ~stated.is_in(LUNG_RADS))
    raise_problems(
        Problem(
            table,
            f"category '{name}' is not one of Lung-RADS.",
            f"Use {', '.join(LUNG_RADS)}, or leave it empty to have it derived from size "
            "and density.",
        )
        for name in unknown.unique(maintain_order=True)
    )


def _to_tenth(size_mm: FloatArray) -> FloatArray:
    """Rounded to 0.1 mm, halves up (5.95 mm is 6.0 mm); 1e-9 undoes binary fractions."""
    return np.floor(size_mm * 10 + 0.5 + 1e-9) / 10


NEW_SOLID_CUTS_MM = (4.0, 6.0, 8.0)
GROWING_SOLID_CUT_MM = 8.0
NEW_PART_SOLID_CUT_MM = 6.0
SOLID_PART_CUT_MM = 4.0
SIX_MONTHS_DAYS, THREE_MONTHS_DAYS = 180, 90
_1, _2, _3, _4A, _4B = (LUNG_RADS.index(name) for name in ("1", "2", "3", "4A", "4B"))


def follow_up_class(
    mean_mm: FloatArray,
    density: IntArray,
    solid_part_mm: FloatArray,
    change: list[str | None],
    prior_days: IntArray,
) -> IntArray:
    """The number in LUNG_RADS of each nodule, -1 where the data do not suffice.

    Densities and sizes are as in ``lung_rads_class``; a change is new, growing, slowly_growing or
    stable; ``prior_days`` are those since the latest earlier scan.
    """
    baseline = lung_rads_class(mean_mm, density, solid_part_mm)
    named = np.array([name or "" for name in change], dtype=object)
    is_new, is_growing = named == "new", named == "growing"
    is_changed = is_new | is_growing
    by_part = np.where(solid_part_mm < SOLID_PART_CUT_MM, _4A, _4B)
    by_part = np.where(np.isnan(solid_part_mm), NO_CLASS, by_part)
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
        NO_CLASS,
    )
    slow = np.where(density == _GROUND_GLASS, _2, _4B)
    stable = np.where((baseline == _3) & (prior_days >= SIX_MONTHS_DAYS), _2, baseline)
    stable = np.where((baseline == _4A) & (prior_days >= THREE_MONTHS_DAYS), _3, stable)
    stable = np.where(density == _GROUND_GLASS, _2, stable)
    category = np.select(
        [is_changed, named == "slowly_growing", named == "stable"],
        [changed, slow, stable],
        NO_CLASS,
    )
    is_known = ~np.isnan(mean_mm) & (density != NO_CLASS)
    category = np.where(is_known, category, NO_CLASS)
    return np.where((density == _CALCIFIED) & (named != ""), _1, category).astype(np.int64)


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

    Calcified nodules and unknown densities have no class; unknown sizes are NaN.
    """
    whole = np.floor(mean_mm + 0.5 + 1e-9)
    of_solid = np.searchsorted((6.0, 9.0), whole, "right")
    of_subsolid = 3 + np.searchsorted((6.0,), whole, "right")
    solid, *subsolid = (DENSITIES.index(name) for name in ("solid", "part_solid", "ground_glass"))
    size_class = np.select(
        [density == solid, np.isin(density, subsolid)], [of_solid, of_subsolid], NO_CLASS
    )
    return np.where(np.isnan(whole), NO_CLASS, size_class)


def fleischner_strata(cohort: LabelledCohort) -> IntArray:
    mean_mm = mean_diameter_mm(*(cohort.truth(name) for name in SIZES))
    return fleischner_size(mean_mm, density_pairs(cohort).truth)
