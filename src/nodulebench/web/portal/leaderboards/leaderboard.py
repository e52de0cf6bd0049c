"""The leaderboard of a benchmark: its entries under one rule, ordered by one metric."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import polars as pl
from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction
from sqlalchemy.orm import joinedload

from nodulebench.core.documents.records import Verdict
from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.numbers import decimals
from nodulebench.i18n.translator import in_english, translator
from nodulebench.metrics import is_lower_better
from nodulebench.report.pages.templates import page
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.rules import accepted_rules, track_of
from nodulebench.web.portal.benchmarks.service import rules_of
from nodulebench.web.portal.database.models import Benchmark, Entry, Result
from nodulebench.web.portal.leaderboards.rankings import read_ranking
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.service import shown_account, shown_name

TABLE = {
    "rank": pl.Int64,
    **dict.fromkeys(("entry", "name", "by", "sent"), pl.String),
    "is_baseline": pl.Boolean,
    **dict.fromkeys(("rule", "metric", "point"), pl.String),
    **dict.fromkeys(("value", "low", "high"), pl.Float64),
    **dict.fromkeys(("stratum", "track", "training", "verdict", "verdict_reason"), pl.String),
}


class Reading(NamedTuple):
    """A metric, at one operating point if it has several."""

    metric: str
    point: str = ""

    @property
    def name(self) -> str:
        return f"{self.metric}/{self.point}" if self.point else self.metric


@dataclass(frozen=True, slots=True)
class BoardLine:
    """An entry on a leaderboard."""

    entry: str
    name: str
    by: str
    """Empty if names are hidden."""
    at: datetime
    is_own: bool
    is_baseline: bool
    is_withdrawn: bool
    rank: int | None
    """None: withdrawn, or without that metric."""
    value: float | None
    low: float | None
    high: float | None
    readings: dict[str, JsonObject]
    """All its metrics under the rule, by name."""
    best_rank: int | None = None
    worst_rank: int | None = None
    """The interval of its rank; None: not computed yet, or not for this metric."""
    group: str = ""
    """Entries with the same group do not differ significantly from the best of the group."""
    training: str = ""
    """Statement about training on the test set: no, folds (cross-validated), or yes."""
    folds: int = 0
    verdict: Verdict | None = None
    """By the acceptance criteria; None: no criteria."""
    verdict_reason: JsonObject | None = None
    """Why the verdict is undecided, as a notice; None: it is decided."""


@dataclass(frozen=True, slots=True)
class BoardChoice:
    """The requested leaderboard of a benchmark."""

    rule: str = ""
    """One of its rules; anything else: the first."""
    metric: str = ""
    """The metric that orders; anything else: the CPM, or the first."""
    track: str = ""
    """One of its tracks; anything else: the first."""
    stratum: str = ""
    """A part of the cohort; anything else: the whole."""


FIRST = BoardChoice()


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard under one rule, ordered by one metric."""

    tracks: list[str]
    """Open tracks and tracks with entries; one for each version of a candidate list."""
    track: str
    rules: list[str]
    rule: str
    strata: list[str]
    """Parts of the cohort for which an entry has metrics, as ``type=solid``."""
    stratum: str
    readings: list[Reading]
    by: Reading
    lines: list[BoardLine]

    @property
    def table(self) -> pl.DataFrame:
        """All metrics of all entries, one per row; one row for a verdict without metrics."""
        rows = [
            {
                "rank": line.rank,
                "entry": line.entry,
                "name": line.name,
                "by": line.by,
                "sent": line.at.isoformat(timespec="seconds"),
                "is_baseline": line.is_baseline,
                "track": self.track,
                "training": line.training,
                "verdict": line.verdict,
                "verdict_reason": reason_in_english(line.verdict_reason),
                "stratum": self.stratum,
                **dict(reading),
            }
            for line in self.lines
            for reading in line.readings.values() or ([{}] if line.verdict else [])
        ]
        return pl.DataFrame(rows, schema=TABLE)


def board_of(
    site: Site, session: Transaction, benchmark: Benchmark, user: User, choice: BoardChoice = FIRST
) -> Board:
    scored = session.scalars(
        select(Result)
        .join(Entry)
        .where(Entry.benchmark_id == benchmark.id, Result.version == benchmark.version)
        .options(joinedload(Result.entry).joinedload(Entry.account))
        .order_by(Entry.created_at)
    ).all()
    tracks = _tracks(benchmark, scored)
    of_track = choice.track if choice.track in tracks else tracks[0]
    results = [result for result in scored if track_of(result.entry) == of_track]
    strata = strata_of(results)
    part = choice.stratum if choice.stratum in strata else ""
    rules = list(
        dict.fromkeys(reading["rule"] for result in results for reading in readings_of(result))
    )
    chosen = choice.rule if choice.rule in rules else (rules[0] if rules else "")
    readings = list(
        dict.fromkeys(
            Reading(reading["metric"], reading["point"])
            for result in results
            for reading in readings_of(result, part)
            if reading["rule"] == chosen
        )
    )
    order = _ordering(readings, choice.metric)
    lines = [_line(result, user, chosen, order, part) for result in results]
    ranking = None if part else read_ranking(site, session, benchmark, of_track)
    ranks = {} if ranking is None or ranking.metric != order.name else ranking.rules.get(chosen, {})
    ranked = [_with_interval(line, ranks.get(line.entry)) for line in _ranked(lines, order)]
    return Board(tracks, of_track, rules, chosen, strata, part, readings, order, ranked)


