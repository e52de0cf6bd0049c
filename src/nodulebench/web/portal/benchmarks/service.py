"""Benchmarks: a test set and a protocol that people submit to.

The case table of an open test set is stored separately when the benchmark is made, so that checking
a submission never opens the reference. Of a sealed set only its location is stored.
"""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, get_args

import polars as pl
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import NoduleBenchError
from nodulebench.core.protocol import PROTOCOL_NAMES, load_protocol
from nodulebench.core.tables import without_images
from nodulebench.io.atomic import make_folder
from nodulebench.io.bundle import is_sealed
from nodulebench.io.formats import read_reference
from nodulebench.io.table_files import read_parquet, write_parquet
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.rules import RuleFile
from nodulebench.web.portal.database.models import Benchmark, Entry, new_id, now
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.jobs import enqueue

CASES_FILE = "cases.parquet"
MAX_TITLE = 120
Track = Literal["detection", "reduction"]
TRACKS: tuple[Track, ...] = get_args(Track)
State = Literal["before", "open", "closed"]


class BenchmarkRules(ConfigModel):
    """What an organiser chose for a benchmark."""

    tracks: tuple[Track, ...] = ("detection",)
    feedback: Literal["metrics", "cases", "images"] = "metrics"
    """What submitters see: metrics and curves; also single nodules and marks; also their images."""
    scans: str = ""
    """The folder of scans for case review; empty: the images of the test set."""
    takes_algorithms: bool = False
    """Whether algorithms may be submitted as well as marks; they run in isolation."""
    is_anonymous: bool = False
    """Whether others see a number instead of a name."""
    per_week: Annotated[int, Field(ge=1)] | None = None
    in_all: Annotated[int, Field(ge=1)] | None = None
    """Maximum number of entries per account; None: no limit."""
    cross_validates: bool = False
    """Whether training on the test set requires cross-validation and a statement about it."""
    candidates: RuleFile | None = None
    """The candidates of the false-positive reduction track, which is closed without them."""
    folds: RuleFile | None = None
    """The folds to cross-validate by; None: participants choose their own."""
    plan: RuleFile | None = None
    """The frozen plan that evaluates entries; None: no acceptance criteria."""

    @property
    def open_tracks(self) -> tuple[Track, ...]:
        return tuple(track for track in self.tracks if track == "detection" or self.candidates)

    def listed_for(self, track: str) -> RuleFile | None:
        """The candidates that entries of an open track score; None: they have their own marks."""
        if track not in self.open_tracks:
            raise DeniedError("track_closed", 409)
        return self.candidates if track == "reduction" else None


def rules_of(benchmark: Benchmark) -> BenchmarkRules:
    return BenchmarkRules.model_validate(benchmark.rules)


def test_sets(site: Site) -> list[str]:
    place = site.settings.sets
    if not place.is_dir():
        return []
    return sorted(path.name for path in place.iterdir() if not path.name.startswith("."))


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkOptions:
    """What an organiser chooses for a new benchmark."""

    title: str
    test_set: str
    """One of ``test_sets``."""
    protocol: str
    """Name of a packaged protocol."""
    about: str = ""
    rules: BenchmarkRules = field(default_factory=BenchmarkRules)
    opens_at: datetime | None = None
    closes_at: datetime | None = None


def make_benchmark(site: Site, by: User, options: BenchmarkOptions) -> str:
    title, test_set, protocol = options.title.strip(), options.test_set, options.protocol
    if not title or len(title) > MAX_TITLE or not title.isprintable():
        raise DeniedError("title_form")
    if test_set not in test_sets(site) or protocol not in PROTOCOL_NAMES:
        raise DeniedError("not_found", 404)
    place, benchmark = site.settings.sets / test_set, new_id()
    sealed = is_sealed(place)
    if not sealed:
        _store_cases(site, benchmark, place)
    facts = {"benchmark": benchmark, "protocol": load_protocol(protocol).digest}
    with site.acting(by.account, "benchmark_made", **facts, sealed=sealed) as session:
        session.add(
            Benchmark(
                id=benchmark,
                title=title,
                about=options.about,
                reference=str(place.resolve()),
                is_sealed=sealed,
                protocol=protocol,
                rules=options.rules.model_dump(mode="json"),
                opens_at=options.opens_at,
                closes_at=options.closes_at,
            )
        )
    return benchmark


def rescore_entries(site: Site, by: User, benchmark: str) -> int:
    """Begin a new version of a benchmark and score all entries under it; return their number.

    Older results remain, each with its version. If the test set cannot be read, nothing changes.
    """
    with site.database.reading() as session:
        stored = session.get(Benchmark, benchmark)
    if stored is None:
        raise DeniedError("not_found", 404)
    if not stored.is_sealed:
        _store_cases(site, benchmark, Path(stored.reference))
    with site.database.writing() as session:
        stored = session.scalars(
            select(Benchmark).where(Benchmark.id == benchmark).with_for_update()
        ).one()
        stored.version += 1
        counted = select(Entry).where(Entry.benchmark_id == benchmark)
        entries = session.scalars(counted.where(Entry.withdrawn_at.is_(None))).all()
        for entry in entries:
            enqueue(session, entry.id, stored.version)
        version = stored.version
        site.record(session, by.account, "rescored", benchmark=benchmark, version=version)
    return len(entries)


def _store_cases(site: Site, benchmark: str, place: Path) -> None:
    cases = without_images(read_reference(place).cases)
    make_folder(site.benchmark(benchmark))
    write_parquet(cases, site.benchmark(benchmark) / CASES_FILE)


def find_benchmark(session: Transaction, user: User, benchmark: str) -> Benchmark:
    stored = session.get(Benchmark, benchmark)
    if stored is None or not (stored.is_shown or user.is_organiser):
        raise DeniedError("not_found", 404)
    return stored


def known_cases(site: Site, benchmark: Benchmark) -> pl.DataFrame | None:
    """The stored case table; None for a sealed set, whose cases are not disclosed."""
    if benchmark.is_sealed:
        return None
    return read_parquet(site.benchmark(benchmark.id) / CASES_FILE)


def state_of(benchmark: Benchmark, at: datetime | None = None) -> State:
    at = at or now()
    if benchmark.opens_at is not None and at < benchmark.opens_at:
        return "before"
    return "closed" if benchmark.closes_at is not None and at >= benchmark.closes_at else "open"


def problem_text(error: NoduleBenchError, site: Site) -> str:
    """The message about a test set that cannot be used, without paths of the disk."""
    return str(error).replace(f"{site.settings.sets}/", "")
