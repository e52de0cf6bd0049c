"""Render pages in the language of the user, with form secrets and cookies."""

import hashlib
from contextlib import suppress
from functools import cache

from fastapi import Request
from sqlalchemy import select
from starlette.responses import HTMLResponse, RedirectResponse, Response

from nodulebench import __version__
from nodulebench.i18n.numbers import decimals
from nodulebench.i18n.translator import LANGUAGES, LanguageName, portal_translator
from nodulebench.report.pages.cells import hidden_field, time_in_utc
from nodulebench.report.pages.colours import colour_variables
from nodulebench.report.pages.templates import asset, page
from nodulebench.web.portal.accounts.roles import may
from nodulebench.web.portal.accounts.users import ANONYMOUS, User, cookie_name
from nodulebench.web.portal.database.database import UNREACHED
from nodulebench.web.portal.database.models import Announcement
from nodulebench.web.portal.guard import FIELD, FORM
from nodulebench.web.portal.site import Site

LANGUAGE = "language"
STATIC = {"portal.css": "text/css", "portal.js": "text/javascript"}
PARTS = {
    "portal.css": ("charts.css", "blocks.css", "portal.css"),
    "portal.js": ("report.js", "portal.js"),
}
"""The assets that each static file consists of; charts and tables work as in a report."""


@cache
def static_file(name: str) -> str:
    whole = "".join(map(asset, PARTS[name]))
    return colour_variables() + whole if name.endswith(".css") else whole


@cache
def static_version() -> str:
    """A digest that changes with the files, so that browsers may cache them for long."""
    whole = "".join(map(static_file, STATIC))
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def language_of(request: Request) -> LanguageName:
    """The chosen language, else the first that the browser accepts, else English."""
    asked = [
        *(request.cookies.get(f"{kind}nodulebench-{LANGUAGE}", "") for kind in ("__Host-", "")),
        *(part.strip()[:2] for part in request.headers.get("accept-language", "").split(",")),
    ]
    return next((language for name in asked for language in LANGUAGES if language == name), "en")


def render_page(
    request: Request, template: str, status: int = 200, /, **values: object
) -> HTMLResponse:
    site: Site = request.app.state.site
    user: User = getattr(request.state, "user", ANONYMOUS)
    secret: str = getattr(request.state, "form_secret", "")
    translate = portal_translator(language_of(request))
    body = page(
        f"portal/{template}",
        t=translate,
        user=user,
        may=lambda route: may(user.roles, route),
        csrf=hidden_field(FIELD, secret),
        announcements=_announcements(site),
        address=site.settings.address,
        provider=site.settings.provider,
        here=request.url.path,
        version=__version__,
        static=static_version(),
        time=time_in_utc,
        decimals=decimals,
        **values,
    )
    answer = HTMLResponse(body, status)
    cookie = cookie_name(site, FORM)
    if secret and not user.session and request.cookies.get(cookie) != secret:
        secure = site.settings.is_secure
        answer.set_cookie(cookie, secret, httponly=True, samesite="strict", secure=secure)
    return answer


def redirect(path: str) -> Response:
    return RedirectResponse(path, 303)


def _announcements(site: Site) -> list[Announcement]:
    with suppress(*UNREACHED), site.database.reading() as session:
        query = select(Announcement).where(
            Announcement.ended_at.is_(None), Announcement.benchmark_id.is_(None)
        )
        return list(session.scalars(query.order_by(Announcement.created_at.desc()).limit(3)))
    return []
