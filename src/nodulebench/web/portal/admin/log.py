"""The log of the site, for those who check it."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from nodulebench.web.portal.database.event_log import check_log, latest_events, stored_events
from nodulebench.web.portal.guard import AtSite, By
from nodulebench.web.portal.page import rendered

router = APIRouter(include_in_schema=False)
A_PAGE = 100
Number = Annotated[int | None, Query(ge=0, le=2**31 - 1)]


@router.get("/log", name="log")
def log(request: Request, site: AtSite, before: Number = None) -> Response:
    """The last events, or those before one."""
    with site.database.reading() as session:
        events = latest_events(session, before, A_PAGE)
    return rendered(request, "log.html", events=events, found=None)


@router.get("/log/events.jsonl", name="log_events")
def log_events(site: AtSite) -> Response:
    """Every event as it was signed, one a line: for who keeps the log elsewhere, too."""

    def lines() -> Iterator[bytes]:
        before = 0
        while True:
            with site.database.reading() as session:
                found = stored_events(session, before, A_PAGE)
            if not found:
                return
            before = found[-1].number
            yield b"".join(one.content for one in found)

    headers = {"Content-Disposition": 'attachment; filename="events.jsonl"'}
    return StreamingResponse(lines(), headers=headers, media_type="application/jsonl")


@router.post("/log/verify", name="verify_log")
def verify_log(request: Request, site: AtSite, by: By) -> Response:
    """Whether every event is as it was written, and none is missing."""
    with site.database.reading() as session:
        found = check_log(session, site.key)
        events = latest_events(session, None, A_PAGE)
    with site.acting(
        by.account, "log_verified", events=len(found.events), problems=len(found.problems)
    ):
        pass
    return rendered(request, "log.html", events=events, found=found)
