"""Recall, precision, F-beta, miss rate and false positives per case, over all marks that count."""

from nodulebench.metrics.figure import CaseSums, Ratio, sum_by_case
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
    hits = sum_by_case(cohort, cohort.nodule_case[cohort.is_hit])
    misses = sum_by_case(cohort, cohort.nodule_case[~cohort.is_hit])
    falses = sum_by_case(cohort, cohort.false_case)
    square = beta * beta
    return CaseSums((1 + square) * hits, (1 + square) * hits + square * misses + falses)


def _falses_of_cases(cohort: LabelledCohort) -> CaseSums:
    falses = sum_by_case(cohort, cohort.false_case)
    return CaseSums(falses, falses * 0 + 1)


recall = Ratio(
    "recall",
    "Nodules hit / all nodules (sensitivity, lesion localisation rate)",
    _hits_of_nodules,
    "there are no nodules to find",
    is_proportion=True,
)
miss_rate = Ratio(
    "miss_rate",
    "Nodules missed / all nodules",
    _misses_of_nodules,
    "there are no nodules to find",
    is_proportion=True,
)
precision = Ratio(
    "precision",
    "Nodules hit / (nodules hit + false positives)",
    _hits_of_marks,
    "no mark counts as hit or false positive",
    is_proportion=True,
)
f_beta = Ratio(
    "f_beta",
    "Weighted harmonic mean of precision and recall (F1 for beta = 1)",
    _f_beta,
    "there are neither nodules nor marks",
)
fp_per_case = Ratio(
    "fp_per_case",
    "False positives / cases tested (non-lesion localisation rate)",
    _falses_of_cases,
    "there are no cases",
)
