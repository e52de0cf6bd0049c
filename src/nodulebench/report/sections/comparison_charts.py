"""A comparison -> pictures of it: differences with their intervals, and ranks."""

from nodulebench.core.documents.comparison import (
    ComparisonDocument,
    DifferenceSummary,
    RankingSummary,
    significance_mark,
)
from nodulebench.i18n.numbers import percent, signed
from nodulebench.i18n.translator import Language
from nodulebench.report.charts.axes import Axis, few_ticks
from nodulebench.report.charts.interactive import Chart
from nodulebench.report.charts.rows import Row, Value, row_chart
from nodulebench.report.sections.summary import differences_of


def difference_chart(
    found: ComparisonDocument, rule: str, figure: str, say: Language
) -> Chart | None:
    """Differences from the baseline with their intervals, and the margin."""
    shown = differences_of(found, rule, figure)
    if not shown:
        return None
    rows = [Row(one.algorithm, (_difference_value(one),)) for one in shown]
    place = _margin_place(shown[0])
    limits = [] if place is None else [(place, say("compared.margin"))]
    ends = [end for row in rows for one in row.values for end in (one.low, one.high, one.value)]
    reach = [end for end in ends if end is not None] + [value for value, _ in limits] + [0.0]
    pad = max((max(reach) - min(reach)) / 12, 0.002)
    low, high = min(reach) - pad, max(reach) + pad
    title = say.figure(figure).title
    axis = Axis(say("axis.difference", figure=title), low, high, few_ticks(low, high))
    heading = say("compared.chart", figure=title, baseline=found.baseline, rule=say.word(rule))
    remarks = (say("compared.chart_remark", level=percent(found.level)),)
    return Chart(heading, row_chart(rows, axis, heading, base=0.0, limits=limits), remarks=remarks)


def _difference_value(one: DifferenceSummary) -> Value:
    found, mark = one.difference, significance_mark(one.holm)
    text = f"{signed(found.value)} {mark}"
    return Value(found.value or 0.0, found.low, found.high, text)


def _margin_place(one: DifferenceSummary) -> float | None:
    """Where a loss of the margin lies: below 0 where higher is better."""
    if one.margin is None:
        return None
    return one.margin.margin if one.better == "lower" else -one.margin.margin


def rank_chart(found: ComparisonDocument, rule: str, figure: str, say: Language) -> Chart | None:
    """Ranks with their bootstrap intervals; tie groups by their number."""
    ranking = ranking_of(found, rule, figure)
    if ranking is None or len(ranking.lines) < 3:
        return None
    lines = ranking.lines
    rows = []
    for line in lines:
        text, ends = say("rank.group_short", group=line.group), (line.best_rank, line.worst_rank)
        rows.append(Row(line.name, (Value(line.rank, *ends, text, kind=line.group - 1),)))
    count_ = len(lines)
    step = max(1, round(count_ / 10))
    ticks = tuple((float(rank), str(rank)) for rank in range(1, count_ + 1, step))
    axis = Axis(say("axis.rank"), 0.6, count_ + 0.4, ticks)
    title = say("rank.chart", figure=say.figure(figure).title, rule=say.word(rule))
    remarks = (say("rank.remark", level=percent(found.level)),)
    return Chart(title, row_chart(rows, axis, title), remarks=remarks)


def ranking_of(found: ComparisonDocument, rule: str, figure: str) -> RankingSummary | None:
    """The ranking by a figure under a rule."""
    fitting = (one for one in found.rankings if one.rule == rule)
    return next((one for one in fitting if one.name == figure), None)
