"""What the algorithm says of found nodules: size error, diameter error, density, confusion table.

Size and diameter figures take the found nodules that have the measure on both sides; a negative
or zero reference size means that it was not measured.
"""

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.metrics.classes import SILENT, ClassPairs, density_pairs, says_density
from nodulebench.metrics.metric import CaseSums, ratio, sum_by_case


def _measured(cohort: LabelledCohort, column: str) -> tuple[FloatArray, FloatArray]:
    """A size in the reference and as said, NaN in both unless both are there."""
    truth, said = cohort.truth(column), cohort.said(column)
    is_measured = (truth > 0) & np.isfinite(said)
    return np.where(is_measured, truth, np.nan), np.where(is_measured, said, np.nan)


def _mean_of(cohort: LabelledCohort, value: FloatArray) -> CaseSums:
    """The sums of a mean over the nodules whose value is not NaN."""
    is_known = np.isfinite(value)
    case = cohort.nodule_case[is_known]
    return CaseSums(sum_by_case(cohort, case, value[is_known]), sum_by_case(cohort, case))


@ratio("unpaired_long_axis")
def size_error_rate(cohort: LabelledCohort) -> CaseSums:
    """Mean of |long axis said - long axis of the reference| / long axis of the reference."""
    truth, said = _measured(cohort, "long_mm")
    return _mean_of(cohort, np.abs(said - truth) / truth)


@ratio("unpaired_diameter")
def diameter_error_mm(cohort: LabelledCohort) -> CaseSums:
    """Mean of diameter said - diameter of the reference, in mm (above 0: too large)."""
    truth, said = _measured(cohort, "diameter_mm")
    return _mean_of(cohort, said - truth)


@ratio("unpaired_diameter")
def absolute_diameter_error_mm(cohort: LabelledCohort) -> CaseSums:
    """Mean of |diameter said - diameter of the reference|, in mm."""
    truth, said = _measured(cohort, "diameter_mm")
    return _mean_of(cohort, np.abs(said - truth))


@ratio("density_unknown", is_proportion=True)
def density_accuracy(cohort: LabelledCohort) -> CaseSums:
    """Nodules found with the right density class / all nodules whose density is known."""
    return _right_densities(cohort, np.ones_like(cohort.is_hit))


@ratio("no_found_density", is_proportion=True)
def density_accuracy_of_found(cohort: LabelledCohort) -> CaseSums:
    """Nodules found with the right density class / found nodules whose density is known."""
    return _right_densities(cohort, cohort.is_hit)


def _right_densities(cohort: LabelledCohort, is_counted: BoolArray) -> CaseSums:
    if not says_density(cohort):
        raise UndefinedError("no_density_said")
    pairs = density_pairs(cohort)
    return CaseSums(
        sum_by_case(cohort, cohort.nodule_case[pairs.is_same]),
        sum_by_case(cohort, cohort.nodule_case[is_counted & (pairs.truth != SILENT)]),
    )


def confusion_table(cohort: LabelledCohort, pairs: ClassPairs) -> pl.DataFrame:
    """How often each class was given to nodules of each class, misses and silence included.

    Returns:
        Rows ``truth, said, nodules``: every pair of classes, then what was ``missed`` and what
        was found with its class ``not said``; nodules without a class in the reference are left
        out.
    """
    said = np.where(
        cohort.is_hit,
        np.where(pairs.said == SILENT, len(pairs.names) + 1, pairs.said),
        len(pairs.names),
    )
    answers = (*pairs.names, "missed", "not said")
    return pl.DataFrame(
        [
            {
                "truth": truth_name,
                "said": answer,
                "nodules": int(np.count_nonzero((pairs.truth == truth) & (said == number))),
            }
            for truth, truth_name in enumerate(pairs.names)
            for number, answer in enumerate(answers)
        ]
    )


def density_confusion(cohort: LabelledCohort) -> pl.DataFrame:
    """How often each density was given to nodules of each density."""
    return confusion_table(cohort, density_pairs(cohort))