def _tracks(benchmark: Benchmark, results: Sequence[Result]) -> list[str]:
    rules = rules_of(benchmark)
    candidates = rules.candidates
    now = [
        open_track
        if open_track == "detection" or candidates is None
        else f"{open_track}-{candidates.version}"
        for open_track in rules.open_tracks
    ]
    return list(dict.fromkeys([*now, *(track_of(result.entry) for result in results)])) or [
        "detection"
    ]


def _with_interval(line: BoardLine, rank: JsonObject | None) -> BoardLine:
    """The line with the interval of its rank; each intended use has its own group letter."""
    if rank is None or line.rank is None:
        return line
    group = chr(ord("A") + rank["use"]) + str(rank["group"])
    return replace(line, best_rank=rank["best"], worst_rank=rank["worst"], group=group)


def readings_of(result: Result, stratum: str = "") -> list[JsonObject]:
    if not stratum:
        readings: list[JsonObject] = result.metrics.get("readings", [])
        return readings
    return [part for part in _parts(result) if part["stratum"] == stratum]


def strata_of(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(part["stratum"] for result in results for part in _parts(result)))


def _parts(result: Result) -> list[JsonObject]:
    """Metrics of parts of the cohort; older results have none."""
    readings: list[JsonObject] = result.metrics.get("strata", [])
    return readings


def _ordering(readings: Sequence[Reading], by: str) -> Reading:
    """The metric that orders: the requested one, the CPM, or the first where higher is better."""
    named = {reading.name: reading for reading in readings}
    if by in named:
        return named[by]
    if "cpm" in named:
        return named["cpm"]
    higher = (reading for reading in readings if not is_lower_better(reading.metric))
    return next(higher, readings[0] if readings else Reading("cpm"))


def _line(result: Result, user: User, rule: str, by: Reading, stratum: str) -> BoardLine:
    entry = result.entry
    withdrawn = entry.withdrawn_at is not None
    under = [reading for reading in readings_of(result, stratum) if reading["rule"] == rule]
    training = accepted_rules(entry).training
    readings = {Reading(reading["metric"], reading["point"]).name: reading for reading in under}
    own = {} if withdrawn else readings.get(by.name, {})
    return BoardLine(
        entry=entry.id,
        name=shown_name(entry, user),
        by=shown_account(entry, user),
        at=entry.created_at,
        is_own=bool(user.account) and user.account == entry.account_id,
        is_baseline=entry.is_baseline,
        is_withdrawn=withdrawn,
        rank=None,
        value=own.get("value"),
        low=own.get("low"),
        high=own.get("high"),
        readings={} if withdrawn else readings,
        training=training.answer,
        folds=training.count,
        verdict=None if withdrawn else result.metrics.get("verdict"),
        verdict_reason=None if withdrawn else result.metrics.get("verdict_reason"),
    )


def reason_in_english(reason: JsonObject | None) -> str:
    return in_english(reason) if reason else ""


def _ranked(lines: list[BoardLine], by: Reading) -> list[BoardLine]:
    sign = 1.0 if is_lower_better(by.metric) else -1.0
    unsorted = [line for line in lines if line.value is not None]
    valued = sorted(unsorted, key=lambda line: sign * (line.value or 0.0))
    values = [line.value for line in valued]
    ranked = [replace(line, rank=values.index(line.value) + 1) for line in valued]
    return [*ranked, *(line for line in lines if line.value is None)]


def badge_of(result: Result | None) -> str:
    readings = [] if result is None else readings_of(result)
    by = _ordering([Reading(reading["metric"], reading["point"]) for reading in readings], "")
    reading = next(
        (reading for reading in readings if (reading["metric"], reading["point"]) == by), {}
    )
    words = f"{translator('en').metric(by.name).title} {decimals(reading.get('value'))}"
    if reading.get("low") is not None and reading.get("high") is not None:
        words += f" ({decimals(reading['low'])}–{decimals(reading['high'])})"
    return page("portal/badge.html", words=words)
