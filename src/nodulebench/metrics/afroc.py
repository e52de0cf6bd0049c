"""AFROC: nodules rated above the highest false positive of a case, weighted or not; case ROC.

A false-positive rating of a case is its highest score among false positives, -inf without any;
a nodule's rating is the score of its hit, -inf if it was missed. The area is the share of pairs
(false-positive rating, nodule rating) that the nodule wins, ties counting one half. AFROC takes
the false-positive ratings from cases without nodules, AFROC1 from all cases; the weighted forms
give every case with nodules the same say. Chakraborty, Observer Performance Methods for
Diagnostic Imaging (2017).
"""

import numpy as np

from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort, nodule_shares
from nodulebench.core.errors import UndefinedError
from nodulebench.core.results import Curve
from nodulebench.metrics.metric import divide
from nodulebench.metrics.ratings import (
    TWO_FRACTIONS,
    Ratings,
    concordance,
    highest_false,
    highest_hit,
    is_abnormal,
    mean_signal_until,
    rated,
    rating_curve,
    require_cases,
    require_scores,
    row_blocks,
    signal_at,
)
from nodulebench.metrics.score_order import running_counts, score_order

_CASES_WITH_FALSES = "normal cases with a false positive"


def afroc_area(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Area under the AFROC: nodules against the highest false positive of normal cases."""
    return concordance(_normal_noise(cohort, "AFROC", "AFROC1"), _nodules(cohort), case_weight)


def wafroc_area(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Area under the weighted AFROC: as AFROC, every abnormal case counting the same."""
    noise = _normal_noise(cohort, "wAFROC", "wAFROC1")
    return concordance(noise, _weighted_nodules(cohort), case_weight)


def afroc1_area(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Area under the AFROC1: nodules against the highest false positive of every case."""
    return concordance(_all_noise(cohort), _nodules(cohort), case_weight)


def wafroc1_area(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Area under the weighted AFROC1: as AFROC1, every abnormal case counting the same."""
    return concordance(_all_noise(cohort), _weighted_nodules(cohort), case_weight)


def case_roc_area(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Area under the inferred ROC: each case rated by its highest mark, hit or false positive."""
    return concordance(*case_ratings(cohort), case_weight)


def case_sensitivity_at_fpf(
    cohort: LabelledCohort,
    case_weight: WeightArray,
    *,
    fpf_points: tuple[float, ...] = TWO_FRACTIONS,
) -> FloatArray:
    """Sensitivity for cases at fixed specificity, read on the inferred ROC at 1 - x (columns)."""
    return signal_at(*case_ratings(cohort), case_weight, fpf_points)


def case_roc_area_until_fpf(
    cohort: LabelledCohort,
    case_weight: WeightArray,
    *,
    fpf_points: tuple[float, ...] = TWO_FRACTIONS,
) -> FloatArray:
    """Partial area under the inferred ROC over its width: mean sensitivity until x (columns)."""
    return mean_signal_until(*case_ratings(cohort), case_weight, fpf_points)


def efroc_area(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Area under sensitivity against 1 - exp(-false positives per case).

    Popescu, Medical Physics 38 (2011) 5690-5702. Right of the last operating point the curve stays
    level, so a missed nodule adds nothing; a hit adds exp(-f), f being the false positives per
    case scored above it (with ties, the mean of exp(-f) before and after the tied group).
    """
    order = score_order(cohort)
    group = np.repeat(np.arange(len(order.hits_through)), np.diff(order.hits_through, prepend=0))
    used, place = np.unique(
        np.concatenate([order.falses_through[group - 1], order.falses_through[group]]),
        return_inverse=True,
    )
    before, after = np.split(place, 2)
    credit = np.empty(len(case_weight))
    for block in row_blocks(case_weight, len(used) + 2 * len(group)):
        weight = case_weight[block]
        falses = running_counts(order.false_case, used, weight)
        cases = weight.sum(axis=1, dtype=np.float64)[:, np.newaxis]
        left = np.exp(-np.divide(falses, cases, out=falses, where=cases > 0))
        share = (left[:, before] + left[:, after]) / 2
        credit[block] = np.sum(share * weight[:, order.hit_case], axis=1)
    return divide(credit, _nodules(cohort).total(case_weight))


def afroc_curve(cohort: LabelledCohort) -> Curve:
    noise, signal = _normal_noise(cohort, "AFROC", "AFROC1"), _nodules(cohort)
    return rating_curve(noise, signal, "afroc", _CASES_WITH_FALSES, "sensitivity")


def wafroc_curve(cohort: LabelledCohort) -> Curve:
    noise, signal = _normal_noise(cohort, "wAFROC", "wAFROC1"), _weighted_nodules(cohort)
    return rating_curve(noise, signal, "wafroc", _CASES_WITH_FALSES, "weighted sensitivity")


def case_roc_curve(cohort: LabelledCohort) -> Curve:
    names = ("normal cases called abnormal", "abnormal cases called abnormal")
    return rating_curve(*case_ratings(cohort), "case_roc", *names)


def _normal_noise(cohort: LabelledCohort, metric: str, instead: str) -> Ratings:
    require_cases(cohort, metric, instead)
    normal = np.flatnonzero(~is_abnormal(cohort))
    return rated(normal, highest_false(cohort)[normal])


def _all_noise(cohort: LabelledCohort) -> Ratings:
    require_scores(cohort)
    return rated(np.arange(cohort.case_count), highest_false(cohort))


def case_ratings(cohort: LabelledCohort) -> tuple[Ratings, Ratings]:
    require_cases(cohort, "case_roc")
    highest = np.maximum(highest_false(cohort), highest_hit(cohort))
    abnormal = is_abnormal(cohort)
    normal_case, abnormal_case = np.flatnonzero(~abnormal), np.flatnonzero(abnormal)
    return rated(normal_case, highest[normal_case]), rated(abnormal_case, highest[abnormal_case])


def _nodules(cohort: LabelledCohort) -> Ratings:
    if not cohort.nodule_count:
        raise UndefinedError("no_nodules")
    every = cohort.at_every_score
    return rated(every.nodule_case, np.where(every.is_hit, every.hit_score, -np.inf))


def _weighted_nodules(cohort: LabelledCohort) -> Ratings:
    """Nodules whose shares add up to 1 in every case."""
    nodules = _nodules(cohort)
    return Ratings(nodules.case, nodules.rating, nodule_shares(cohort))
