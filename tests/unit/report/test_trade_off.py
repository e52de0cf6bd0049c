"""The front of cost and worth, by hand, and the chart that shows it."""

from nodulebench.i18n.translator import translator
from nodulebench.report.line_charts import WORTH, TradeOff, front_of, trade_off_chart

POINTS = [
    TradeOff("costly", 40.0, 0.8),
    TradeOff("quick", 5.0, 0.6),
    TradeOff("same", 5.0, 0.5),
    TradeOff("best", 20.0, 0.9),
    TradeOff("as good", 30.0, 0.9),
]


def test_the_front_has_what_no_other_is_beyond() -> None:
    assert [point.name for point in front_of(POINTS)] == ["quick", "best"]
    assert [point.name for point in front_of(POINTS, -1.0)] == ["same"]
    assert [point.name for point in front_of(POINTS[:1])] == ["costly"]


def test_the_chart_names_every_algorithm_and_the_front() -> None:
    drawn = trade_off_chart(POINTS, "median_seconds", "sensitivity", translator())
    assert all(f">{point.name}<" in drawn for point in POINTS)
    assert "best trade-offs: quick, best" in drawn


def test_algorithms_that_cost_and_find_nothing_can_be_drawn() -> None:
    nothing = [TradeOff("x", 0.0, 0.0)]
    for worth in WORTH:
        assert ">x<" in trade_off_chart(nothing, "peak_memory_mb", worth, translator())
