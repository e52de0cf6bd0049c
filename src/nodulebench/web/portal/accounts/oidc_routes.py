"""Pages of signing in with a provider and of connecting an account with it."""

import logging

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from nodulebench.web.portal.accounts import identities
from nodulebench.web.portal.accounts.oidc import (
    AuthorizationRequest,
    Oidc,
    OidcError,
    ProviderPerson,
    ProviderUnreachableError,
    new_authorization_request,
)
from nodulebench.web.portal.accounts.routes import MAX_PASSWORD, is_registration_open, with_cookie
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User, cookie_name
from nodulebench.web.portal.database.models import Account
from nodulebench.web.portal.guard import CurrentSite, CurrentUser, SentForm, exact_field
from nodulebench.web.portal.page import redirect, render_page
from nodulebench.web.portal.site import Site

router = APIRouter(include_in_schema=False)
LOG = logging.getLogger("nodulebench.web.portal")
OIDC, LASTS_S = "oidc", 600
"""Enough time to sign in at the provider."""
ANSWER_FIELDS = ("state", "code", "iss", "error")


@router.get("/sign-in/oidc", name="oidc_begin")
def oidc_begin(request: Request, site: CurrentSite, by: CurrentUser) -> Response:
    """Go to the provider; people who are signed in connect from their account page."""
    if by.is_signed_in:
        return redirect("/account")
    authorization = new_authorization_request("")
    to = RedirectResponse(_authorization_url(request, authorization), 303)
    return _with_authorization_cookie(site, to, authorization)


@router.post("/account/oidc/connect", name="oidc_connect")
def oidc_connect(request: Request, site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    """Show a link to the provider that is bound to this session; requires the password.

    This is a page and not a redirect, because forms of the site must not lead to other sites.
    """
    if not by.session:  # a token belongs to a program, which has no browser
        raise DeniedError("not_allowed", 403)
    with site.database.reading() as session:
        stored_hash = session.get_one(Account, by.account).password
    if not site.settings.passwords.is_correct(exact_field(form, "old", MAX_PASSWORD), stored_hash):
        raise DeniedError("password_wrong", 403)
    authorization = new_authorization_request(by.csrf)
    page = render_page(request, "oidc.html", to=_authorization_url(request, authorization))
    return _with_authorization_cookie(site, page, authorization)


@router.post("/account/oidc/end", name="oidc_end")
def oidc_end(site: CurrentSite, by: CurrentUser) -> Response:
    identities.disconnect(site, by.account)
    return redirect("/account")


@router.get("/sign-in/oidc/return", name="oidc_return")
def oidc_return(request: Request, site: CurrentSite, by: CurrentUser) -> Response:
    oidc, address = _of(request), request.client.host if request.client else ""
    identities.require_not_throttled(site, address)
    authorization = AuthorizationRequest(request.cookies.get(cookie_name(site, OIDC), ""), by.csrf)
    given = {name: request.query_params.get(name, "") for name in ANSWER_FIELDS}
    try:
        if not authorization.secret or by.is_signed_in != bool(by.session):
            raise OidcError("no browser")
        person = oidc.identify(authorization, given)
    except ProviderUnreachableError as error:
        raise DeniedError("oidc_away", 502) from error
    except OidcError as error:
        identities.record_refusal(site, address, str(error))
        raise DeniedError("oidc_wrong", 403) from error
    answer = _connected(site, by, person) if by.session else _signed_in_as(request, site, person)
    answer.delete_cookie(cookie_name(site, OIDC), path="/", secure=site.settings.is_secure)
    return answer


def _of(request: Request) -> Oidc:
    """The OpenID Connect client of the site; without a provider these pages do not exist."""
    oidc: Oidc | None = request.app.state.oidc
    if oidc is None:
        raise DeniedError("not_found", 404)
    return oidc


def _authorization_url(request: Request, authorization: AuthorizationRequest) -> str:
    oidc = _of(request)
    try:
        return oidc.authorization_url(authorization)
    except OidcError as error:
        LOG.error("the provider of accounts: %s", error)
        raise DeniedError("oidc_away", 502) from error


def _with_authorization_cookie(
    site: Site, answer: Response, authorization: AuthorizationRequest
) -> Response:
    answer.set_cookie(
        cookie_name(site, OIDC),
        authorization.secret,
        max_age=LASTS_S,
        httponly=True,
        samesite="lax",  # the provider redirects the browser back from another site
        secure=site.settings.is_secure,
        path="/",
    )
    return answer


def _connected(site: Site, by: User, person: ProviderPerson) -> Response:
    identities.connect(site, by.account, person)
    return redirect("/account")


def _signed_in_as(request: Request, site: Site, person: ProviderPerson) -> Response:
    agent, is_open = request.headers.get("user-agent", ""), is_registration_open(site)
    return with_cookie(site, identities.sign_in_as(site, person, agent, is_open=is_open), "/")
