"""Agreement of readers -> rows with intervals."""

from collections.abc import Sequence
from typing import Any

from nodulebench.i18n.numbers import decimals
from nodulebench.i18n.translator import Language
from nodulebench.report.charts.axes import Axis
from nodulebench.report.charts.interactive import Chart
from nodulebench.report.charts.rows import Row, Value, row_chart

TICKS = tuple((n / 5, decimals(n / 5, 1)) for n in range(-5, 6))


def agreement_chart(rows: Sequence[dict[str, Any]], say: Language) -> Chart | None:
    """Every pair or group of readers with its agreement: name, value, low, high."""
    shown = [row for row in rows if row.get("value") is not None]
    if not shown:
        return None
    ends = [end for row in shown for end in (row.get("low"), row["value"]) if end is not None]
    low = min(0.0, *ends)
    axis = Axis(say("axis.agreement"), low, 1.0, tuple(tick for tick in TICKS if tick[0] >= low))
    drawn = [
        Row(
            str(row["name"]),
            (Value(row["value"], row.get("low"), row.get("high"), decimals(row["value"])),),
        )
        for row in shown
    ]
    title = say("agreement.chart")
    return Chart(title, row_chart(drawn, axis, title, base=0.0), remarks=(say("agreement.remark"),))
