"""The interface for programs, version 1: JSON in, JSON out, by tokens; OpenAPI says all of it.

Files are the bodies of their requests, so that nothing is parsed before the guard let them in.
"""

import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from nodulebench import __version__
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.protocols import load_protocol
from nodulebench.evaluation.check.service import Checked
from nodulebench.i18n.translator import in_english
from nodulebench.web.client import (
    API,
    BenchmarkInfo,
    BoardInfo,
    CheckInfo,
    EntryInfo,
    FileInfo,
    LineInfo,
    ProblemInfo,
    ReadingInfo,
    RuleFileInfo,
)
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import Visitor
from nodulebench.web.portal.benchmarks.releases import open_releases
from nodulebench.web.portal.benchmarks.routes import Chosen
from nodulebench.web.portal.benchmarks.rules import FILES, AcceptedRules, Answer, RuleFile, track_of
from nodulebench.web.portal.benchmarks.service import find_benchmark, rules_of, state_of
from nodulebench.web.portal.database.models import Benchmark
from nodulebench.web.portal.guard import AtSite, By
from nodulebench.web.portal.leaderboards.leaderboard import board_of, reason_in_english
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.checks import check_submission, declared_training
from nodulebench.web.portal.submissions.routes import job_of
from nodulebench.web.portal.submissions.scoring import disclosed_digests
from nodulebench.web.portal.submissions.service import (
    MOST_NAME,
    Received,
    find_entry,
    received,
    require_open,
    result_of,
    shown_name,
    submit,
)

router = APIRouter(prefix=API)
DECLARED_LENGTH = 4000
Made = TypeVar("Made")
FILE_BODY: JsonObject = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
DENIED: dict[int | str, JsonObject] = {
    status: {"description": words}
    for status, words in {
        401: "no token, or one that has ended",
        403: "the roles of the account do not allow it",
        404: "there is none, or none that may be seen",
        409: "the benchmark is not open",
        413: "more than is taken",
        422: "it cannot be scored; check tells why",
        429: "the quota is spent",
    }.items()
}
"""What every route may answer instead, with ``error`` and ``message``."""


@router.get("/openapi.json", name="api_description", include_in_schema=False)
def api_description(request: Request) -> Response:
    """What the interface is, as OpenAPI has it."""
    return JSONResponse(request.app.openapi())


@router.get("/benchmarks", name="api_benchmarks", responses=DENIED)
def api_benchmarks(site: AtSite, by: By) -> list[BenchmarkInfo]:
    """Every benchmark that can be seen."""
    with site.database.reading() as session:
        shown = select(Benchmark).order_by(Benchmark.created_at.desc())
        if not by.is_organiser:
            shown = shown.where(Benchmark.is_shown)
        return [_benchmark(one) for one in session.scalars(shown)]


@router.get("/benchmarks/{benchmark_id}", name="api_benchmark", responses=DENIED)
def api_benchmark(site: AtSite, by: By, benchmark_id: str) -> BenchmarkInfo:
    """One benchmark."""
    with site.database.reading() as session:
        return _benchmark(find_benchmark(session, by, benchmark_id))


@router.get("/benchmarks/{benchmark_id}/leaderboard", name="api_leaderboard", responses=DENIED)
def api_leaderboard(
    site: AtSite,
    by: By,
    benchmark_id: str,
    choice: Chosen,
) -> BoardInfo:
    """The leaderboard of a benchmark: a track, under a rule, ordered by a metric."""
    with site.database.reading() as session:
        found = find_benchmark(session, by, benchmark_id)
        board = board_of(site, session, found, by, choice)
    return BoardInfo(
        benchmark=found.id,
        version=found.version,
        tracks=tuple(board.tracks),
        track=board.track,
        rules=tuple(board.rules),
        rule=board.rule,
        strata=tuple(board.strata),
        stratum=board.stratum,
        metric=board.by.name,
        lines=tuple(
            LineInfo(
                rank=line.rank,
                best_rank=line.best_rank,
                worst_rank=line.worst_rank,
                group=line.group,
                entry=line.entry,
                name=line.name,
                by=line.who,
                at=line.at,
                is_baseline=line.is_baseline,
                is_withdrawn=line.is_withdrawn,
                training=line.training,
                folds=line.folds,
                verdict=line.verdict,
                verdict_reason=reason_in_english(line.verdict_reason),
                readings=tuple(ReadingInfo(**reading) for reading in line.readings.values()),
            )
            for line in board.lines
        ),
    )


@router.get("/benchmarks/{benchmark_id}/files", name="api_files", responses=DENIED)
def api_files(site: AtSite, by: By, benchmark_id: str) -> list[FileInfo]:
    """What is released for a benchmark; files are given to who is signed in, in parts as well."""
    with site.database.reading() as session:
        found = open_releases(session, find_benchmark(session, by, benchmark_id).id)
    return [
        FileInfo(
            path=f"/benchmarks/{benchmark_id}/files/{one.id}",
            name=one.file,
            kind=one.kind,
            size=one.size,
            digest=one.digest,
        )
        for one in found
    ]


