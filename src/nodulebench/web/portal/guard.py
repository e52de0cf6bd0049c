"""Every request passes here: who makes it, whether the rules allow it, whether its form is ours.

The guard runs before anything of a body is read. Forms hold a secret of the session, or, where
nobody is signed in, of a cookie that came with the form; requests with a token need none, for no
browser sends them unasked.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Annotated, Any
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
"""The cookie of a form, where nobody is signed in."""
FIELD = "csrf"
MOST_FIELDS, MOST_FILES = 64, 4
NOTHING = "\x00"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class SignInError(Exception):
    """A page that is only for those who are signed in."""


async def guard(request: Request) -> AsyncIterator[None]:
    """Let a request through, or not; what was found stands in ``request.state``.

    Raises:
        DeniedError: if it is not allowed.
        SignInError: if it might be, for somebody who is signed in.
    """
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
        request.form(max_files=MOST_FILES, max_fields=MOST_FIELDS) as form,
    ):
        expected = user.csrf or brought
        given = form.get(FIELD)
        if not isinstance(given, str) or not is_same_secret(given, expected):
            raise DeniedError("form_old", 403)
        request.state.form = form
        yield


def _upload_slot(request: Request, site: Site, user: User) -> AbstractAsyncContextManager[None]:
    """Where a file is taken, if the request brings one and the disk has room for it."""
    if not takes_file(request.url.path):
        return nullcontext()
    require_free_disk(site.settings.storage, request.headers.get("content-length", ""))
    limiter: UploadLimiter = request.app.state.upload_limiter
    return limiter.slot(user.account)


def _require_no_control_characters(request: Request) -> None:
    """Refuse the character of number 0, which no text has and PostgreSQL does not keep."""
    if NOTHING in request.url.path or NOTHING in unquote_plus(request.url.query):
        raise DeniedError("field_form")


def require_same_site(request: Request, site: Site) -> None:
    """Refuse what the browser itself says comes from elsewhere.

    Raises:
        DeniedError: if it does.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise DeniedError("form_old", 403)
    origin = request.headers.get("origin")
    host = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if origin and origin not in (site.settings.address, host):
        raise DeniedError("form_old", 403)


def current_user(request: Request) -> User:
    """Who makes the request."""
    user: User = request.state.user
    return user


def current_site(request: Request) -> Site:
    """The site that the request is made to."""
    site: Site = request.app.state.site
    return site


def sent_form(request: Request) -> FormData:
    """The form that was sent, which passed the guard."""
    form: FormData = request.state.form
    return form


def field(form: FormData, name: str, most: int = 4000) -> str:
    """A text of a form, nothing where it is missing.

    Raises:
        DeniedError: if it is longer than anybody means.
    """
    return exact_field(form, name, most).strip()


def exact_field(form: FormData, name: str, most: int) -> str:
    """A text of a form to the last space, as passwords are."""
    value: Any = form.get(name, "")
    if not isinstance(value, str) or len(value) > most:
        raise DeniedError("field_long", 413)
    if NOTHING in value:
        raise DeniedError("field_form")
    return value


CurrentSite = Annotated[Site, Depends(current_site)]
CurrentUser = Annotated[User, Depends(current_user)]
SentForm = Annotated[FormData, Depends(sent_form)]
