"""The organiser's dashboard: queue, workers, use of test sets, exports, announcements, log."""

from collections.abc import Iterator
from typing import Annotated

import polars as pl
from fastapi import APIRouter, Query, Request
from sqlalchemy import func, select
from sqlalchemy.orm import joinedload
from starlette.responses import Response, StreamingResponse

from nodulebench.io.bundle import is_sealed
from nodulebench.io.csv_files import csv_content
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.benchmarks.rules import track_of
from nodulebench.web.portal.benchmarks.service import state_of, test_sets
from nodulebench.web.portal.database.event_log import check_log, latest_events, stored_events
from nodulebench.web.portal.database.models import (
    Account,
    Announcement,
    Benchmark,
    Entry,
    Job,
    Result,
    now,
)
from nodulebench.web.portal.guard import CurrentSite, CurrentUser, SentForm, field
from nodulebench.web.portal.leaderboards.leaderboard import reason_in_english
from nodulebench.web.portal.leaderboards.reuse import all_uses
from nodulebench.web.portal.page import redirect, render_page
from nodulebench.web.portal.projects.service import all_progress
from nodulebench.web.portal.submissions import jobs
from nodulebench.web.portal.submissions.jobs import living_workers

router = APIRouter(include_in_schema=False)
MAX_JOBS = 50
ENTRIES = {
    "benchmark": pl.String,
    "version": pl.Int64,
    **dict.fromkeys(("entry", "name", "by", "track", "kind"), pl.String),
    "is_baseline": pl.Boolean,
    "sent": pl.String,
    "bytes": pl.Int64,
    **dict.fromkeys(("digest", "state", "result", "verdict", "verdict_reason"), pl.String),
}


@router.get("/dashboard", name="dashboard")
def dashboard(request: Request, site: CurrentSite, by: CurrentUser) -> Response:
    with site.database.reading() as session:
        last = select(Job).options(joinedload(Job.entry).joinedload(Entry.benchmark))
        count = select(Job.state, func.count()).group_by(Job.state)
        announcements = select(Announcement).where(Announcement.ended_at.is_(None))
        everything = session.scalars(select(Benchmark).order_by(Benchmark.created_at.desc()))
        people = select(func.count()).where(Account.closed_at.is_(None))
        uses, unread = all_uses(session)
        values = {
            "workers": living_workers(session),
            "sets": [(name, is_sealed(site.settings.sets / name)) for name in test_sets(site)],
            "uses": uses,
            "unread": unread,
            "jobs": list(session.scalars(last.order_by(Job.created_at.desc()).limit(MAX_JOBS))),
            "counts": {state: number for state, number in session.execute(count)},  # noqa: C416
            "announcements_shown": list(
                session.scalars(announcements.order_by(Announcement.created_at.desc()))
            ),
            "benchmarks": [(benchmark, state_of(benchmark)) for benchmark in everything],
            "people": session.scalar(people),
            "projects": all_progress(site, session, by.account) if by.is_organiser else [],
        }
    return render_page(
        request, "dashboard.html", states=("waiting", "running", *jobs.ENDED), **values
    )


@router.get("/dashboard/entries.csv", name="entries_table")
def entries_table(site: CurrentSite) -> Response:
    """All entries as CSV; cells are escaped so that a spreadsheet runs no formula."""
    with site.database.reading() as session:
        query = select(Entry, Job.state, Result)
        query = query.join(Benchmark, Entry.benchmark_id == Benchmark.id)
        of_version = (Job.entry_id == Entry.id) & (Job.version == Benchmark.version)
        query = query.outerjoin(Job, of_version)
        scored = (Result.entry_id == Entry.id) & (Result.version == Benchmark.version)
        query = query.outerjoin(Result, scored).order_by(Entry.created_at)
        rows = [_row(*row) for row in session.execute(query)]
    headers = {"Content-Disposition": 'attachment; filename="entries.csv"'}
    table = pl.DataFrame(rows, schema=ENTRIES)
    return Response(csv_content(table), headers=headers, media_type="text/csv")


def _row(entry: Entry, state: str | None, result: Result | None) -> dict[str, object]:
    metrics = {} if result is None else result.metrics
    return {
        "benchmark": entry.benchmark.title,
        "version": entry.benchmark.version,
        "entry": entry.id,
        "name": entry.name,
        "by": entry.account.name,
        "track": track_of(entry),
        "kind": entry.kind,
        "is_baseline": entry.is_baseline,
        "sent": entry.created_at.isoformat(timespec="seconds"),
        "bytes": entry.size,
        "digest": entry.digest,
        "state": "withdrawn" if entry.withdrawn_at else state,
        "result": None if result is None else result.digest,
        "verdict": metrics.get("verdict"),
        "verdict_reason": reason_in_english(metrics.get("verdict_reason")),
    }


@router.post("/jobs/{job_id}/cancel", name="cancel_job")
def cancel_job(site: CurrentSite, by: CurrentUser, job_id: str) -> Response:
    jobs.cancel(site, by.account, job_id)
    return redirect("/dashboard")


@router.post("/jobs/{job_id}/retry", name="retry_job")
def retry_job(site: CurrentSite, by: CurrentUser, job_id: str) -> Response:
    jobs.retry(site, by.account, job_id)
    return redirect("/dashboard")


@router.post("/announcements", name="announce")
def announce(site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    text, about = field(form, "text"), field(form, "benchmark") or None
    if not text:
        raise DeniedError("field_form")
    with site.acting(by.account, "announced") as session:
        if about is not None and session.get(Benchmark, about) is None:
            raise DeniedError("not_found", 404)
        session.add(Announcement(text=text, benchmark_id=about))
    return redirect("/dashboard")


@router.post("/announcements/{announcement_id}/end", name="end_announcement")
def end_announcement(site: CurrentSite, by: CurrentUser, announcement_id: str) -> Response:
    with site.acting(by.account, "announcement_ended", announcement=announcement_id) as session:
        announcement = session.get(Announcement, announcement_id)
        if announcement is None:
            raise DeniedError("not_found", 404)
        announcement.ended_at = now()
    return redirect("/dashboard")


A_PAGE = 100
Number = Annotated[int | None, Query(ge=0, le=2**31 - 1)]


@router.get("/log", name="log")
def log(request: Request, site: CurrentSite, before: Number = None) -> Response:
    with site.database.reading() as session:
        events = latest_events(session, before, A_PAGE)
    return render_page(request, "log.html", events=events, log_check=None)


@router.get("/log/events.jsonl", name="log_events")
def log_events(site: CurrentSite) -> Response:
    """All events as they were signed, one per line, for copies of the log stored elsewhere."""

    def lines() -> Iterator[bytes]:
        before = 0
        while True:
            with site.database.reading() as session:
                events = stored_events(session, before, A_PAGE)
            if not events:
                return
            before = events[-1].number
            yield b"".join(event.content for event in events)

    headers = {"Content-Disposition": 'attachment; filename="events.jsonl"'}
    return StreamingResponse(lines(), headers=headers, media_type="application/jsonl")


@router.post("/log/verify", name="verify_log")
def verify_log(request: Request, site: CurrentSite, by: CurrentUser) -> Response:
    with site.database.reading() as session:
        check = check_log(session, site.key)
        events = latest_events(session, None, A_PAGE)
    with site.acting(
        by.account, "log_verified", events=len(check.events), problems=len(check.problems)
    ):
        pass
    return render_page(request, "log.html", events=events, log_check=check)
