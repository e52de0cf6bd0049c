"""Nodules per patient and their correlation -> the design effect, and what it assumes."""

import math
from dataclasses import dataclass

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.statistics.sample_size.result import check_range

ASSUMED_CORRELATION = 0.5
"""Of being found, within patients, where none is given: as the guarded interval assumes."""
ASSUMED_PAIRED_CORRELATION = 0.3
"""Of the difference of two algorithms: discordances cluster less than misses."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """How much less nodules tell because patients have several."""

    effect: float
    """How many times more nodules are needed than if each were in a patient of its own."""
    told: Notice


def clustering(
    mean: float, sd: float | None, correlation: float | None, *, assumed_correlation: float
) -> Clustering:
    """The design effect 1 + (m - 1) rho, with m = sum m_k² / sum m_k (Kish 1965, section 8.2).

    m is the number of nodules in the patient of the average nodule, mean + SD² / mean: patients
    with many nodules count for more than the mean says.

    Args:
        mean: nodules of a patient that has any, on average.
        sd: their standard deviation; None: 1 + a geometric number of further ones, as observed
            counts with their few long tails are.
        correlation: between nodules of a patient; None: the assumed one.
        assumed_correlation: what is assumed where none is given.
    """
    spread = math.sqrt(mean * max(mean - 1, 0)) if sd is None else sd
    rho = assumed_correlation if correlation is None else correlation
    check_range("nodules per patient", mean, 1, math.inf)
    check_range("standard deviation of nodules per patient", spread, 0, math.inf)
    check_range("correlation within patients", rho, 0, 1)
    if mean == 1 and spread > 0:
        raise InputError.at(
            "standard deviation of nodules per patient",
            f"{spread:g} is impossible with a mean of 1.",
            "Count patients with a nodule only, and give the mean of their numbers.",
        )
    if mean == 1:
        return Clustering(1.0, Notice("one_nodule_each"))
    effect = 1 + (mean + spread**2 / mean - 1) * rho
    values = {"mean": mean, "sd": spread, "correlation": rho, "effect": effect}
    assumed = {"is_sd_assumed": sd is None, "is_correlation_assumed": correlation is None}
    return Clustering(effect, Notice("several_nodules_each", {**values, **assumed}))
