"""Metrics of readers under treatments (with and without CAD) -> multi-reader multi-case tests.

Obuchowski and Rockette 1995 with the degrees of freedom of Hillis 2007. A treatment is a way of
reading; readers and cases are crossed with it.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.documents.comparison import Significance
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.results import Estimate
from nodulebench.statistics.delong import Placements, auc_covariance, placements


@dataclass(frozen=True, slots=True)
class ReaderMetrics:
    """The metric of every reader under every treatment, and how these values covary over cases."""

    value: FloatArray
    """Treatments x readers."""
    covariance: FloatArray
    """Treatments x readers x treatments x readers, from the sampling of cases."""
    method: str


def metrics_from_jackknife(value: FloatArray, left_out: FloatArray) -> ReaderMetrics:
    """Jackknife covariance; values are treatments x readers, with each case left out x cases."""
    cases = left_out.shape[-1]
    centred = left_out - left_out.mean(axis=-1, keepdims=True)
    covariance = (cases - 1) / cases * np.einsum("ijk,lmk->ijlm", centred, centred)
    return ReaderMetrics(value, covariance, "jackknife")


def metrics_from_ratings(
    rating: FloatArray,
    is_abnormal: BoolArray,
    covariance: Literal["jackknife", "delong"] = "jackknife",
) -> ReaderMetrics:
    """Areas under the ROC curve of ratings, treatments x readers x cases, higher: more abnormal."""
    treatments, readers, cases = rating.shape
    rows = rating.reshape(treatments * readers, cases)
    placed = placements(rows[:, is_abnormal], rows[:, ~is_abnormal])
    value = placed.auc.reshape(treatments, readers)
    if covariance == "delong":
        matrix = auc_covariance(placed).reshape(treatments, readers, treatments, readers)
        return ReaderMetrics(value, matrix, "DeLong")
    return metrics_from_jackknife(
        value, _left_out_areas(placed).reshape(treatments, readers, cases)
    )


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


_ROUNDING = 1e-20
"""Mean squares of metrics below this are rounding errors of equal values."""


@dataclass(frozen=True, slots=True)
class Components:
    """The parts of the Obuchowski-Rockette model."""

    variance: float
    covariance_1: float
    """Same reader, other treatment."""
    covariance_2: float
    """Same treatment, other reader."""
    covariance_3: float
    """Other reader, other treatment."""
    treatment_square: float
    treatment_reader_square: float


@dataclass(frozen=True, slots=True)
class TreatmentTest:
    """One of the three analyses: is there any difference between treatments, and which?"""

    significance: Significance
    differences: dict[tuple[int, int], Estimate]
    """Treatment minus treatment, by their numbers."""


@dataclass(frozen=True, slots=True)
class ObserverStudy:
    """An Obuchowski-Rockette analysis."""

    components: Components
    treatment_means: tuple[Estimate, ...]
    """Mean over readers, for the populations of readers and cases."""
    random_readers_random_cases: TreatmentTest
    fixed_readers: TreatmentTest
    """For these readers only, on all cases."""
    fixed_cases: TreatmentTest
    """For these cases only, for all readers."""


def obuchowski_rockette(metrics: ReaderMetrics, *, level: float = 0.95) -> ObserverStudy:
    """Compare treatments read by the same readers on the same cases."""
    from scipy import stats

    treatments, readers = metrics.value.shape
    if treatments < 2 or readers < 2:
        raise UndefinedError("study_too_small")
    part = components(metrics)
    extra = max(readers * (part.covariance_2 - part.covariance_3), 0.0)
    ahead = float(treatments - 1)
    interaction = ahead * (readers - 1)

    def analysis(kind: str, error: float, behind: float) -> TreatmentTest:
        """F test of MS_T against an error whose degrees of freedom are ``behind``."""
        if not error > 0:
            raise UndefinedError("error_not_positive", kind=kind)
        f = part.treatment_square / error
        is_normal = behind == np.inf
        p_value = float(
            stats.chi2.sf(ahead * f, ahead) if is_normal else stats.f.sf(f, ahead, behind)
        )
        test = Significance(_method(metrics.method, kind), f, p_value, (ahead, behind))
        half = float(stats.t.ppf((1 + level) / 2, behind)) * np.sqrt(2 * error / readers)
        return TreatmentTest(test, _differences(metrics.value, half, level, test.method))

    if not part.treatment_reader_square > _ROUNDING:
        raise UndefinedError("readers_change_alike")
    error = part.treatment_reader_square + extra
    return ObserverStudy(
        components=part,
        treatment_means=treatment_means(metrics, level),
        random_readers_random_cases=analysis(
            "random_readers_and_random_cases",
            error,
            error**2 / (part.treatment_reader_square**2 / interaction),
        ),
        fixed_readers=analysis(
            "fixed_readers_and_random_cases",
            part.variance - part.covariance_1 + (readers - 1) * extra / readers,
            np.inf,
        ),
        fixed_cases=analysis(
            "random_readers_and_fixed_cases", part.treatment_reader_square, interaction
        ),
    )


def components(metrics: ReaderMetrics) -> Components:
    """Average the covariances over readers and treatments, and form the mean squares."""
    treatments, readers = metrics.value.shape
    value = metrics.value
    treatment, reader = np.indices(value.shape)
    is_same_treatment = np.equal.outer(treatment, treatment)
    is_same_reader = np.equal.outer(reader, reader)

    def mean(where: BoolArray) -> float:
        return float(metrics.covariance[where].mean())

    of_treatment = value.mean(axis=1, keepdims=True)
    residual = value - of_treatment - value.mean(axis=0) + value.mean()
    return Components(
        variance=mean(is_same_treatment & is_same_reader),
        covariance_1=mean(~is_same_treatment & is_same_reader),
        covariance_2=mean(is_same_treatment & ~is_same_reader),
        covariance_3=mean(~is_same_treatment & ~is_same_reader),
        treatment_square=float(
            readers * ((of_treatment - value.mean()) ** 2).sum() / (treatments - 1)
        ),
        treatment_reader_square=float((residual**2).sum() / ((treatments - 1) * (readers - 1))),
    )


@dataclass(frozen=True, slots=True)
class ReadersAgainstAlgorithm:
    """Mean of the readers minus the algorithm, on the same cases."""

    difference: Estimate
    significance: Significance
    fixed_cases: Significance


def readers_against_algorithm(
    readers_and_algorithm: ReaderMetrics, *, level: float = 0.95
) -> ReadersAgainstAlgorithm:
    """Compare a stand-alone algorithm, the last reader of one treatment, with the others (1T-RRRC).

    The readers' differences from the algorithm are analysed as one treatment with random readers
    and random cases (Hillis, Obuchowski and Berbaum 2005; Chakraborty).
    """
    value = readers_and_algorithm.value[0]
    matrix = readers_and_algorithm.covariance[0, :, 0, :]
    readers = len(value) - 1
    contrast = np.concatenate([np.eye(readers), -np.ones((readers, 1))], axis=1)
    return one_treatment(
        contrast @ value, contrast @ matrix @ contrast.T, readers_and_algorithm.method, level=level
    )


def one_treatment(
    difference: FloatArray, covariance: FloatArray, source: str, *, level: float = 0.95
) -> ReadersAgainstAlgorithm:
    """Test whether readers' differences are 0 on average, for random readers and random cases."""
    mean, error, behind = _mean_of_readers(difference, covariance)
    readers = len(difference)
    between = float(difference.var(ddof=1)) / readers
    half = _t_quantile(level, behind) * error
    significance = _t_test(_method(source, "one_treatment"), mean, error, behind)
    return ReadersAgainstAlgorithm(
        difference=Estimate(mean, mean - half, mean + half, level, significance.method),
        significance=significance,
        fixed_cases=_t_test(
            _method(source, "one_treatment_fixed_cases"),
            mean,
            float(np.sqrt(between)),
            readers - 1.0,
        ),
    )


