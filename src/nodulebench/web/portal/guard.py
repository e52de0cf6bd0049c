"""The guard of every request: who makes it, whether the rules allow it, whether its form is valid.

The guard runs before any part of the body is read. A form holds a secret of the session, or, if no
one is signed in, of a cookie that came with the form. Requests with a token need no such secret,
because no browser sends a token by itself.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Annotated
from urllib.parse import unquote_plus

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from nodulebench.web.portal.accounts.credentials import is_same_secret, new_secret
from nodulebench.web.portal.accounts.roles import may
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User, cookie_name, find_user
from nodulebench.web.portal.middleware import UploadLimiter, require_free_disk, takes_file
from nodulebench.web.portal.site import Site

FORM = "form"
"""The form cookie of people who are not signed in."""
FIELD = "csrf"
MAX_FIELDS, MAX_FILES = 64, 4
NOTHING = "\x00"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class SignInError(Exception):
    """The page is only for people who are signed in."""


async def guard(request: Request) -> AsyncIterator[None]:
    """Let a request through or refuse it; store the user and the form in ``request.state``."""
    site: Site = request.app.state.site
    user = await run_in_threadpool(find_user, site, request)
    request.state.user = user
    brought = request.cookies.get(cookie_name(site, FORM), "")
    request.state.form_secret = user.csrf or brought or new_secret()
    if not may(user.roles, request.scope["route"].name):
        if not user.is_signed_in:
            raise SignInError
        raise DeniedError("not_allowed", 403)
    _require_no_control_characters(request)
    if request.method in SAFE:
        yield
        return
    if user.is_signed_in and not user.session:
        async with _upload_slot(request, site, user):
            yield
        return
    require_same_site(request, site)
    if request.url.path.startswith("/api/"):
        raise DeniedError("token_needed", 401)
    async with (
        _upload_slot(request, site, user),
        request.form(max_files=MAX_FILES, max_fields=MAX_FIELDS) as form,
    ):
        expected = user.csrf or brought
        given = form.get(FIELD)
        if not isinstance(given, str) or not is_same_secret(given, expected):
            raise DeniedError("form_old", 403)
        request.state.form = form
        yield


def _upload_slot(request: Request, site: Site, user: User) -> AbstractAsyncContextManager[None]:
    """A slot for an upload, if the request brings a file and the disk has space for it."""
    if not takes_file(request.url.path):
        return nullcontext()
    require_free_disk(site.settings.storage, request.headers.get("content-length", ""))
    limiter: UploadLimiter = request.app.state.upload_limiter
    return limiter.slot(user.account)


def _require_no_control_characters(request: Request) -> None:
    """Refuse the null character, which PostgreSQL cannot store."""
    if NOTHING in request.url.path or NOTHING in unquote_plus(request.url.query):
        raise DeniedError("field_form")


def require_same_site(request: Request, site: Site) -> None:
    """Refuse requests that the browser marks as coming from another site."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise DeniedError("form_old", 403)
    origin = request.headers.get("origin")
    host = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if origin and origin not in (site.settings.address, host):
        raise DeniedError("form_old", 403)


def current_user(request: Request) -> User:
    user: User = request.state.user
    return user


def current_site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


def sent_form(request: Request) -> FormData:
    form: FormData = request.state.form
    return form


def field(form: FormData, name: str, most: int = 4000) -> str:
    """A text field of a form, stripped; empty if it is missing."""
    return exact_field(form, name, most).strip()


def exact_field(form: FormData, name: str, most: int) -> str:
    """A text field of a form without stripping spaces, as passwords need it."""
    value = form.get(name, "")
    if not isinstance(value, str) or len(value) > most:
        raise DeniedError("field_long", 413)
    if NOTHING in value:
        raise DeniedError("field_form")
    return value


CurrentSite = Annotated[Site, Depends(current_site)]
CurrentUser = Annotated[User, Depends(current_user)]
SentForm = Annotated[FormData, Depends(sent_form)]
