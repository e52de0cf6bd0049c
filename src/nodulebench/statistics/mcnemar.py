"""Nodules that two algorithms find -> McNemar's test, exact and for nodules that share patients."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.comparison import Significance
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.core.results import Estimate
from nodulebench.statistics.intervals import cluster_ratio_interval


@dataclass(frozen=True, slots=True)
class PairedHits:
    """For each nodule whether the first and the second algorithm found it, and its patient."""

    first: BoolArray
    second: BoolArray
    unit: IntArray

    def __post_init__(self) -> None:
        if not len(self.first) == len(self.second) == len(self.unit):
            raise InputError.at(
                "paired hits",
                f"are given for {len(self.first)}, {len(self.second)} and {len(self.unit)} "
                "nodules.",
                "Give both algorithms and the patient for the same nodules.",
            )


def paired_hits(
    first: LabelledCohort, second: LabelledCohort, unit_of_case: IntArray
) -> PairedHits:
    """The nodules that both algorithms had to find, and who found them."""
    _, left, right = np.intersect1d(
        first.nodule_row, second.nodule_row, assume_unique=True, return_indices=True
    )
    return PairedHits(
        first.is_hit[left], second.is_hit[right], unit_of_case[first.nodule_case[left]]
    )


@dataclass(frozen=True, slots=True)
class DetectionComparison:
    """Detection of the same nodules by two algorithms."""

    difference: Estimate
    """Sensitivity of the first minus the second, with an interval that allows for clusters."""
    exact: Significance
    """Nodules as independent."""
    durkalski: Significance
    obuchowski: Significance
    eliasziw_donner: Significance


def compare_detection(hits: PairedHits, *, level: float = 0.95) -> DetectionComparison:
    """McNemar's test in its exact form and in three forms for clustered nodules."""
    if not len(hits.unit):
        raise UndefinedError("nothing_in_common")
    nodules, only_first, only_second = _counts_by_unit(hits)
    low, high = cluster_ratio_interval(only_first - only_second, nodules, level)
    is_known = bool(np.isfinite(low))
    return DetectionComparison(
        difference=Estimate(
            value=float((only_first - only_second).sum() / nodules.sum()),
            low=low if is_known else None,
            high=high if is_known else None,
            level=level,
            method=Notice("ratio_estimator"),
            reason=None if is_known else Notice("one_patient"),
        ),
        exact=mcnemar_exact(hits),
        durkalski=durkalski(hits),
        obuchowski=obuchowski(hits),
        eliasziw_donner=eliasziw_donner(hits),
    )


def mcnemar_exact(hits: PairedHits) -> Significance:
    """Exact McNemar test: are nodules that only one algorithm finds shared evenly?

    Takes nodules as independent, which nodules of one patient are not.
    """
    from scipy import stats

    only_first = int(np.count_nonzero(hits.first & ~hits.second))
    discordant = only_first + int(np.count_nonzero(~hits.first & hits.second))
    _require_discordance(discordant)
    p_value = stats.binomtest(only_first, discordant, 0.5).pvalue
    return Significance(Notice("mcnemar_exact"), float(only_first), float(p_value))


def durkalski(hits: PairedHits) -> Significance:
    """Durkalski et al. 2003: every patient counts alike, however many nodules there are.

    X2 = (sum of d_k / n_k)^2 / sum of (d_k / n_k)^2, with d_k the nodules that only the first
    algorithm finds less those that only the second finds, among the n_k of patient k.
    """
    nodules, only_first, only_second = _counts_by_unit(hits)
    share = (only_first - only_second) / nodules
    return _chi_square(Notice("mcnemar_durkalski"), share, 1.0)


def obuchowski(hits: PairedHits) -> Significance:
    """Obuchowski 1998: every nodule counts alike, as in the pooled sensitivity."""
    nodules, only_first, only_second = _counts_by_unit(hits)
    units = len(nodules)
    return _chi_square(Notice("mcnemar_obuchowski"), only_first - only_second, (units - 1) / units)


def eliasziw_donner(hits: PairedHits) -> Significance:
    """Eliasziw and Donner 1991: McNemar's chi-square divided by an estimated design effect.

    Assumes that all four outcomes of a nodule correlate alike within a patient. Where only the
    winner clusters, it rejects too often; the other two forms do not.
    """
    from scipy import stats

    nodules, only_first, only_second = _counts_by_unit(hits)
    discordant = only_first + only_second
    _require_discordance(float(discordant.sum()))
    correlation = _discordance_correlation(hits, nodules, discordant)
    # size-weighted mean number of discordant nodules in patients that have any
    used = discordant[discordant > 0]
    units, size = len(used), float(used.mean())
    if units > 1:
        typical = size - float(((used - size) ** 2).sum()) / (units * (units - 1) * size)
        size = typical + units * (size - typical)
    inflation = 1 + (size - 1) * correlation
    plain = (only_first.sum() - only_second.sum()) ** 2 / discordant.sum()
    statistic = float(plain / inflation)
    p_value = float(stats.chi2.sf(statistic, 1))
    return Significance(Notice("mcnemar_eliasziw_donner"), statistic, p_value, (1.0,))


def _discordance_correlation(
    hits: PairedHits, nodules: FloatArray, discordant: FloatArray
) -> float:
    """Correlation within patients of discordance, from the four cells pooled; not below 0."""
    units, total = len(nodules), float(nodules.sum())
    if total == units:
        return 0.0
    _, unit = np.unique(hits.unit, return_inverse=True)
    cell = 2 * hits.first.astype(np.int64) + hits.second
    count = np.bincount(4 * unit + cell, minlength=4 * units).reshape(units, 4).astype(np.float64)
    size = nodules[:, np.newaxis]
    between = (((count - size * count.sum(axis=0) / total) ** 2) / size).sum() / units
    within = (count * (size - count) / size).sum() / (total - units)
    mean = total / units
    typical = mean - ((nodules - mean) ** 2).sum() / (units * max(units - 1, 1) * mean)
    spread = between + (typical - 1) * within
    if spread == 0:  # every patient alike and all of a kind: nothing that could be correlated
        return 0.0
    pooled = (between - within) / spread
    if not pooled > 0:
        return 0.0
    share = float(discordant.sum()) / total
    return float(pooled / (pooled + share * (1 - pooled)))


def _chi_square(method: Notice, of_unit: FloatArray, factor: float) -> Significance:
    from scipy import stats

    _require_discordance(float(np.abs(of_unit).sum()))
    statistic = float(factor * of_unit.sum() ** 2 / (of_unit**2).sum())
    return Significance(method, statistic, float(stats.chi2.sf(statistic, 1)), (1.0,))


def _counts_by_unit(hits: PairedHits) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Per patient: nodules, those only the first finds, those only the second finds."""
    _, unit = np.unique(hits.unit, return_inverse=True)
    only_first, only_second = hits.first & ~hits.second, ~hits.first & hits.second
    return (
        np.bincount(unit).astype(np.float64),
        np.bincount(unit, weights=only_first).astype(np.float64),
        np.bincount(unit, weights=only_second).astype(np.float64),
    )


def _require_discordance(discordant: float) -> None:
    if not discordant:
        raise UndefinedError("nothing_tells_apart")
