"""Recall, precision, F-beta, false positives and calls of whole cases, over all marks that count.

A case is called abnormal by any mark that counts as hit or false positive in it.
"""

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.results import Curve
from nodulebench.metrics.metric import CaseSums, divide, ratio, sum_by_case
from nodulebench.metrics.ratings import is_abnormal, row_blocks
from nodulebench.metrics.score_order import running_counts, score_order


@ratio("no_nodules", is_proportion=True)
def recall(cohort: LabelledCohort) -> CaseSums:
    """Nodules hit / all nodules (sensitivity, lesion localisation rate)."""
    hits, misses, _ = _counts(cohort)
    return CaseSums(hits, hits + misses)


@ratio("no_nodules", is_proportion=True)
def miss_rate(cohort: LabelledCohort) -> CaseSums:
    """Nodules missed / all nodules."""
    hits, misses, _ = _counts(cohort)
    return CaseSums(misses, hits + misses)


@ratio("nothing_counts", is_proportion=True)
def precision(cohort: LabelledCohort) -> CaseSums:
    """Nodules hit / (nodules hit + false positives)."""
    hits, _, falses = _counts(cohort)
    return CaseSums(hits, hits + falses)


@ratio("neither_nodules_nor_marks")
def f_beta(cohort: LabelledCohort, *, beta: float = 1.0) -> CaseSums:
    """Weighted harmonic mean of precision and recall (F1 for beta = 1).

    As a ratio of counts: (1+b2) TP / ((1+b2) TP + b2 FN + FP).
    """
    if not cohort.nodule_count:
        raise UndefinedError("no_nodules_for_recall")
    return f_beta_sums(*_counts(cohort), beta)


def f_beta_sums(hits: FloatArray, misses: FloatArray, falses: FloatArray, beta: float) -> CaseSums:
    square = beta * beta
    return CaseSums((1 + square) * hits, (1 + square) * hits + square * misses + falses)


@ratio("no_cases")
def fp_per_case(cohort: LabelledCohort) -> CaseSums:
    """False positives / cases tested (non-lesion localisation rate)."""
    return CaseSums(sum_by_case(cohort, cohort.false_case), np.ones(cohort.case_count))


@ratio("no_normal_case")
def fp_per_normal_case(cohort: LabelledCohort) -> CaseSums:
    """False positives in cases without nodules / cases without nodules."""
    is_normal = (~is_abnormal(cohort)).astype(np.float64)
    return CaseSums(sum_by_case(cohort, cohort.false_case) * is_normal, is_normal)


@ratio("no_cases")
def marks_per_case(cohort: LabelledCohort) -> CaseSums:
    """All marks submitted / cases tested (candidates per scan)."""
    mark_case = cohort.reference.rows_of(cohort.submission.marks["case_id"])
    return CaseSums(sum_by_case(cohort, mark_case[mark_case >= 0]), np.ones(cohort.case_count))


@ratio("no_nodules", is_proportion=True)
def case_sensitivity(cohort: LabelledCohort) -> CaseSums:
    """Cases with nodules that have a mark / cases with nodules."""
    return _count_cases(_is_called(cohort), is_abnormal(cohort))


@ratio("no_normal_case", is_proportion=True)
def case_specificity(cohort: LabelledCohort) -> CaseSums:
    """Cases without nodules that have no mark / cases without nodules."""
    return _count_cases(~_is_called(cohort), ~is_abnormal(cohort))


def _counts(cohort: LabelledCohort) -> tuple[FloatArray, FloatArray, FloatArray]:
    cases = (cohort.nodule_case[cohort.is_hit], cohort.nodule_case[~cohort.is_hit])
    hits, misses, falses = (sum_by_case(cohort, case) for case in (*cases, cohort.false_case))
    return hits, misses, falses


def _is_called(cohort: LabelledCohort) -> BoolArray:
    hits, _, falses = _counts(cohort)
    return hits + falses > 0


def _count_cases(is_right: BoolArray, is_counted: BoolArray) -> CaseSums:
    return CaseSums((is_right & is_counted).astype(np.float64), is_counted.astype(np.float64))


def average_precision(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Mean over all nodules of the precision at which each is found (0 if missed).

    The area under precision against recall without interpolation: every step in recall is worth
    the precision at its end. Equal scores form one step.
    """
    order = score_order(cohort)
    is_step = np.append(False, np.diff(order.hits_through) > 0)
    hits_through, falses_through = order.hits_through[is_step], order.falses_through[is_step]
    nodules_of_case = np.bincount(cohort.nodule_case, minlength=cohort.case_count)
    nodules = case_weight @ nodules_of_case.astype(np.float64)
    total = np.empty(len(case_weight))
    for block in row_blocks(case_weight, 4 * len(hits_through)):
        hits = running_counts(order.hit_case, hits_through, case_weight[block])
        falses = running_counts(order.false_case, falses_through, case_weight[block])
        precision = np.divide(hits, hits + falses, out=np.zeros_like(hits), where=hits > 0)
        total[block] = np.sum(np.diff(hits, axis=1, prepend=0.0) * precision, axis=1)
    return divide(total, nodules)


def precision_recall_curve(cohort: LabelledCohort) -> Curve:
    """Precision against recall at every threshold."""
    if not cohort.nodule_count:
        raise UndefinedError("no_nodules")
    order = score_order(cohort)
    hits, falses = order.hits_through[1:], order.falses_through[1:]
    return Curve(
        name="precision_recall",
        x_name="recall",
        y_name="precision",
        x=hits / cohort.nodule_count,
        y=hits / (hits + falses),
        threshold=order.threshold[1:],
    )
