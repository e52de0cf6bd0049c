"""Sizes of nodules + error of reported sizes -> what a smallest size to report costs, in theory.

Fotin et al., Proc. SPIE Medical Imaging 2008, equations 3 to 9. A nodule of size x is reported as
c = x + e. Of nodules with x ≥ D those with c < D − Δ are lost, so sensitivity S becomes
S' = S · (1 − lost); of nodules with x < D those with c ≥ D + Δ are shown although too small.
"""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import UndefinedError

SizeError: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""``error(x, t)``: probability that the error of a nodule of size x (mm) is below t (mm)."""

_QUANTILES = 200_000  # sizes that represent a continuous distribution


@runtime_checkable
class Distribution(Protocol):
    """A continuous distribution; frozen ones of scipy.stats qualify."""

    def cdf(self, x: npt.ArrayLike, /) -> FloatArray:
        """Share of the values up to x."""
        ...

    def ppf(self, q: FloatArray, /) -> FloatArray:
        """The values below which these shares lie."""
        ...


Sizes: TypeAlias = Distribution | Sequence[float] | npt.NDArray[np.float64]
"""Nodule sizes in mm: measured ones, or a distribution."""


def lost_fraction(
    sizes: Sizes, error: SizeError, *, minimum_mm: float, tolerance_mm: float = 0.0
) -> float:
    """Share of the nodules of at least the smallest size that are reported too small to count.

    Equations 5 to 8: the mean over x ≥ D of P(e < D − x − Δ). An infinite tolerance loses none.
    """
    x = _sizes(sizes, minimum_mm, is_large=True)
    return float(np.mean(error(x, minimum_mm - tolerance_mm - x)))


def overestimated_share(
    sizes: Sizes,
    error: SizeError,
    *,
    minimum_mm: float,
    tolerance_mm: float = 0.0,
    reading: Literal["table", "strict_truth"] = "table",
) -> float:
    """Share of the nodules below the smallest size that are reported as reaching it.

    The mean over x < D of P(e ≥ D − x + Δ). Under ``strict_truth`` the tolerance is granted only
    to nodules that are themselves within Δ of D.
    """
    x = _sizes(sizes, minimum_mm, is_large=False)
    granted = np.full(len(x), tolerance_mm)
    if reading == "strict_truth":
        granted[x < minimum_mm - tolerance_mm] = 0.0
    return float(np.mean(1.0 - error(x, minimum_mm + granted - x)))


def limited_sensitivity(sensitivity: float, lost: float) -> float:
    """Sensitivity that a test with a size limit finds (equation 3): S' = S · (1 − lost)."""
    return sensitivity * (1.0 - lost)


def normal_error(
    sd_mm: float | Callable[[FloatArray], FloatArray],
    bias_mm: float | Callable[[FloatArray], FloatArray] = 0.0,
) -> SizeError:
    """Normally distributed error; standard deviation and bias may depend on the nodule's size."""

    def below(x: FloatArray, t: FloatArray) -> FloatArray:
        from scipy.special import ndtr

        sd = sd_mm(x) if callable(sd_mm) else np.full(len(x), sd_mm)
        bias = bias_mm(x) if callable(bias_mm) else np.full(len(x), bias_mm)
        share: FloatArray = ndtr((t - bias) / sd)
        return share

    return below


def empirical_error(errors_mm: Sequence[float] | npt.NDArray[np.float64]) -> SizeError:
    """Error as observed, reported minus true size, the same for every size."""
    observed = np.sort(np.asarray(errors_mm, dtype=np.float64))
    if not len(observed):
        raise UndefinedError("no_size_errors")

    def below(x: FloatArray, t: FloatArray) -> FloatArray:
        del x  # the same at every size
        return np.searchsorted(observed, t, side="left") / len(observed)

    return below


def binned_error(
    sizes_mm: npt.NDArray[np.float64], errors_mm: npt.NDArray[np.float64], edges_mm: Sequence[float]
) -> SizeError:
    """Error as observed, apart for nodules of different size.

    Edges are inner limits of the size classes, half open [low, high).
    """
    bin_of = np.digitize(sizes_mm, edges_mm)
    groups = [errors_mm[bin_of == number] for number in range(len(edges_mm) + 1)]
    empty = [number for number, group in enumerate(groups) if not len(group)]
    if empty:
        raise UndefinedError("empty_size_class", number=int(empty[0]) + 1, classes=len(groups))
    errors = [empirical_error(group) for group in groups]

    def below(x: FloatArray, t: FloatArray) -> FloatArray:
        each = np.stack([error(x, t) for error in errors])
        return each[np.digitize(x, edges_mm), np.arange(len(x))]

    return below


def _sizes(sizes: Sizes, minimum_mm: float, *, is_large: bool) -> FloatArray:
    """Sizes x ≥ D or x < D; of a distribution the middles of equally probable parts."""
    if isinstance(sizes, Distribution):
        share = float(sizes.cdf(minimum_mm))
        low, high = (share, 1.0) if is_large else (0.0, share)
        middles = low + (high - low) * (np.arange(_QUANTILES) + 0.5) / _QUANTILES
        chosen = np.asarray(sizes.ppf(middles)) if high > low else np.empty(0)
    else:
        observed = np.asarray(sizes, dtype=np.float64)
        chosen = observed[(observed >= minimum_mm) == is_large]
    if not len(chosen):
        raise UndefinedError("no_large_nodule" if is_large else "no_small_nodule")
    return chosen
