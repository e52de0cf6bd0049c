"""Entries of one account to one benchmark -> how its figure went on, as a chart."""

from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench.i18n.numbers import decimals
from nodulebench.i18n.translator import Language
from nodulebench.metrics import is_lower_better
from nodulebench.report.charts.axes import Axis, nice_ticks
from nodulebench.report.charts.interactive import Chart
from nodulebench.report.charts.lines import Step, history_chart
from nodulebench.web.portal.accounts.users import Visitor
from nodulebench.web.portal.database.models import Benchmark, Entry
from nodulebench.web.portal.leaderboards.leaderboard import Line, board_of
from nodulebench.web.portal.site import Site

LEAST, MOST = 2, 40
"""Entries that make a history; of more the last ones are shown."""


def history_of(
    site: Site,
    session: Transaction,
    benchmark: Benchmark,
    visitor: Visitor,
    account: str,
    say: Language,
) -> Chart | None:
    """How an account's entries of the first track and rule went on; None: there are too few.

    Baselines are shown beside them. Whose names are kept back from a visitor has no history.
    """
    board = board_of(site, session, benchmark, visitor)
    of_account = select(Entry.id).where(
        Entry.benchmark_id == benchmark.id, Entry.account_id == account
    )
    own = set(session.scalars(of_account))
    valued = [one for one in board.lines if one.value is not None]
    lines = sorted((one for one in valued if one.entry in own), key=lambda one: one.at)[-MOST:]
    if len(lines) < LEAST or not all(one.who for one in lines):
        return None
    figure = say.figure(board.by.name).title
    others = [
        (one.value, one.name)
        for one in valued
        if one.is_baseline and one.entry not in own and one.value is not None
    ]
    ends = [end for one in lines for end in (one.value, one.low, one.high) if end is not None]
    ends += [value for value, _ in others]
    low, high = (0.0, 1.0) if 0 <= min(ends) <= max(ends) <= 1 else (min(0.0, *ends), max(ends))
    axis = Axis(figure, low, high, nice_ticks(low, high))
    title = say("portal.history.of", who=lines[0].who, figure=figure)
    lower = is_lower_better(board.by.figure)
    steps = [_step(one) for one in lines]
    drawn = history_chart(steps, axis, title, others=others, is_lower_better=lower)
    return Chart(title, drawn, remarks=(say("portal.history.remark"),))


def _step(line: Line) -> Step:
    bounds = ""
    if line.low is not None and line.high is not None:
        bounds = f" ({decimals(line.low)}–{decimals(line.high)})"
    told = f"{line.name}, {line.at:%Y-%m-%d}: {decimals(line.value)}{bounds}"
    return Step(line.value or 0.0, line.low, line.high, line.name, told)