def _mean_of_readers(value: FloatArray, covariance: FloatArray) -> tuple[float, float, float]:
    """Mean over readers, its standard error for random readers and cases, degrees of freedom."""
    readers = len(value)
    if readers < 2:
        raise UndefinedError("study_one_reader")
    between = float(value.var(ddof=1))
    shared = float(covariance[~np.eye(readers, dtype=np.bool_)].mean())
    total = between + max(readers * shared, 0.0)
    if not between > _ROUNDING:
        raise UndefinedError("readers_do_not_differ")
    behind = total**2 / (between**2 / (readers - 1))
    return float(value.mean()), float(np.sqrt(total / readers)), behind


def treatment_means(metrics: ReaderMetrics, level: float) -> tuple[Estimate, ...]:
    estimates = []
    for number, value in enumerate(metrics.value):
        try:
            mean, error, behind = _mean_of_readers(value, metrics.covariance[number, :, number, :])
        except UndefinedError as undefined:
            estimates.append(Estimate(float(value.mean()), reason=reason_of(undefined)))
            continue
        half = _t_quantile(level, behind) * error
        method = _method(metrics.method, "one_treatment")
        estimates.append(Estimate(mean, mean - half, mean + half, level, method))
    return tuple(estimates)


def _differences(
    value: FloatArray, half: float, level: float, method: Notice
) -> dict[tuple[int, int], Estimate]:
    mean = value.mean(axis=1)
    return {
        (left, right): Estimate(
            float(mean[left] - mean[right]),
            float(mean[left] - mean[right] - half),
            float(mean[left] - mean[right] + half),
            level,
            method,
        )
        for left, right in combinations(range(len(mean)), 2)
    }


def _t_quantile(level: float, behind: float) -> float:
    from scipy import stats

    return float(stats.t.ppf((1 + level) / 2, behind))


def _method(covariance: str, kind: str) -> Notice:
    return Notice("obuchowski_rockette", {"covariance": covariance, "kind": kind})


def _t_test(method: Notice, mean: float, error: float, behind: float) -> Significance:
    from scipy import stats

    statistic = mean / error
    p_value = float(2 * stats.t.sf(abs(statistic), behind))
    return Significance(method, statistic, p_value, (behind,))
