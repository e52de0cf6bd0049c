"""The JSON API for programs, version 1; requests are authorised by tokens.

Files are request bodies rather than forms, so that nothing is parsed before the guard has run.
"""

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from nodulebench import __version__
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.protocol import load_protocol
from nodulebench.evaluation.check import Checked
from nodulebench.i18n.translator import in_english
from nodulebench.web.client import (
    API,
    BenchmarkInfo,
    BoardInfo,
    CheckInfo,
    EntryInfo,
    FileInfo,
    ProblemInfo,
    ReadingInfo,
    RuleFileInfo,
)
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.releases import open_releases
from nodulebench.web.portal.benchmarks.routes import Chosen
from nodulebench.web.portal.benchmarks.rules import FILES, RuleFile, track_of
from nodulebench.web.portal.benchmarks.service import find_benchmark, rules_of, state_of
from nodulebench.web.portal.database.models import Benchmark
from nodulebench.web.portal.guard import CurrentSite, CurrentUser
from nodulebench.web.portal.leaderboards.leaderboard import board_of, reason_in_english
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.checks import check_submission, declared_training
from nodulebench.web.portal.submissions.routes import job_of
from nodulebench.web.portal.submissions.scoring import disclosed_digests
from nodulebench.web.portal.submissions.service import (
    MAX_NAME,
    SubmitOptions,
    Upload,
    find_entry,
    require_open,
    result_of,
    shown_name,
    store_upload,
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
        401: "the token is missing or has ended",
        403: "the roles of the account do not allow it",
        404: "it does not exist, or the account may not see it",
        409: "the benchmark is not open",
        413: "larger than allowed",
        422: "it cannot be scored; a check reports why",
        429: "the quota is spent",
    }.items()
}
"""Errors that every route may return, with ``error`` and ``message``."""


@router.get("/openapi.json", name="api_description", include_in_schema=False)
def api_description(request: Request) -> Response:
    """Return the OpenAPI description of the API."""
    return JSONResponse(request.app.openapi())


@router.get("/benchmarks", name="api_benchmarks", responses=DENIED)
def api_benchmarks(site: CurrentSite, by: CurrentUser) -> list[BenchmarkInfo]:
    """List all visible benchmarks."""
    with site.database.reading() as session:
        shown = select(Benchmark).order_by(Benchmark.created_at.desc())
        if not by.is_organiser:
            shown = shown.where(Benchmark.is_shown)
        return [_benchmark(benchmark) for benchmark in session.scalars(shown)]


@router.get("/benchmarks/{benchmark_id}", name="api_benchmark", responses=DENIED)
def api_benchmark(site: CurrentSite, by: CurrentUser, benchmark_id: str) -> BenchmarkInfo:
    """Return one benchmark."""
    with site.database.reading() as session:
        return _benchmark(find_benchmark(session, by, benchmark_id))


@router.get("/benchmarks/{benchmark_id}/leaderboard", name="api_leaderboard", responses=DENIED)
def api_leaderboard(
    site: CurrentSite, by: CurrentUser, benchmark_id: str, choice: Chosen
) -> BoardInfo:
    """Return the leaderboard of a benchmark for a track and a rule, ordered by a metric."""
    with site.database.reading() as session:
        benchmark = find_benchmark(session, by, benchmark_id)
        board = board_of(site, session, benchmark, by, choice)
    shown = asdict(board)
    lines = [
        {
            **line,
            "verdict_reason": reason_in_english(line["verdict_reason"]),
            "readings": tuple(line["readings"].values()),
        }
        for line in shown["lines"]
    ]
    about = {"benchmark": benchmark.id, "version": benchmark.version, "metric": board.by.name}
    return BoardInfo.model_validate({**shown, **about, "lines": lines})


@router.get("/benchmarks/{benchmark_id}/files", name="api_files", responses=DENIED)
def api_files(site: CurrentSite, by: CurrentUser, benchmark_id: str) -> list[FileInfo]:
    """List the released files. Downloads need a signed-in account and support byte ranges."""
    with site.database.reading() as session:
        releases = open_releases(session, find_benchmark(session, by, benchmark_id).id)
    return [
        FileInfo(
            path=f"/benchmarks/{benchmark_id}/files/{release.id}",
            name=release.file,
            kind=release.kind,
            size=release.size,
            digest=release.digest,
        )
        for release in releases
    ]


@router.post(
    "/benchmarks/{benchmark_id}/check", name="api_check", openapi_extra=FILE_BODY, responses=DENIED
)
async def api_check(
    request: Request,
    site: CurrentSite,
    by: CurrentUser,
    benchmark_id: str,
    file: str = "marks.csv",
    track: str = "detection",
) -> CheckInfo:
    """Check a file of marks. Nothing is scored or stored, and the reference is not read."""

    def check_upload(benchmark: Benchmark, sent: Upload) -> CheckInfo:
        listed = rules_of(benchmark).listed_for(track)
        return _checked(check_submission(site, benchmark, sent, track), listed)

    return await _with_body(request, site, by, benchmark_id, file, check_upload)


