"""Classes that several readers gave -> coefficients of agreement beyond chance.

Ratings are subjects (rows) x readers (columns), NaN where a reader is silent; their values are
class numbers. Intervals other than Cohen's are jackknife intervals over subjects.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.errors import InputError, UndefinedError
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.results import Estimate
from nodulebench.statistics.intervals import jackknife_interval

Weights = Literal["none", "linear", "quadratic"]
Scale = Literal["nominal", "ordinal", "interval"]


def class_table(first: FloatArray, second: FloatArray, classes: int) -> FloatArray:
    """Counts of subjects by the class of the first reader (rows) and the second (columns)."""
    is_rated = np.isfinite(first) & np.isfinite(second)
    cell = first[is_rated].astype(np.int64) * classes + second[is_rated].astype(np.int64)
    return np.bincount(cell, minlength=classes * classes).reshape(classes, classes).astype(float)


def cohen_kappa(table: FloatArray, *, weights: Weights = "none", level: float = 0.95) -> Estimate:
    """Cohen's kappa of two readers, plain or weighted.

    The interval is normal with the large-sample error of Fleiss, Cohen and Everitt 1969.
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or counts.shape[0] < 2:
        remedy = "Give a square table with the same classes in rows and columns."
        raise InputError.at("table of classes", f"has the shape {counts.shape}.", remedy)
    total = counts.sum()
    if not total > 0:
        raise UndefinedError("none_rated_by_both")
    share = counts / total
    agreement = _agreement_weights(len(counts), weights)
    row, column = share.sum(axis=1), share.sum(axis=0)
    observed = float((agreement * share).sum())
    by_chance = float((agreement * np.outer(row, column)).sum())
    if not by_chance < 1:
        raise UndefinedError("one_class_used")
    kappa = (observed - by_chance) / (1 - by_chance)
    lean = (agreement @ column)[:, np.newaxis] + (row @ agreement)[np.newaxis, :]
    spread = float((share * (agreement - lean * (1 - kappa)) ** 2).sum())
    variance = (spread - (kappa - by_chance * (1 - kappa)) ** 2) / (total * (1 - by_chance) ** 2)
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(max(variance, 0.0))
    method = Notice("cohen_kappa", {"weights": None if weights == "none" else weights})
    return Estimate(kappa, kappa - half, kappa + half, level, method)


def fleiss_kappa(ratings: FloatArray, *, level: float = 0.95) -> Estimate:
    """Fleiss' kappa of any number of readers on nominal classes.

    Where subjects have unequal numbers of ratings, each subject's shares count alike.
    """
    return _beyond_chance(
        ratings, lambda share: float((share**2).sum()), level, Notice("fleiss_kappa")
    )


def gwet_ac1(ratings: FloatArray, *, classes: int | None = None, level: float = 0.95) -> Estimate:
    """Gwet's AC1 of two or more readers on nominal classes (Gwet 2008).

    Unlike kappa it stays near the observed agreement where one class prevails.

    ``classes``: how many the readers could choose from; by default those that they used.
    """

    def chance(share: FloatArray) -> float:
        return float((share * (1 - share)).sum() / ((classes or len(share)) - 1))

    return _beyond_chance(ratings, chance, level, Notice("gwet_ac1"))


def krippendorff_alpha(
    ratings: FloatArray, *, scale: Scale = "nominal", level: float = 0.95
) -> Estimate:
    """Krippendorff's alpha of two or more readers, on classes or numbers, with missing ratings."""
    values = np.unique(ratings[np.isfinite(ratings)])
    if len(values) < 2:
        raise UndefinedError("ratings_equal")
    return _with_jackknife(
        lambda counts: _alpha(counts, values, scale),
        ratings,
        level,
        Notice("krippendorff_alpha", {"scale": scale}),
    )


def _alpha(counts: FloatArray, values: FloatArray, scale: Scale) -> float:
    size = counts.sum(axis=1, keepdims=True)
    shared = counts / (size - 1)
    coincidence = shared.T @ counts - np.diag(shared.sum(axis=0))
    margin = coincidence.sum(axis=1)
    if scale == "nominal":
        distance = 1 - np.eye(len(values))
    else:
        # ordinal: ranks of the classes, ties at their middle
        at = values if scale == "interval" else np.cumsum(margin) - margin / 2
        distance = np.subtract.outer(at, at) ** 2
    total = float(margin.sum())
    by_chance = float(margin @ distance @ margin) / (total * (total - 1))
    if not by_chance > 0:
        raise UndefinedError("ratings_equal")
    return 1 - float((coincidence * distance).sum()) / total / by_chance


