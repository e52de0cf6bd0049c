"""What the page of an entry shows of its result: metrics, the curve, single errors, the history."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench.core.json_types import JsonObject
from nodulebench.evaluation.report import read_excerpt
from nodulebench.evaluation.result_folder import EVALUATION
from nodulebench.i18n.numbers import decimals
from nodulebench.i18n.translator import LanguageName, Translator, portal_translator
from nodulebench.metrics import is_lower_better
from nodulebench.report.charts import Chart
from nodulebench.report.content import Audience
from nodulebench.report.line_charts import Step, history_chart
from nodulebench.report.pages.cells import NOTHING
from nodulebench.report.pages.svg import Axis, nice_ticks
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.service import rules_of
from nodulebench.web.portal.database.models import Benchmark, Entry, Result
from nodulebench.web.portal.leaderboards.leaderboard import (
    BoardLine,
    board_of,
    readings_of,
    strata_of,
)
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.service import shown_name

MAX_CACHED = 128
"""Cached curves per process, some ten kilobytes each: reading one takes 0.1 s."""


@dataclass(frozen=True, slots=True)
class ResultView:
    """What is shown of a result, under one rule and of one part of the cohort."""

    rules: list[str]
    rule: str
    strata: list[str]
    stratum: str
    """Empty: the whole cohort."""
    readings: list[JsonObject]
    froc: Markup = NOTHING
    """The curve as a block of a report; empty if no curve is stored."""
    misses: tuple[Markup, ...] = ()
    """Blocks about single nodules and marks; empty if they are not disclosed."""


def audience_of(entry: Entry, user: User) -> Audience:
    """As whom a user sees an entry; only ``lab`` sees single nodules and marks."""
    is_own = user.is_organiser or user.account == entry.account_id
    sees_errors = is_own and rules_of(entry.benchmark).feedback != "metrics"
    return "lab" if sees_errors else "developer"


def view_of_result(
    site: Site,
    entry: Entry,
    result: Result,
    user: User,
    translate: Translator,
    *,
    rule: str = "",
    stratum: str = "",
) -> ResultView:
    rules = list(dict.fromkeys(reading["rule"] for reading in readings_of(result)))
    strata = strata_of([result])
    chosen = rule if rule in rules else (rules[0] if rules else "")
    part = stratum if stratum in strata else ""
    readings = [reading for reading in readings_of(result, part) if reading["rule"] == chosen]
    folder = site.results / result.folder
    if not (folder / EVALUATION).is_file():
        return ResultView(rules, chosen, strata, part, readings)
    name, audience = shown_name(entry, user), audience_of(entry, user)
    froc, misses = _blocks(folder, audience, translate.name, name, chosen)
    return ResultView(rules, chosen, strata, part, readings, froc, misses)


@lru_cache(MAX_CACHED)
def _blocks(
    folder: Path, audience: Audience, language: LanguageName, name: str, rule: str
) -> tuple[Markup, tuple[Markup, ...]]:
    """The curve and the errors of a result as HTML; cached, because a result never changes."""
    translate = portal_translator(language)
    excerpt = read_excerpt(folder, audience, translate, name=name, rule=rule)
    froc = NOTHING if excerpt.froc is None else excerpt.froc.__html__()
    return froc, tuple(miss.__html__() for miss in excerpt.misses)


MIN_ENTRIES, MAX_ENTRIES = 2, 40
"""Number of entries that make a history; only the last ones are shown."""


def history_of(
    site: Site,
    session: Transaction,
    benchmark: Benchmark,
    user: User,
    account: str,
    translate: Translator,
) -> Chart | None:
    """A chart of an account's entries; None: too few, or its name is hidden."""
    board = board_of(site, session, benchmark, user)
    of_account = select(Entry.id).where(
        Entry.benchmark_id == benchmark.id, Entry.account_id == account
    )
    own = set(session.scalars(of_account))
    valued = [line for line in board.lines if line.value is not None]
    lines = sorted((line for line in valued if line.entry in own), key=lambda line: line.at)[
        -MAX_ENTRIES:
    ]
    if len(lines) < MIN_ENTRIES or not all(line.by for line in lines):
        return None
    metric = translate.metric(board.by.name).title
    others = [
        (line.value, line.name)
        for line in valued
        if line.is_baseline and line.entry not in own and line.value is not None
    ]
    ends = [end for line in lines for end in (line.value, line.low, line.high) if end is not None]
    ends += [value for value, _ in others]
    low, high = (0.0, 1.0) if 0 <= min(ends) <= max(ends) <= 1 else (min(0.0, *ends), max(ends))
    axis = Axis(metric, low, high, nice_ticks(low, high))
    title = translate("portal.history.of", who=lines[0].by, metric=metric)
    lower = is_lower_better(board.by.metric)
    steps = [_step(line) for line in lines]
    drawn = history_chart(steps, axis, title, others=others, is_lower_better=lower)
    return Chart(title, drawn, remarks=(translate("portal.history.remark"),))


def _step(line: BoardLine) -> Step:
    bounds = ""
    if line.low is not None and line.high is not None:
        bounds = f" ({decimals(line.low)}–{decimals(line.high)})"
    label = f"{line.name}, {line.at:%Y-%m-%d}: {decimals(line.value)}{bounds}"
    return Step(line.value or 0.0, line.low, line.high, line.name, label)