@router.post(
    "/benchmarks/{benchmark_id}/entries",
    name="api_submit",
    status_code=201,
    openapi_extra=FILE_BODY,
    responses=DENIED,
)
async def api_submit(
    request: Request,
    site: CurrentSite,
    by: CurrentUser,
    benchmark_id: str,
    options: Annotated[SubmitOptions, Depends()],
    file: str = "marks.csv",
) -> EntryInfo:
    """Submit a file of marks. The entry waits for its score; the answer holds a signed receipt.

    ``trained`` states whether it was trained on the test set: ``no``, ``folds`` (cross-validated
    by the folds of the benchmark) or ``yes``.
    """
    longest = max(map(len, options.declared.values()), default=0)
    if longest > DECLARED_LENGTH or len(options.name) > MAX_NAME:
        raise DeniedError("field_long", 413)

    def check_and_submit(benchmark: Benchmark, sent: Upload) -> EntryInfo:
        with site.database.reading() as session:
            require_open(session, by, benchmark)
        check = check_submission(site, benchmark, sent, options.track)
        if check.problems:
            raise InputError(check.problems)
        training = declared_training(site, benchmark, options.trained, None)
        entry = submit(site, by, benchmark.id, sent, options, training=training)
        return _entry(site, by, entry.id)

    return await _with_body(request, site, by, benchmark_id, file, check_and_submit)


@router.get("/entries/{entry_id}", name="api_entry", responses=DENIED)
def api_entry(site: CurrentSite, by: CurrentUser, entry_id: str) -> EntryInfo:
    """Return an entry as far as the caller may see it."""
    return _entry(site, by, entry_id)


async def _with_body(
    request: Request,
    site: Site,
    by: User,
    benchmark_id: str,
    name: str,
    make: Callable[[Benchmark, Upload], Made],
) -> Made:
    """Save the request body to disk while it arrives, then process it."""

    def requested() -> Benchmark:
        with site.database.reading() as session:
            return find_benchmark(session, by, benchmark_id)

    benchmark = await run_in_threadpool(requested)
    with tempfile.TemporaryFile(dir=site.settings.storage) as body:
        async for chunk in request.stream():
            body.write(chunk)
        body.seek(0)

        def made() -> Made:
            with store_upload(site, name, body, by.account) as sent:
                return make(benchmark, sent)

        return await run_in_threadpool(made)


def _benchmark(benchmark: Benchmark) -> BenchmarkInfo:
    rules = rules_of(benchmark)
    rule_files = {kind: getattr(rules, kind) for kind in FILES}
    return BenchmarkInfo(
        version=benchmark.version,
        scorer=__version__,
        protocol_digest=load_protocol(benchmark.protocol).digest,
        tracks=rules.open_tracks,
        cross_validates=rules.cross_validates,
        rule_files={
            kind: RuleFileInfo(**dict(rule_file))
            for kind, rule_file in rule_files.items()
            if rule_file
        },
        id=benchmark.id,
        title=benchmark.title,
        about=benchmark.about,
        protocol=benchmark.protocol,
        is_sealed=benchmark.is_sealed,
        state=state_of(benchmark),
        opens_at=benchmark.opens_at,
        closes_at=benchmark.closes_at,
    )


def _checked(check: Checked, listed: RuleFile | None) -> CheckInfo:
    return CheckInfo(
        candidates="" if listed is None else listed.digest,
        format=check.format,
        marks=check.marks,
        cases=check.cases,
        problems=tuple(
            ProblemInfo(where=problem.where, what=problem.what, remedy=problem.remedy)
            for problem in check.problems
        ),
        notices=tuple(in_english(notice) for notice in check.notices),
    )


def _entry(site: Site, by: User, entry_id: str) -> EntryInfo:
    with site.database.reading() as session:
        entry = find_entry(session, by, entry_id)
        is_own = by.is_organiser or by.account == entry.account_id
        job, result = job_of(session, entry), result_of(session, entry)
        withdrawn = entry.withdrawn_at is not None
        metrics = {} if result is None or withdrawn else result.metrics
        problems: JsonObject = {} if job is None or not is_own else job.problems
        state: Any = "withdrawn" if withdrawn else "waiting" if job is None else job.state
        return EntryInfo(
            id=entry.id,
            benchmark=entry.benchmark_id,
            name=shown_name(entry, by),
            track=track_of(entry),
            accepted_rules=entry.accepted_rules,
            digests=disclosed_digests(metrics),
            verdict=metrics.get("verdict"),
            verdict_reason=reason_in_english(metrics.get("verdict_reason")),
            at=entry.created_at,
            digest=entry.digest,
            state=state,
            problems=tuple(problems.get("messages", ())),
            readings=tuple(ReadingInfo(**reading) for reading in metrics.get("readings", ())),
            receipt=entry.receipt if is_own else None,
        )