@router.post(
    "/benchmarks/{benchmark_id}/check",
    name="api_check",
    openapi_extra=FILE_BODY,
    responses=DENIED,
)
async def api_check(
    request: Request,
    site: AtSite,
    by: By,
    benchmark_id: str,
    file: str = "marks.csv",
    track: str = "detection",
) -> CheckInfo:
    """What is wrong with a file of marks; nothing is scored or kept, and no reference is read."""

    def looked(benchmark: Benchmark, sent: Received) -> CheckInfo:
        listed = rules_of(benchmark).listed_for(track)
        return _checked(check_submission(site, benchmark, sent, track), listed)

    return await _with_body(request, site, by, benchmark_id, file, looked)


@router.post(
    "/benchmarks/{benchmark_id}/entries",
    name="api_submit",
    status_code=201,
    openapi_extra=FILE_BODY,
    responses=DENIED,
)
async def api_submit(
    request: Request,
    site: AtSite,
    by: By,
    benchmark_id: str,
    name: str,
    file: str = "marks.csv",
    about: str = "",
    training: str = "",
    link: str = "",
    track: str = "detection",
    trained: Answer = "",
) -> EntryInfo:
    """Send a file of marks in; it waits for its score, with a signed receipt.

    Of ``trained`` on the test set: ``no``, ``folds`` (cross-validated, by the folds of the
    benchmark) or ``yes``.
    """
    declared = {"about": about, "training": training, "link": link}
    if max(map(len, declared.values())) > DECLARED_LENGTH or len(name) > MOST_NAME:
        raise DeniedError("field_long", 413)

    def sent_in(benchmark: Benchmark, sent: Received) -> EntryInfo:
        with site.database.reading() as session:
            require_open(session, by, benchmark)
        found = check_submission(site, benchmark, sent, track)
        if found.problems:
            raise InputError(found.problems)
        terms = AcceptedRules(training=declared_training(site, benchmark, trained, None))
        kept = {key: value for key, value in declared.items() if value}
        entry = submit(
            site, by, benchmark.id, sent, name=name, track=track, declared=kept, terms=terms
        )
        return _entry(site, by, entry.id)

    return await _with_body(request, site, by, benchmark_id, file, sent_in)


@router.get("/entries/{entry_id}", name="api_entry", responses=DENIED)
def api_entry(site: AtSite, by: By, entry_id: str) -> EntryInfo:
    """How an entry stands, as far as its reader may know."""
    return _entry(site, by, entry_id)


async def _with_body(
    request: Request,
    site: Site,
    by: Visitor,
    benchmark_id: str,
    name: str,
    make: Callable[[Benchmark, Received], Made],
) -> Made:
    """What is made of the body of a request, which goes to the disk as it comes."""

    def found() -> Benchmark:
        with site.database.reading() as session:
            return find_benchmark(session, by, benchmark_id)

    benchmark = await run_in_threadpool(found)
    with tempfile.TemporaryFile(dir=site.settings.storage) as body:
        async for chunk in request.stream():
            body.write(chunk)
        body.seek(0)

        def made() -> Made:
            with received(site, name, body, by.account) as sent:
                return make(benchmark, sent)

        return await run_in_threadpool(made)


def _benchmark(one: Benchmark) -> BenchmarkInfo:
    rules = rules_of(one)
    laid = {kind: getattr(rules, kind) for kind in FILES}
    return BenchmarkInfo(
        version=one.version,
        scorer=__version__,
        protocol_digest=load_protocol(one.protocol).digest,
        tracks=rules.open_tracks,
        cross_validates=rules.cross_validates,
        laid={kind: RuleFileInfo(**dict(found)) for kind, found in laid.items() if found},
        id=one.id,
        title=one.title,
        about=one.about,
        protocol=one.protocol,
        is_sealed=one.is_sealed,
        state=state_of(one),
        opens_at=one.opens_at,
        closes_at=one.closes_at,
    )


def _checked(found: Checked, listed: RuleFile | None) -> CheckInfo:
    return CheckInfo(
        candidates="" if listed is None else listed.digest,
        format=found.format,
        marks=found.marks,
        cases=found.cases,
        problems=tuple(
            ProblemInfo(where=problem.where, what=problem.what, remedy=problem.remedy)
            for problem in found.problems
        ),
        notices=tuple(in_english(notice) for notice in found.notices),
    )


def _entry(site: Site, by: Visitor, entry_id: str) -> EntryInfo:
    with site.database.reading() as session:
        found = find_entry(session, by, entry_id)
        is_own = by.is_organiser or by.account == found.account_id
        job, result = job_of(session, found), result_of(session, found)
        withdrawn = found.withdrawn_at is not None
        metrics = {} if result is None or withdrawn else result.metrics
        told: JsonObject = {} if job is None or not is_own else job.problems
        state: Any = "withdrawn" if withdrawn else "waiting" if job is None else job.state
        return EntryInfo(
            id=found.id,
            benchmark=found.benchmark_id,
            name=shown_name(found, by),
            track=track_of(found),
            terms=found.terms,
            digests=disclosed_digests(metrics),
            verdict=metrics.get("verdict"),
            verdict_reason=reason_in_english(metrics.get("verdict_reason")),
            at=found.created_at,
            digest=found.digest,
            state=state,
            problems=tuple(told.get("told", ())),
            readings=tuple(ReadingInfo(**one) for one in metrics.get("readings", ())),
            receipt=found.receipt if is_own else None,
        )
