"""Numbers -> text: three decimals, a true minus sign, intervals as 0.842 (0.813–0.869)."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from nodulebench.core.results import Estimate

UNDEFINED = "–"
MINUS = "−"
PERCENT = "\N{NO-BREAK SPACE}%"


class Bounded(Protocol):
    """What has an interval."""

    @property
    def low(self) -> float | None:
        """The lower bound."""

    @property
    def high(self) -> float | None:
        """The upper bound."""


def decimals(value: float | None, places: int = 3) -> str:
    """A number with a fixed number of decimals; a dash where there is none."""
    if value is None:
        return UNDEFINED
    text = f"{value:.{places}f}"
    return text.replace("-", MINUS) if float(text) else text.lstrip("-")


def whole(value: int | None) -> str:
    """A count, thousands apart; a dash where there is none."""
    return UNDEFINED if value is None else f"{value:,}".replace("-", MINUS)


def significant(value: float, *, keeps_zeros: bool = False) -> str:
    """A number of any size by its first four digits (score thresholds, parameters)."""
    return (f"{value:#.4g}" if keeps_zeros else f"{value:.4g}").replace("-", MINUS)


def signed_percent(share: float) -> str:
    """A relative difference: 0.0137 -> "+1.4 %"."""
    text = decimals(100 * share, 1)
    return f"{'+' if share > 0 and not text.startswith('0.0') else ''}{text}{PERCENT}"


def percent(share: float) -> str:
    """A level or share in percent without needless decimals: 0.95 -> "95 %"."""
    return f"{100 * share:g}{PERCENT}"


def rate(value: float) -> str:
    """A rate of false positives per case as the field writes it: 0.125 -> "1/8"."""
    if 0 < value < 1 and (1 / value).is_integer():
        return f"1/{round(1 / value)}"
    return f"{value:g}"


def interval(estimate: Bounded) -> str:
    """The bounds of an estimate as 0.813–0.869, or nothing where it has none."""
    low, high = estimate.low, estimate.high
    if low is None or high is None:
        return ""
    dash = "–" if low >= 0 else " to "
    return f"{decimals(low)}{dash}{decimals(high)}"


def with_interval(estimate: "Estimate") -> str:
    """An estimate as 0.842 (0.813–0.869), or a dash where it is undefined."""
    bounds = "" if estimate.value is None else interval(estimate)
    value = decimals(estimate.value)
    return f"{value} ({bounds})" if bounds else value


def percent_of(mean: float, deviation: float) -> str:
    """A mean share with its standard deviation in percent: "54.7 ± 8.7 %"."""
    return f"{decimals(100 * mean, 1)} ± {decimals(100 * deviation, 1)}{PERCENT}"


def p_value(value: float | None) -> str:
    """A P value with four decimals, as the field prints it: "0.0033", "<0.0001"; or a dash."""
    if value is None:
        return UNDEFINED
    return "<0.0001" if value < 0.0001 else decimals(value, 4)


def signed(value: float | None, places: int = 3) -> str:
    """A difference with its sign: "+0.012"; a dash where there is none."""
    if value is None:
        return UNDEFINED
    text = decimals(value, places)
    return f"+{text}" if value > 0 and float(f"{value:.{places}f}") else text


def signed_bounds(estimate: Bounded) -> str:
    """The bounds of a difference, with signs; nothing where it has none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{signed(estimate.low)} … {signed(estimate.high)}"


def signed_interval(estimate: "Estimate") -> str:
    """A difference as +0.094 (+0.017 … +0.217)."""
    bounds = signed_bounds(estimate)
    return signed(estimate.value) + (f" ({bounds})" if bounds else "")
