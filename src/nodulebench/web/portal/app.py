"""The web application of a site: its routes, each behind the guard."""

import logging

from fastapi import Depends, FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from nodulebench import __version__
from nodulebench.core.errors import InputError, first_line
from nodulebench.i18n.translator import portal_translator
from nodulebench.web.portal import api, home_routes
from nodulebench.web.portal.accounts import oidc_routes
from nodulebench.web.portal.accounts import routes as account_routes
from nodulebench.web.portal.accounts.oidc import Oidc
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import ANONYMOUS, User
from nodulebench.web.portal.admin import routes as admin_routes
from nodulebench.web.portal.benchmarks import routes as benchmark_routes
from nodulebench.web.portal.database.database import UNREACHED
from nodulebench.web.portal.exams import routes as exam_routes
from nodulebench.web.portal.exams.sessions import ExamSessions
from nodulebench.web.portal.guard import SignInError, guard
from nodulebench.web.portal.leaderboards import routes as leaderboard_routes
from nodulebench.web.portal.middleware import BodySizeLimit, SecurityHeaders, UploadLimiter
from nodulebench.web.portal.page import redirect, render_page
from nodulebench.web.portal.page_cache import PageCache
from nodulebench.web.portal.projects import routes as project_routes
from nodulebench.web.portal.projects.sessions import ProjectSessions
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions import routes as submission_routes
from nodulebench.web.portal.viewer_access.gateway import sessions_app
from nodulebench.web.portal.viewer_access.reviews import ReviewSessions

ROUTERS = tuple(
    routes.router
    for routes in (
        home_routes,
        account_routes,
        oidc_routes,
        benchmark_routes,
        submission_routes,
        leaderboard_routes,
        admin_routes,
        project_routes,
        exam_routes,
        api,
    )
)


API = "/api/"
LOG = logging.getLogger("nodulebench.web.portal")
MAX_PATH = 100
LOGGED_REFUSALS = frozenset(
    {"not_allowed", "form_old", "token_needed", "too_large", "busy", "disk_full", "quota_full"}
)
"""Refusals that are written to the log: no page leads to them, or they fill the disk."""


def make_app(site: Site) -> FastAPI:
    app = FastAPI(
        title="NoduleBench",
        version=__version__,
        dependencies=[Depends(guard)],
        docs_url=None,  # their pages load scripts from other hosts
        redoc_url=None,
        openapi_url=None,
    )
    app.state.site = site
    app.state.upload_limiter = UploadLimiter()
    provider = site.settings.provider
    app.state.oidc = None if provider is None else Oidc(provider, site.settings.address)
    app.state.sessions = ProjectSessions(site)
    for router in ROUTERS:
        app.include_router(router)
    for path, sessions, home in (
        ("/projects/{of}/session", app.state.sessions, ("projects", "/projects")),
        ("/exams/{of}/session", ExamSessions(site), ("projects", "/projects")),
        ("/entries/{of}/view", ReviewSessions(site), ("entry", "..")),
    ):
        app.mount(path, sessions_app(sessions, app.state.upload_limiter, home), name=sessions.route)
    app.add_exception_handler(DeniedError, _refused)
    app.add_exception_handler(SignInError, _sign_in)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(InputError, _wrong_input)
    for away in UNREACHED:
        app.add_exception_handler(away, _away)
    app.add_middleware(
        BodySizeLimit,
        largest_upload=site.settings.largest_upload,
        on_refused=lambda path: site.refuse("", "too_large", at=path[:MAX_PATH]),
    )
    app.add_middleware(SecurityHeaders, is_secure=site.settings.is_secure)
    app.add_middleware(PageCache, site=site)
    if site.settings.proxy:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=site.settings.proxy)
    return app


def _error_response(request: Request, code: str, status: int) -> Response:
    if request.url.path.startswith(API):
        message = portal_translator("en")(f"portal.refused.{code}")
        return JSONResponse({"error": code, "message": message}, status)
    return render_page(request, "refused.html", status, code=code, status=status)


def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, DeniedError):
        raise error
    if error.code in LOGGED_REFUSALS:
        site: Site = request.app.state.site
        user: User = getattr(request.state, "user", ANONYMOUS)
        site.refuse(user.account, error.code, at=request.url.path[:MAX_PATH])
    return _error_response(request, error.code, error.status)


def _sign_in(request: Request, error: Exception) -> Response:  # noqa: ARG001
    if request.url.path.startswith(API) or request.method != "GET":
        return _error_response(request, "sign_in_first", 401)
    return redirect(f"/sign-in?next={request.url.path}")


def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = {404: "not_found", 405: "not_found", 400: "field_long", 413: "too_large"}
    return _error_response(request, known.get(status, "not_possible"), status)


def _away(request: Request, error: Exception) -> Response:
    LOG.error("%s %s: %s", request.method, request.url.path, first_line(error))
    return _error_response(request, "away", 503)


def _wrong_input(request: Request, error: Exception) -> Response:
    if request.url.path.startswith(API):  # problems of an uploaded file
        return JSONResponse({"error": "not_possible", "message": str(error)}, 422)
    return _error_response(request, "not_possible", 422)
