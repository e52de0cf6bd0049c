"""Expected areas under ROC curves -> positives and negatives for a precision or a comparison."""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Literal

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.statistics.delong import hanley_mcneil_standard_error
from nodulebench.statistics.sample_size.result import (
    Plan,
    check_between,
    check_range,
    curve_around,
    smallest_size,
)

Variance = Literal["hanley_mcneil", "obuchowski"]


def size_for_auc(
    *,
    auc: float,
    half_width: float,
    negatives_per_positive: float = 1.0,
    variance: Variance = "hanley_mcneil",
    level: float = 0.95,
) -> Plan:
    """Positives needed to know an area within ± ``half_width``."""
    check_between("auc", auc, 0.5, 1)
    check_between("half-width", half_width)
    check_between("negatives per positive", negatives_per_positive, 0, math.inf)
    z = NormalDist().inv_cdf((1 + level) / 2)
    error = _error_of(variance, negatives_per_positive)
    answer = smallest_size(lambda positives: z * error(auc, positives) <= half_width)
    return Plan(
        question=Notice("ask_area", {"auc": auc, "half_width": half_width}),
        answer=answer,
        unit="positives",
        assumptions=(
            Notice("assume_near", {"what": "area", "value": auc}),
            Notice("negatives_for_each", {"ratio": negatives_per_positive}),
            Notice("scores_spread", {"variance": variance}),
            Notice("interval_normal", {"of": "area", "level": level}),
        ),
        method=Notice("normal_interval_of_area", {"variance": variance}),
        curve_name="half_width",
        curve=curve_around(answer, lambda positives: z * error(auc, positives)),
        details={"negatives": _negatives(answer, negatives_per_positive)},
    )


def size_for_auc_difference(
    *,
    baseline: float,
    expected: float,
    correlation: float,
    negatives_per_positive: float = 1.0,
    variance: Variance = "hanley_mcneil",
    alpha: float = 0.05,
    power: float = 0.8,
    is_one_sided: bool = False,
) -> Plan:
    """Positives needed to distinguish two areas.

    The correlation is that between the two estimates: 0 for different cases.
    """
    check_between("baseline area", baseline, 0.5, 1)
    check_between("expected area", expected, 0.5, 1)
    check_range("correlation", correlation, 0, 0.999)
    check_between("negatives per positive", negatives_per_positive, 0, math.inf)
    check_between("alpha", alpha)
    check_between("power", power)
    if baseline == expected:
        raise InputError.at("expected area", "equals the baseline.", "Give a difference.")
    critical = NormalDist().inv_cdf(1 - alpha / (1 if is_one_sided else 2))
    error = _error_of(variance, negatives_per_positive)

    def power_at(positives: int) -> float:
        at_baseline, at_expected = error(baseline, positives), error(expected, positives)
        if_null = at_baseline * math.sqrt(2 * (1 - correlation))
        if_true = math.sqrt(
            at_baseline**2 + at_expected**2 - 2 * correlation * at_baseline * at_expected
        )
        return NormalDist().cdf((abs(expected - baseline) - critical * if_null) / if_true)

    answer = smallest_size(lambda positives: power_at(positives) >= power)
    return Plan(
        question=Notice("ask_areas", {"baseline": baseline, "expected": expected}),
        answer=answer,
        unit="positives",
        assumptions=(
            Notice(
                "assume_areas",
                {"baseline": baseline, "expected": expected, "correlation": correlation},
            ),
            Notice("negatives_for_each", {"ratio": negatives_per_positive}),
            Notice("scores_spread", {"variance": variance}),
            Notice("test_sided", {"sides": 1 if is_one_sided else 2, "alpha": alpha}),
        ),
        method=Notice("normal_test_of_areas", {"variance": variance}),
        curve_name="power",
        curve=curve_around(answer, power_at),
        details={"negatives": _negatives(answer, negatives_per_positive)},
    )


def _negatives(positives: int, ratio: float) -> int:
    return math.ceil(positives * ratio - 1e-9)


def _error_of(variance: Variance, ratio: float) -> Callable[[float, int], float]:
    if variance == "hanley_mcneil":
        return lambda auc, positives: hanley_mcneil_standard_error(
            auc, positives, _negatives(positives, ratio)
        )

    def obuchowski(auc: float, positives: int) -> float:
        a = math.sqrt(2) * NormalDist().inv_cdf(auc)
        factor = 0.0099 * math.exp(-(a**2) / 2) * ((5 * a**2 + 8) + (a**2 + 8) / ratio)
        return math.sqrt(factor / positives)

    return obuchowski
