"""How numbers are written."""

import pytest

from nodulebench.core.results import Estimate
from nodulebench.i18n.numbers import (
    decimals,
    interval,
    percent,
    rate,
    signed_percent,
    significant,
    whole,
    with_interval,
)


def test_metrics_have_three_decimals_and_a_true_minus() -> None:
    assert decimals(0.84249) == "0.842"
    assert decimals(-0.5) == "−0.500"
    assert decimals(-0.0001) == "0.000"


def test_the_interval_follows_the_value_in_brackets() -> None:
    assert with_interval(Estimate(0.8421, 0.8133, 0.8692)) == "0.842 (0.813–0.869)"
    assert with_interval(Estimate(0.8421)) == "0.842"
    assert with_interval(Estimate(None, reason="no scores")) == "–"


def test_interval_below_zero_says_to_instead_of_a_second_dash() -> None:
    assert interval(Estimate(0.0, -0.2, 0.1)) == "−0.200 to 0.100"
    assert interval(Estimate(0.0)) == ""


@pytest.mark.parametrize(
    ("value", "text"), [(0.125, "1/8"), (0.5, "1/2"), (1.0, "1"), (8.0, "8"), (0.3, "0.3")]
)
def test_rates_below_one_are_written_as_fractions(value: float, text: str) -> None:
    assert rate(value) == text


def test_relative_differences_carry_their_sign() -> None:
    assert signed_percent(0.0137) == "+1.4\N{NO-BREAK SPACE}%"
    assert signed_percent(-24 / 90) == "−26.7\N{NO-BREAK SPACE}%"
    assert signed_percent(0.0) == "0.0\N{NO-BREAK SPACE}%"
    assert signed_percent(0.0001) == "0.0\N{NO-BREAK SPACE}%"


def test_counts_percentages_and_scores() -> None:
    assert whole(1186) == "1,186"
    assert percent(0.95) == "95\N{NO-BREAK SPACE}%"
    assert percent(0.975) == "97.5\N{NO-BREAK SPACE}%"
    assert significant(0.871) == "0.871"
    assert significant(0.871, keeps_zeros=True) == "0.8710"
    assert significant(-12.3456) == "−12.35"
