"""The home page, the language, static files, and endpoints for machines."""

from fastapi import APIRouter, Request
from sqlalchemy import func, select
from starlette.responses import PlainTextResponse, Response

from nodulebench.i18n.translator import LANGUAGES
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import cookie_name
from nodulebench.web.portal.benchmarks.service import state_of
from nodulebench.web.portal.database.models import Benchmark, Entry, Result
from nodulebench.web.portal.guard import CurrentSite, CurrentUser
from nodulebench.web.portal.page import LANGUAGE, STATIC, redirect, render_page, static_file

router = APIRouter(include_in_schema=False)
A_YEAR = 365 * 24 * 3600


@router.get("/", name="home")
def home(request: Request, site: CurrentSite, by: CurrentUser) -> Response:
    with site.database.reading() as session:
        shown = select(Benchmark).order_by(Benchmark.created_at.desc())
        if not by.is_organiser:
            shown = shown.where(Benchmark.is_shown)
        count = select(Entry.benchmark_id, func.count()).join(Result).group_by(Entry.benchmark_id)
        rows = session.execute(count.where(Entry.withdrawn_at.is_(None)))
        counts = {row[0]: row[1] for row in rows}
        lines = [
            (benchmark, state_of(benchmark), counts.get(benchmark.id, 0))
            for benchmark in session.scalars(shown)
        ]
    return render_page(request, "home.html", lines=lines)


@router.get("/static/{name}", name="static")
def static(name: str) -> Response:
    if name not in STATIC:
        raise DeniedError("not_found", 404)
    headers = {"Cache-Control": f"public, max-age={A_YEAR}, immutable"}
    return Response(static_file(name), headers=headers, media_type=STATIC[name])


@router.get("/health", name="health")
def health(site: CurrentSite) -> Response:
    with site.database.reading() as session:
        session.scalar(select(func.count()).select_from(Benchmark))
    return PlainTextResponse("ok\n")


@router.get("/key", name="public_key")
def public_key(site: CurrentSite) -> Response:
    return PlainTextResponse(f"{site.key.public.line} NoduleBench portal\n")


@router.get("/language/{name}", name="choose_language")
def choose_language(name: str, site: CurrentSite, to: str = "/") -> Response:
    answer = redirect(to if to.startswith("/") and not to.startswith(("//", "/\\")) else "/")
    if name in LANGUAGES:
        secure = site.settings.is_secure
        cookie = cookie_name(site, LANGUAGE)
        answer.set_cookie(
            cookie, name, max_age=A_YEAR, httponly=True, samesite="lax", secure=secure
        )
    return answer
