"""Rankings with intervals and ties, and comparisons of two entries, from stored results.

Both are computed from result folders only, so the files written here are a cache. A ranking is
valid for exactly the results that it lists; a worker computes it again when they change.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction
from sqlalchemy.orm import joinedload

from nodulebench.core.json_types import JsonObject
from nodulebench.evaluation.comparison.compare import ComparisonChoice
from nodulebench.evaluation.comparison.service import compare_folders, rank_folders
from nodulebench.evaluation.result_folder import EVALUATION
from nodulebench.io.atomic import make_folder, replace_whole
from nodulebench.security.events import canonical
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.benchmarks.rules import track_of
from nodulebench.web.portal.database.models import Benchmark, Entry, Result
from nodulebench.web.portal.site import Site

RANKING, COMPARED = "ranking-{track}.json", "compared"
Ranks = dict[str, JsonObject]
"""By entry: best and worst rank of the interval, and the group of entries that do not differ."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranking of a leaderboard."""

    metric: str
    rules: dict[str, Ranks]


def counted_results(
    session: Transaction, benchmark: Benchmark, track: str | None = None
) -> list[Result]:
    """Results of the current version, not withdrawn; tracks are ranked separately."""
    counted = (
        select(Result)
        .join(Entry)
        .where(Entry.benchmark_id == benchmark.id, Result.version == benchmark.version)
        .where(Entry.withdrawn_at.is_(None))
        .order_by(Result.id)
        .options(joinedload(Result.entry))
    )
    results = list(session.scalars(counted))
    return (
        results
        if track is None
        else [result for result in results if track_of(result.entry) == track]
    )


def read_ranking(
    site: Site, session: Transaction, benchmark: Benchmark, track: str = "detection"
) -> Ranking | None:
    stored = _cached(_place(site, benchmark.id, track))
    results = counted_results(session, benchmark, track)
    if stored is None or stored["results"] != [result.id for result in results]:
        return None
    return Ranking(stored["metric"], stored["rules"])


def _place(site: Site, benchmark: str, track: str) -> Path:
    return site.benchmark(benchmark) / RANKING.format(track=track)


def refresh_rankings(site: Site) -> int:
    """Rank every benchmark whose results have changed; return the number of new rankings."""
    made = 0
    with site.database.reading() as session:
        due = [
            (benchmark.id, track, results)
            for benchmark in session.scalars(select(Benchmark))
            for track, results in _by_track(counted_results(session, benchmark)).items()
            if len(results) > 1 and read_ranking(site, session, benchmark, track) is None
        ]
    for benchmark, track, results in due:
        folders = {result.entry_id: site.results / result.folder for result in results}
        open_ones = {name: path for name, path in folders.items() if (path / EVALUATION).is_file()}
        if len(open_ones) > 1:
            metric, rules = _ranked(open_ones)
            content = {
                "results": [result.id for result in results],
                "metric": metric,
                "rules": rules,
            }
            make_folder(site.benchmark(benchmark))
            replace_whole(_place(site, benchmark, track), canonical(content))
            made += 1
    return made


def _by_track(results: Sequence[Result]) -> dict[str, list[Result]]:
    by_track: dict[str, list[Result]] = {}
    for result in results:
        by_track.setdefault(track_of(result.entry), []).append(result)
    return by_track


def _ranked(folders: Mapping[str, Path]) -> tuple[str, dict[str, Ranks]]:
    metric, groups = "", rank_folders(folders)
    rules: dict[str, Ranks] = {}
    for number, rankings in enumerate(groups):
        for (rule, reading), ranking in rankings.items():
            metric = f"{reading.shown}/{reading.point}" if reading.point else reading.shown
            rules.setdefault(rule, {}).update(
                {
                    line.name: {
                        "best": line.best_rank,
                        "worst": line.worst_rank,
                        "group": line.group,
                        "use": number,
                    }
                    for line in ranking.lines
                }
            )
    return metric, rules


def compared(site: Site, first: Result, other: Result) -> list[JsonObject]:
    """The paired differences of two entries, one per metric; computed once from stored results."""
    file = site.settings.storage / COMPARED / f"{first.id}-{other.id}.json"
    content = _cached(file)
    if content is None:
        folders = [site.results / result.folder for result in (first, other)]
        if not all((folder / EVALUATION).is_file() for folder in folders):
            raise DeniedError("not_comparable", 409)
        choice = ComparisonChoice("", permutations=0, is_within_use=False)
        comparison = compare_folders(folders[0], folders[1], choice)
        content = {
            "differences": [
                {
                    "rule": difference.rule,
                    "metric": difference.reading.shown,
                    "point": difference.reading.point,
                    "one": difference.value,
                    "other": difference.baseline_value,
                    "value": difference.comparison.difference.value,
                    "low": difference.comparison.difference.soundly.low,
                    "high": difference.comparison.difference.soundly.high,
                    "p": difference.comparison.p_value,
                }
                for difference in comparison.differences
                if difference.comparison is not None
            ]
        }
        make_folder(file.parent)
        replace_whole(file, canonical(content))
    differences: list[JsonObject] = content["differences"]
    return differences


def _cached(path: Path) -> JsonObject | None:
    try:
        content: JsonObject = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return content
