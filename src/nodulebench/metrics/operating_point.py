"""Recall, precision, F-beta, false positives and calls of whole cases, over all marks that count.

A case is called abnormal by any mark that counts as hit or false positive in it.
"""

import numpy as np

from nodulebench.errors import UndefinedError
from nodulebench.metrics.figure import CaseSums, Ratio, sum_by_case
from nodulebench.model.arrays import BoolArray
from nodulebench.model.cohort import LabelledCohort


def _hits_of_nodules(cohort: LabelledCohort) -> CaseSums:
    return CaseSums(
        sum_by_case(cohort, cohort.nodule_case[cohort.is_hit]),
        sum_by_case(cohort, cohort.nodule_case),
    )


def _misses_of_nodules(cohort: LabelledCohort) -> CaseSums:
    return CaseSums(
        sum_by_case(cohort, cohort.nodule_case[~cohort.is_hit]),
        sum_by_case(cohort, cohort.nodule_case),
    )


def _hits_of_marks(cohort: LabelledCohort) -> CaseSums:
    hits = sum_by_case(cohort, cohort.nodule_case[cohort.is_hit])
    return CaseSums(hits, hits + sum_by_case(cohort, cohort.false_case))


def _f_beta(cohort: LabelledCohort, *, beta: float = 1.0) -> CaseSums:
    """F_beta as a ratio of counts: (1+b2) TP / ((1+b2) TP + b2 FN + FP)."""
    if not cohort.nodule_count:
        raise UndefinedError("no_nodules_for_recall")
    hits = sum_by_case(cohort, cohort.nodule_case[cohort.is_hit])
    misses = sum_by_case(cohort, cohort.nodule_case[~cohort.is_hit])
    falses = sum_by_case(cohort, cohort.false_case)
    square = beta * beta
    return CaseSums((1 + square) * hits, (1 + square) * hits + square * misses + falses)


def _falses_of_cases(cohort: LabelledCohort) -> CaseSums:
    falses = sum_by_case(cohort, cohort.false_case)
    return CaseSums(falses, falses * 0 + 1)


def _falses_of_normal_cases(cohort: LabelledCohort) -> CaseSums:
    is_normal = (sum_by_case(cohort, cohort.nodule_case) == 0).astype(np.float64)
    falses = sum_by_case(cohort, cohort.false_case)
    return CaseSums(falses * is_normal, is_normal)


def _marks_of_cases(cohort: LabelledCohort) -> CaseSums:
    mark_case = cohort.reference.rows_of(cohort.submission.marks["case_id"])
    marks = sum_by_case(cohort, mark_case[mark_case >= 0])
    return CaseSums(marks, np.ones_like(marks))


def _abnormal_cases_called(cohort: LabelledCohort) -> CaseSums:
    is_abnormal = sum_by_case(cohort, cohort.nodule_case) > 0
    return _count_cases(is_abnormal & _is_called(cohort), is_abnormal)


def _normal_cases_not_called(cohort: LabelledCohort) -> CaseSums:
    is_normal = sum_by_case(cohort, cohort.nodule_case) == 0
    return _count_cases(is_normal & ~_is_called(cohort), is_normal)


def _is_called(cohort: LabelledCohort) -> BoolArray:
    hits = sum_by_case(cohort, cohort.nodule_case[cohort.is_hit])
    return hits + sum_by_case(cohort, cohort.false_case) > 0


def _count_cases(is_right: BoolArray, is_counted: BoolArray) -> CaseSums:
    return CaseSums(is_right.astype(np.float64), is_counted.astype(np.float64))


recall = Ratio(
    "recall",
    "Nodules hit / all nodules (sensitivity, lesion localisation rate)",
    _hits_of_nodules,
    "no_nodules",
    is_proportion=True,
)
miss_rate = Ratio(
    "miss_rate",
    "Nodules missed / all nodules",
    _misses_of_nodules,
    "no_nodules",
    is_proportion=True,
)
precision = Ratio(
    "precision",
    "Nodules hit / (nodules hit + false positives)",
    _hits_of_marks,
    "nothing_counts",
    is_proportion=True,
)
f_beta = Ratio(
    "f_beta",
    "Weighted harmonic mean of precision and recall (F1 for beta = 1)",
    _f_beta,
    "neither_nodules_nor_marks",
)
fp_per_case = Ratio(
    "fp_per_case",
    "False positives / cases tested (non-lesion localisation rate)",
    _falses_of_cases,
    "no_cases",
)
fp_per_normal_case = Ratio(
    "fp_per_normal_case",
    "False positives in cases without nodules / cases without nodules",
    _falses_of_normal_cases,
    "no_normal_case",
)
marks_per_case = Ratio(
    "marks_per_case",
    "All marks submitted / cases tested (candidates per scan)",
    _marks_of_cases,
    "no_cases",
)
case_sensitivity = Ratio(
    "case_sensitivity",
    "Cases with nodules that have a mark / cases with nodules",
    _abnormal_cases_called,
    "no_nodules",
    is_proportion=True,
)
case_specificity = Ratio(
    "case_specificity",
    "Cases without nodules that have no mark / cases without nodules",
    _normal_cases_not_called,
    "no_normal_case",
    is_proportion=True,
)