def _beyond_chance(
    ratings: FloatArray, chance: Callable[[FloatArray], float], level: float, method: Notice
) -> Estimate:
    def coefficient(counts: FloatArray) -> float:
        size = counts.sum(axis=1)
        observed = float(((counts * (counts - 1)).sum(axis=1) / (size * (size - 1))).mean())
        expected = chance((counts / size[:, np.newaxis]).mean(axis=0))
        if not expected < 1:
            raise UndefinedError("ratings_in_one_class")
        return (observed - expected) / (1 - expected)

    return _with_jackknife(coefficient, ratings, level, method)


def _with_jackknife(
    coefficient: Callable[[FloatArray], float], ratings: FloatArray, level: float, method: Notice
) -> Estimate:
    """The coefficient of subjects x classes counts, and its interval from leaving subjects out."""
    counts = _counts(ratings)
    value = coefficient(counts)
    subjects = np.arange(len(counts))
    try:
        left_out = np.array([coefficient(counts[subjects != subject]) for subject in subjects])
    except UndefinedError as error:
        reason = Notice("no_interval_because", {"reason": reason_of(error)})
        return Estimate(value, method=method, reason=reason)
    low, high = jackknife_interval(value, left_out, level)
    return Estimate(value, low, high, level, Notice("jackknife_over_subjects", {"of": method}))


def _counts(ratings: FloatArray) -> FloatArray:
    """How many readers put each subject into each class; subjects rated once are left out."""
    table = np.asarray(ratings, dtype=np.float64)
    is_rated: BoolArray = np.isfinite(table)
    values, place = np.unique(table[is_rated], return_inverse=True)
    subject = np.nonzero(is_rated)[0]
    counts: FloatArray = np.zeros((len(table), max(len(values), 2)))
    np.add.at(counts, (subject, place), 1.0)
    counts = counts[counts.sum(axis=1) >= 2]
    if len(counts) < 2:
        raise UndefinedError("few_rated_twice")
    return counts


def _agreement_weights(classes: int, weights: Weights) -> FloatArray:
    if weights == "none":
        return np.eye(classes, dtype=np.float64)
    place = np.arange(classes) / (classes - 1)
    apart: FloatArray = np.abs(np.subtract.outer(place, place))
    weight: FloatArray = 1 - (apart if weights == "linear" else apart**2)
    return weight


IccForm = Literal["1,1", "2,1", "3,1", "1,k", "2,k", "3,k"]


@dataclass(frozen=True, slots=True)
class _MeanSquares:
    subjects: int
    readers: int
    between: float
    reader: float
    error: float
    """Subjects x readers."""
    within: float
    """Within subjects, readers and error together."""


def intraclass_correlation(
    measured: FloatArray, *, form: IccForm = "2,1", level: float = 0.95
) -> Estimate:
    """Intraclass correlation in the forms of Shrout and Fleiss 1979, with F-based intervals.

    ``1``: each subject has its own readers; ``2``: readers are a random sample (absolute
    agreement); ``3``: these readers only (consistency). ``,1`` speaks of a single measurement,
    ``,k`` of the mean over the readers.
    """
    square = _mean_squares(measured)
    if form[0] == "2":
        single, low, high = _two_way_random(square, level)
    else:
        single, low, high = _by_f_ratio(square, level, is_one_way=form[0] == "1")
    if form[2] == "k":
        k = square.readers  # Spearman and Brown: the correlation of the mean of k measurements
        single, low, high = (value * k / (1 + (k - 1) * value) for value in (single, low, high))
    return Estimate(single, low, high, level, Notice("icc", {"form": form}))


def _mean_squares(measured: FloatArray) -> _MeanSquares:
    table = np.asarray(measured, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2:
        raise UndefinedError("icc_too_few")
    if not np.isfinite(table).all():
        raise UndefinedError("icc_incomplete")
    subjects, readers = table.shape
    of_subject, of_reader = table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True)
    error = ((table - of_subject - of_reader + table.mean()) ** 2).sum()
    reader = subjects * ((of_reader - table.mean()) ** 2).sum()
    if not error > 0:
        raise UndefinedError("icc_without_error")
    return _MeanSquares(
        subjects=subjects,
        readers=readers,
        between=float(readers * ((of_subject - table.mean()) ** 2).sum() / (subjects - 1)),
        reader=float(reader / (readers - 1)),
        error=float(error / ((subjects - 1) * (readers - 1))),
        within=float((reader + error) / (subjects * (readers - 1))),
    )


