"""Two labelled cohorts -> DeLong's test of their areas, where both rated the same things."""

import numpy as np

from nodulebench.core.arrays import IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.comparison import Significance
from nodulebench.core.errors import UndefinedError
from nodulebench.metrics import RATINGS, belongs_to
from nodulebench.statistics.delong import compare_auc


def delong_test(
    figure: str, first: LabelledCohort, second: LabelledCohort, unit_of_case: IntArray
) -> Significance | None:
    """DeLong's test (Obuchowski's for several of a patient) of first - second in an area.

    None where the figure is no area under a ROC curve, the two rated different nodules, or the
    difference has no variance.
    """
    ratings = belongs_to(figure, RATINGS)
    if ratings is None or not _rate_the_same(figure, first, second):
        return None
    try:
        (negative, positive), (other_negative, other_positive) = ratings(first), ratings(second)
        return compare_auc(
            np.stack([positive.rating, other_positive.rating]),
            np.stack([negative.rating, other_negative.rating]),
            positive_unit=unit_of_case[positive.case],
            negative_unit=unit_of_case[negative.case],
        ).significance
    except UndefinedError:
        return None


def _rate_the_same(figure: str, first: LabelledCohort, second: LabelledCohort) -> bool:
    """Whether both rated all cases by the same truth, or the same nodules."""
    if not np.array_equal(first.nodule_row, second.nodule_row):
        return False
    if figure != "malignancy_auc":
        return True
    said, other = (np.isfinite(one.said("malignancy")) for one in (first, second))
    return np.array_equal(said, other)
