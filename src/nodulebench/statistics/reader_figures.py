"""Ratings of readers -> their figures of merit, and how these covary over the cases read.

Any figure can be used through its values with one case left out; for ratings of cases the area
under the ROC curve is built in.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.errors import UndefinedError
from nodulebench.statistics.delong import Placements, auc_covariance, placements


@dataclass(frozen=True, slots=True)
class ReaderFigures:
    """The figure of every reader under every treatment, and how these values covary over cases."""

    value: FloatArray
    """Treatments x readers."""
    covariance: FloatArray
    """Treatments x readers x treatments x readers, from the sampling of cases."""
    method: str
    """How the covariance was estimated."""


def figures_from_left_out(value: FloatArray, left_out: FloatArray) -> ReaderFigures:
    """Jackknife covariance of any figure.

    Args:
        value: the figure, treatments x readers.
        left_out: the same with each case left out in turn, treatments x readers x cases.
    """
    cases = left_out.shape[-1]
    centred = left_out - left_out.mean(axis=-1, keepdims=True)
    covariance = (cases - 1) / cases * np.einsum("ijk,lmk->ijlm", centred, centred)
    return ReaderFigures(value, covariance, "jackknife")


def figures_from_ratings(
    rating: FloatArray,
    is_abnormal: BoolArray,
    covariance: Literal["jackknife", "delong"] = "jackknife",
) -> ReaderFigures:
    """Areas under the ROC curve, treatments x readers, with jackknife or DeLong covariance.

    Args:
        rating: treatments x readers x cases; higher means more abnormal.
        is_abnormal: the truth of each case.
        covariance: ``jackknife`` or ``delong``.
    """
    treatments, readers, cases = rating.shape
    rows = rating.reshape(treatments * readers, cases)
    placed = placements(rows[:, is_abnormal], rows[:, ~is_abnormal])
    value = placed.auc.reshape(treatments, readers)
    if covariance == "delong":
        matrix = auc_covariance(placed).reshape(treatments, readers, treatments, readers)
        return ReaderFigures(value, matrix, "DeLong")
    return figures_from_left_out(value, _left_out_areas(placed).reshape(treatments, readers, cases))


def _left_out_areas(placed: Placements) -> FloatArray:
    """Areas with each positive, then each negative, left out: they follow from placements."""
    auc = placed.auc[:, np.newaxis]
    areas = []
    for place in (placed.positive, placed.negative):
        count = place.shape[1]
        if count < 2:
            raise UndefinedError("jackknife_too_few")
        areas.append((count * auc - place) / (count - 1))
    return np.concatenate(areas, axis=1)
