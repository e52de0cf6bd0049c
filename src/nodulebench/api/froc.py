"""Scores and whether each is a hit, as plain arrays -> the FROC curve."""

from typing import Any, NamedTuple

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.metrics.froc import curve_of
from nodulebench.metrics.score_order import sort_scores


class Froc(NamedTuple):
    """A FROC curve by its points, from (0, 0) to the lowest score."""

    fp_rate: FloatArray
    """False positives per case."""
    sensitivity: FloatArray
    """The share of nodules that are hit."""
    threshold: FloatArray
    """Marks with at least this score are counted; infinity at the beginning."""


def froc(scores: Any, is_hit: Any, *, nodules: int, cases: int) -> Froc:
    """The FROC curve of marks that are already known as hits or false positives.

    A nodule without a mark is counted only in ``nodules``. A nodule marked twice is one hit: give
    its best mark as the hit and leave out the other. ``evaluate`` does that itself.

    Args:
        scores: one number per mark; a higher score means that a nodule is more likely.
        is_hit: for each mark whether it hit a nodule; the others are false positives.
        nodules: how many nodules there were to find, hit or missed.
        cases: how many cases were read, with or without nodules and marks.

    Returns:
        ``fp_rate``, ``sensitivity`` and ``threshold``, in this order, as ``evaluate`` has them.

    Raises:
        InputError: with every problem, by the name of the argument.
    """
    score, hit = _numbers(scores), np.asarray(is_hit)
    raise_problems(_problems(score, hit, nodules, cases))
    was_hit = hit.astype(bool)
    nowhere = np.zeros(len(score), dtype=np.int64)
    order = sort_scores(nowhere[was_hit], score[was_hit], nowhere[~was_hit], score[~was_hit])
    curve = curve_of(order, cases=cases, nodules=nodules)
    return Froc(curve.x, curve.y, curve.threshold)


def _numbers(given: Any) -> FloatArray:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError.at(
            "scores", "are not a list of numbers.", "Give one score per mark."
        ) from error


def _problems(score: FloatArray, hit: Any, nodules: int, cases: int) -> list[Problem]:
    checks = (
        ("scores", score.ndim == 1, "are not a list of numbers.", "Give one score per mark."),
        (
            "scores",
            bool(np.isfinite(score).all()),
            "are not all finite.",
            "Remove NaN and infinity.",
        ),
        (
            "is_hit",
            hit.shape == score.shape,
            f"has the shape {hit.shape}, scores {score.shape}.",
            "Give one truth value for each score.",
        ),
        (
            "is_hit",
            bool(np.isin(hit, (0, 1)).all()),
            "has other values than true and false.",
            "Give True or False for each mark.",
        ),
        ("cases", cases >= 1, f"is {cases}.", "Give the number of cases that were read."),
        (
            "nodules",
            nodules >= 1,
            f"is {nodules}.",
            "Give at least one nodule: without nodules there is no sensitivity.",
        ),
    )
    wrong = [
        Problem(where, what, remedy) for where, is_right, what, remedy in checks if not is_right
    ]
    if not wrong and np.count_nonzero(hit) > nodules:
        what = f"is {nodules}, less than the {np.count_nonzero(hit)} hits."
        wrong.append(Problem("nodules", what, "Count a nodule that is marked twice as one hit."))
    return wrong
