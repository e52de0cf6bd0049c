"""Graded classes -> one binary problem for each cut between grades (tables, not figures)."""

import numpy as np
import polars as pl

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.metrics.classes import ClassPairs
from nodulebench.metrics.guidelines import category_pairs
from nodulebench.metrics.ratings import concordance, rated


def category_cuts(cohort: LabelledCohort) -> pl.DataFrame:
    """Lung-RADS categories, over found nodules: one row per cut, as ``grade_cuts`` has them."""
    return grade_cuts(category_pairs(cohort))


def grade_cuts(pairs: ClassPairs) -> pl.DataFrame:
    """Graded classes on both sides: at each cut, who reaches it and who is said to reach it.

    Returns:
        One row per cut: ``cut`` (the lowest grade above it), counts ``true_positive,
        false_negative, false_positive, true_negative`` and ``accuracy, sensitivity,
        specificity``, null where undefined. Nodules without a grade on both sides are left out.
    """
    truth, said = pairs.truth[pairs.is_paired], pairs.said[pairs.is_paired]
    rows = []
    for cut in range(1, len(pairs.names)):
        above, called = truth >= cut, said >= cut
        rows.append(
            {
                "cut": pairs.names[cut],
                "true_positive": int(np.sum(above & called)),
                "false_negative": int(np.sum(above & ~called)),
                "false_positive": int(np.sum(~above & called)),
                "true_negative": int(np.sum(~above & ~called)),
                "accuracy": _share(above == called, np.ones_like(above)),
                "sensitivity": _share(called, above),
                "specificity": _share(~called, ~above),
            }
        )
    return pl.DataFrame(rows)


def malignancy_cuts(cohort: LabelledCohort) -> pl.DataFrame:
    """A graded reference (say five grades from 0 to 1) and a probability: the ROC area per cut.

    Returns:
        One row per cut: ``cut`` (the lowest grade above it), ``below`` and ``above`` (nodules
        found with a probability) and ``auc``.

    Raises:
        UndefinedError: where fewer than two grades were found with a probability.
    """
    truth, said = cohort.truth("malignancy"), cohort.said("malignancy")
    is_judged = np.isfinite(truth) & np.isfinite(said)
    truth, said, case = truth[is_judged], said[is_judged], cohort.nodule_case[is_judged]
    grades = np.unique(truth)
    if len(grades) < 2:
        raise UndefinedError("few_grades")
    everyone = np.ones((1, cohort.case_count))
    rows = []
    for cut in grades[1:]:
        above = truth >= cut
        area = concordance(
            rated(case[~above], said[~above]), rated(case[above], said[above]), everyone
        )
        rows.append(
            {
                "cut": float(cut),
                "below": int(np.sum(~above)),
                "above": int(np.sum(above)),
                "auc": float(area[0]),
            }
        )
    return pl.DataFrame(rows)


def _share(is_right: np.ndarray, is_counted: np.ndarray) -> float | None:
    total = int(np.sum(is_counted))
    return int(np.sum(is_right & is_counted)) / total if total else None
