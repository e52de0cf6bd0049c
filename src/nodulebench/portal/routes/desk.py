"""The organiser's desk: queue, benchmarks, announcements."""

from fastapi import APIRouter, Request
from sqlalchemy import func, select
from sqlalchemy.orm import joinedload
from starlette.responses import Response

from nodulebench.portal import jobs
from nodulebench.portal.access.accounts import DeniedError
from nodulebench.portal.access.guard import AtSite, By, Sent, field
from nodulebench.portal.benchmarks import state_of
from nodulebench.portal.page import rendered, see
from nodulebench.portal.store.tables import Account, Announcement, Benchmark, Entry, Job, now

router = APIRouter(include_in_schema=False)
MOST_JOBS = 50


@router.get("/desk", name="desk")
def desk(request: Request, site: AtSite) -> Response:
    """How the site stands."""
    with site.database.reading() as session:
        last = select(Job).options(joinedload(Job.entry).joinedload(Entry.benchmark))
        count = select(Job.state, func.count()).group_by(Job.state)
        told = select(Announcement).where(Announcement.ended_at.is_(None))
        everything = session.scalars(select(Benchmark).order_by(Benchmark.created_at.desc()))
        people = select(func.count()).where(Account.closed_at.is_(None))
        values = {
            "jobs": list(session.scalars(last.order_by(Job.created_at.desc()).limit(MOST_JOBS))),
            "counts": {state: number for state, number in session.execute(count)},  # noqa: C416
            "told": list(session.scalars(told.order_by(Announcement.created_at.desc()))),
            "benchmarks": [(one, state_of(one)) for one in everything],
            "people": session.scalar(people),
        }
    return rendered(request, "desk.html", states=("waiting", "running", *jobs.ENDED), **values)


@router.post("/jobs/{job_id}/cancel", name="cancel_job")
def cancel_job(site: AtSite, by: By, job_id: str) -> Response:
    """End a job."""
    jobs.cancel(site, by.account, job_id)
    return see("/desk")


@router.post("/jobs/{job_id}/retry", name="retry_job")
def retry_job(site: AtSite, by: By, job_id: str) -> Response:
    """Put a job into the queue again."""
    jobs.retry(site, by.account, job_id)
    return see("/desk")


@router.post("/announcements", name="announce")
def announce(site: AtSite, by: By, form: Sent) -> Response:
    """Tell everybody something."""
    text = field(form, "text")
    if not text:
        raise DeniedError("field_form")
    with site.acting(by.account, "announced") as session:
        session.add(Announcement(text=text))
    return see("/desk")


@router.post("/announcements/{announcement_id}/end", name="end_announcement")
def end_announcement(site: AtSite, by: By, announcement_id: str) -> Response:
    """Tell it no longer."""
    with site.acting(by.account, "announcement_ended", announcement=announcement_id) as session:
        found = session.get(Announcement, announcement_id)
        if found is None:
            raise DeniedError("not_found", 404)
        found.ended_at = now()
    return see("/desk")
