"""Precision against recall, swept over the score, and the area under it."""

import numpy as np

from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError
from nodulebench.core.results import Curve
from nodulebench.metrics.metric import divide
from nodulebench.metrics.ratings import row_blocks
from nodulebench.metrics.score_order import running_counts, score_order


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
    found = np.empty(len(case_weight))
    for block in row_blocks(case_weight, 4 * len(hits_through)):
        hits = running_counts(order.hit_case, hits_through, case_weight[block])
        falses = running_counts(order.false_case, falses_through, case_weight[block])
        precision = np.divide(hits, hits + falses, out=np.zeros_like(hits), where=hits > 0)
        found[block] = np.sum(np.diff(hits, axis=1, prepend=0.0) * precision, axis=1)
    return divide(found, nodules)


def precision_recall_curve(cohort: LabelledCohort) -> Curve:
    """Precision against recall at every threshold.

    Raises:
        UndefinedError: where there is no nodule to recall.
    """
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