def _by_f_ratio(
    square: _MeanSquares, level: float, *, is_one_way: bool
) -> tuple[float, float, float]:
    from scipy import stats

    n, k = square.subjects, square.readers
    noise = square.within if is_one_way else square.error
    ahead, behind = n - 1, n * (k - 1) if is_one_way else (n - 1) * (k - 1)
    ratio = square.between / noise
    low = ratio / float(stats.f.ppf((1 + level) / 2, ahead, behind))
    high = ratio * float(stats.f.ppf((1 + level) / 2, behind, ahead))
    value, lower, upper = ((f - 1) / (f + k - 1) for f in (ratio, low, high))
    return value, lower, upper


def _two_way_random(square: _MeanSquares, level: float) -> tuple[float, float, float]:
    from scipy import stats

    n, k = square.subjects, square.readers
    between, reader, error = square.between, square.reader, square.error
    value = (between - error) / (between + (k - 1) * error + k * (reader - error) / n)
    a = k * value / (n * (1 - value))
    b = 1 + k * value * (n - 1) / (n * (1 - value))
    behind = (a * reader + b * error) ** 2 / (
        (a * reader) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1))
    )
    f_low = float(stats.f.ppf((1 + level) / 2, n - 1, behind))
    f_high = float(stats.f.ppf((1 + level) / 2, behind, n - 1))
    noise = k * reader + (k * n - k - n) * error
    low = n * (between - f_low * error) / (f_low * noise + n * between)
    high = n * (f_high * between - error) / (noise + n * f_high * between)
    return value, low, high


@dataclass(frozen=True, slots=True)
class LimitsOfAgreement:
    """How far two ways of measuring differ (first minus second)."""

    bias: Estimate
    standard_deviation: float
    lower: Estimate
    upper: Estimate
    count: int


def bland_altman(
    first: FloatArray, second: FloatArray, *, share: float = 0.95, level: float = 0.95
) -> LimitsOfAgreement:
    """Bias and limits that contain a share of the differences, each with its interval.

    The limits are bias ± z SD, about 1.96 SD for 95 %; their error is that of Bland and Altman
    1999, SD sqrt(1 / n + z^2 / (2 (n - 1))).
    """
    from scipy import stats

    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    n = len(difference)
    if n < 2:
        raise UndefinedError("limits_too_few")
    bias, deviation = float(difference.mean()), float(difference.std(ddof=1))
    z = NormalDist().inv_cdf((1 + share) / 2)
    t = float(stats.t.ppf((1 + level) / 2, n - 1))

    def estimate(value: float, error: float, method: Notice) -> Estimate:
        return Estimate(value, value - t * error, value + t * error, level, method)

    error = deviation * math.sqrt(1 / n + z * z / (2 * (n - 1)))
    limit = Notice("limit_of_agreement", {"share": share})
    return LimitsOfAgreement(
        bias=estimate(bias, deviation / math.sqrt(n), Notice("mean_difference_t")),
        standard_deviation=deviation,
        lower=estimate(bias - z * deviation, error, limit),
        upper=estimate(bias + z * deviation, error, limit),
        count=n,
    )


def concordance_correlation(
    first: FloatArray, second: FloatArray, *, level: float = 0.95
) -> Estimate:
    """Lin's concordance correlation: how near pairs are to the line of identity (Lin 1989).

    The interval uses Fisher's z with the error of Lin 1989, as corrected in 2000.
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    n = len(x)
    if n < 3 or not (x.std() > 0 and y.std() > 0):
        raise UndefinedError("concordance_too_few")
    covariance = float(((x - x.mean()) * (y - y.mean())).mean())
    shift = float(x.mean() - y.mean())
    value = 2 * covariance / (float(x.var() + y.var()) + shift**2)
    r = covariance / float(x.std() * y.std())
    if not 0 < abs(value) < 1 - 1e-12:
        return Estimate(value, method=Notice("lin_concordance"), reason=Notice("pairs_alike"))
    u = shift / math.sqrt(float(x.std() * y.std()))
    rest = 1 - value**2
    variance = (
        (1 - r**2) * value**2 / (rest * r**2)
        + 2 * value**3 * (1 - value) * u**2 / (r * rest**2)
        - value**4 * u**4 / (2 * r**2 * rest**2)
    ) / (n - 2)
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(max(variance, 0.0))
    z = math.atanh(value)
    method = Notice("lin_concordance_z")
    return Estimate(value, math.tanh(z - half), math.tanh(z + half), level, method)
