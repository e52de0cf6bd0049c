"""Signing in and out, links that work once, and what belongs to one's own account."""

from datetime import timedelta

from fastapi import APIRouter, Request
from sqlalchemy import delete, select
from sqlalchemy.orm import Session as Transaction
from starlette.datastructures import FormData
from starlette.responses import Response

from nodulebench.web.portal.accounts import service as accounts
from nodulebench.web.portal.accounts.credentials import address_of, new_factor, used_step
from nodulebench.web.portal.accounts.identities import identities_of
from nodulebench.web.portal.accounts.roles import GIVEN
from nodulebench.web.portal.accounts.service import WHOLE, DeniedError, Signed, find_link, new_token
from nodulebench.web.portal.accounts.users import Visitor, cookie_name
from nodulebench.web.portal.database.models import Account, Invitation, Session, Setting, Token, now
from nodulebench.web.portal.guard import AtSite, By, Sent, exact_field, field
from nodulebench.web.portal.page import rendered, see
from nodulebench.web.portal.site import Site

router = APIRouter(include_in_schema=False)
MOST_PASSWORD = 1000


@router.get("/sign-in", name="sign_in_page")
def sign_in_page(request: Request, site: AtSite, next: str = "/") -> Response:  # noqa: A002
    """The form for signing in."""
    return rendered(request, "sign_in.html", to=next, is_open=is_registration_open(site))


@router.post("/sign-in", name="sign_in")
def sign_in(request: Request, site: AtSite, by: By, form: Sent) -> Response:
    """Begin a session, under a new cookie; one that this browser had ends."""
    to = field(form, "next") or "/"
    try:
        signed = _signed_in(request, site, form)
    except DeniedError as error:
        values = {"to": to, "is_open": is_registration_open(site), "code": error.code}
        return rendered(request, "sign_in.html", error.status, **values)
    if by.session:
        with site.acting(by.account, "signed_out") as session:
            session.execute(delete(Session).where(Session.digest == by.session))
    is_ours = to.startswith("/") and not to.startswith(("//", "/\\"))
    return with_cookie(site, signed, to if is_ours else "/")


@router.post("/sign-out", name="sign_out")
def sign_out(site: AtSite, by: By) -> Response:
    """End the session."""
    with site.acting(by.account, "signed_out") as session:
        session.execute(delete(Session).where(Session.digest == by.session))
    answer = see("/")
    answer.delete_cookie(cookie_name(site), path="/", secure=site.settings.is_secure)
    return answer


@router.get("/link/{secret}", name="link_page")
def link_page(request: Request, site: AtSite, secret: str) -> Response:
    """The form of a link that works once."""
    with site.database.reading() as session:
        link = find_link(session, secret)
        account = None if link.account_id is None else session.get(Account, link.account_id)
    return rendered(
        request, "link.html", account=account, roles=link.roles, action=f"/link/{secret}"
    )


@router.post("/link/{secret}", name="use_link")
def use_link(request: Request, site: AtSite, form: Sent, secret: str) -> Response:
    """Make the account of a link, or set its password, and sign in."""
    login, name = field(form, "login"), field(form, "name")
    try:
        _require_equal(form)
        account = accounts.use_link(
            site, secret, login, name, exact_field(form, "password", MOST_PASSWORD)
        )
    except DeniedError as error:
        if error.code == "link_ended":
            raise
        with site.database.reading() as session:
            link = find_link(session, secret)
            known = None if link.account_id is None else session.get(Account, link.account_id)
        values = {"account": known, "roles": link.roles, "action": f"/link/{secret}"}
        return rendered(
            request, "link.html", error.status, code=error.code, login=login, name=name, **values
        )
    with site.database.reading() as session:
        login = session.get_one(Account, account).login
    return with_cookie(site, _signed_in(request, site, form, login), "/account")


@router.get("/register", name="register_page")
def register_page(request: Request, site: AtSite) -> Response:
    """The form for an account of one's own, where an organiser opened that."""
    _require_open_registration(site)
    return rendered(request, "link.html", account=None, roles=["participant"], action="/register")


@router.post("/register", name="register")
def register(request: Request, site: AtSite, form: Sent) -> Response:
    """Make an account of one's own, and sign in."""
    _require_open_registration(site)
    login, name = field(form, "login"), field(form, "name")
    try:
        _require_equal(form)
        accounts.register(site, login, name, exact_field(form, "password", MOST_PASSWORD))
    except DeniedError as error:
        values = {"account": None, "roles": ["participant"], "action": "/register"}
        return rendered(
            request, "link.html", error.status, code=error.code, login=login, name=name, **values
        )
    return with_cookie(site, _signed_in(request, site, form, login), "/account")


@router.get("/account", name="account")
def account(request: Request, site: AtSite, by: By) -> Response:
    """What belongs to one's own account."""
    return _account_page(request, site, by)


@router.post("/account/password", name="change_password")
def change_password(request: Request, site: AtSite, by: By, form: Sent) -> Response:
    """Change one's own password."""
    try:
        _require_equal(form)
        old, new = (exact_field(form, name, MOST_PASSWORD) for name in ("old", "password"))
        accounts.set_password(site, by.account, old, new, by.session)
    except DeniedError as error:
        return _account_page(request, site, by, error.status, code=error.code)
    return _account_page(request, site, by, done="password_changed")


@router.post("/account/sessions/{session_id}/end", name="end_session")
def end_session(site: AtSite, by: By, session_id: str) -> Response:
    """End one of one's own sessions."""
    with site.acting(by.account, "session_ended", session=session_id) as session:
        own = (Session.id == session_id) & (Session.account_id == by.account)
        session.execute(delete(Session).where(own))
    return see("/account")


@router.post("/account/factor/begin", name="begin_factor")
def begin_factor(request: Request, site: AtSite, by: By, form: Sent) -> Response:
    """Show a new secret for a second factor; it counts when a code of it was given.

    The password is asked for, so that nobody sets one up at a desk that somebody left.
    """
    if not _is_own_password(site, by, form):
        return _account_page(request, site, by, 403, code="password_wrong")
    secret = new_factor()
    return _account_page(
        request, site, by, factor=secret, factor_address=address_of(secret, by.login)
    )


@router.post("/account/factor/confirm", name="confirm_factor")
def confirm_factor(request: Request, site: AtSite, by: By, form: Sent) -> Response:
    """Keep a second factor, if its code fits."""
    secret, at = field(form, "factor", 64), now()
    try:
        step = used_step(secret, field(form, "code", 16), at, 0)
    except ValueError:  # no secret of ours
        step = None
    if step is None:
        shown = {"factor": secret, "factor_address": address_of(secret, by.login)}
        return _account_page(request, site, by, 400, code="code_wrong", **shown)
    with site.acting(by.account, "factor_set") as session:
        _end_others(session, by)
        found = session.get_one(Account, by.account)
        found.factor, found.factor_step = secret, step
    return see("/account")


@router.post("/account/factor/remove", name="remove_factor")
def remove_factor(request: Request, site: AtSite, by: By, form: Sent) -> Response:
    """Sign in without a second factor from now on; the password is asked for."""
    if not _is_own_password(site, by, form):
        return _account_page(request, site, by, 403, code="password_wrong")
    with site.acting(by.account, "factor_removed") as session:
        _end_others(session, by)
        session.get_one(Account, by.account).factor = None
    return see("/account")


@router.post("/account/tokens", name="make_token")
def make_token(request: Request, site: AtSite, by: By, form: Sent) -> Response:
    """A token for programs, shown once."""
    name = field(form, "name", 80) or "token"
    return _account_page(request, site, by, token=new_token(site, by.account, name))


@router.post("/account/tokens/{token_id}/end", name="end_token")
def end_token(site: AtSite, by: By, token_id: str) -> Response:
    """End one of one's own tokens."""
    with site.acting(by.account, "token_ended", token=token_id) as session:
        own = (Token.id == token_id) & (Token.account_id == by.account)
        found = session.scalar(select(Token).where(own))
        if found is None:
            raise DeniedError("not_found", 404)
        found.ended_at = now()
    return see("/account")


@router.post("/account/close", name="close_own_account")
def close_own_account(request: Request, site: AtSite, by: By, form: Sent) -> Response:
    """End one's own account; the password is asked for."""
    if not _is_own_password(site, by, form):
        return _account_page(request, site, by, 403, code="password_wrong")
    accounts.close_account(site, by.account, by.account)
    return see("/")


def is_registration_open(site: Site) -> bool:
    """Whether people may make accounts of their own."""
    with site.database.reading() as session:
        found = session.get(Setting, "registration")
    return found is not None and bool(found.value.get("is_open"))


def _require_open_registration(site: Site) -> None:
    if not is_registration_open(site):
        raise DeniedError("not_found", 404)


def _is_own_password(site: Site, by: Visitor, form: FormData) -> bool:
    with site.database.reading() as session:
        kept = session.get_one(Account, by.account).password
    return site.settings.passwords.fits(exact_field(form, "old", MOST_PASSWORD), kept)


def _end_others(session: Transaction, by: Visitor) -> None:
    """End every other session of who changed how the account is signed in to."""
    others = (Session.account_id == by.account) & (Session.digest != by.session)
    session.execute(delete(Session).where(others))


def _require_equal(form: FormData) -> None:
    if form.get("password") != form.get("again"):
        raise DeniedError("passwords_differ")


def _signed_in(request: Request, site: Site, form: FormData, login: str = "") -> Signed:
    return accounts.sign_in(
        site,
        login or field(form, "login"),
        exact_field(form, "password", MOST_PASSWORD),
        field(form, "code", 16),
        address=request.client.host if request.client else "",
        agent=request.headers.get("user-agent", ""),
    )


def with_cookie(site: Site, signed: Signed, to: str) -> Response:
    """Go on as somebody who just signed in."""
    answer = see(to)
    answer.set_cookie(
        cookie_name(site),
        signed.secret,
        max_age=int(WHOLE / timedelta(seconds=1)),
        httponly=True,
        samesite="lax",
        secure=site.settings.is_secure,
        path="/",
    )
    return answer


def _account_page(
    request: Request, site: Site, by: Visitor, status: int = 200, **told: str
) -> Response:
    with site.database.reading() as session:
        found = session.get_one(Account, by.account)
        own = select(Session).where(Session.account_id == by.account).order_by(Session.seen_at)
        tokens = select(Token).where(Token.account_id == by.account, Token.ended_at.is_(None))
        values = {
            "account": found,
            "sessions": [(one, one.digest == by.session) for one in session.scalars(own)],
            "tokens": list(session.scalars(tokens.order_by(Token.created_at))),
            "identities": identities_of(session, by.account),
        }
    empty = dict.fromkeys(("code", "done", "factor", "factor_address", "token"), "")
    return rendered(request, "account.html", status, **{**empty, **told}, **values)


@router.get("/people", name="people")
def people(request: Request, site: AtSite, by: By) -> Response:
    """Everybody who has an account, and links that can still be used."""
    return _people_page(request, site, by)


@router.post("/people/invite", name="invite")
def invite(request: Request, site: AtSite, by: By, form: Sent) -> Response:
    """A link for a new account, shown once."""
    roles = tuple(role for role in GIVEN if role in form.getlist("roles"))
    if not roles:
        raise DeniedError("roles_missing")
    secret = accounts.make_link(site, roles, by.account)
    return _people_page(request, site, by, link=f"{site.settings.address}/link/{secret}")


@router.post("/people/links/{link_id}/end", name="end_link")
def end_link(site: AtSite, by: By, link_id: str) -> Response:
    """End a link before it was used."""
    with site.acting(by.account, "link_ended", link=link_id) as session:
        found = session.scalar(select(Invitation).where(Invitation.id == link_id))
        if found is None:
            raise DeniedError("not_found", 404)
        found.expires_at = now()
    return see("/people")


@router.post("/people/{account_id}/reset", name="reset_link")
def reset_link(request: Request, site: AtSite, by: By, account_id: str) -> Response:
    """A link for somebody who lost their password, shown once."""
    secret = accounts.make_link(site, (), by.account, account_id)
    return _people_page(request, site, by, link=f"{site.settings.address}/link/{secret}")


@router.post("/people/{account_id}/roles", name="change_roles")
def change_roles(site: AtSite, by: By, form: Sent, account_id: str) -> Response:
    """Give somebody other roles."""
    roles = tuple(str(one) for one in form.getlist("roles"))
    accounts.change_roles(site, account_id, roles, by.account)
    return see("/people")


@router.post("/people/{account_id}/close", name="close_account")
def close_account(site: AtSite, by: By, account_id: str) -> Response:
    """End somebody's account."""
    with site.database.reading() as session:
        if session.get(Account, account_id) is None:
            raise DeniedError("not_found", 404)
    accounts.close_account(site, account_id, by.account)
    return see("/people")


@router.post("/people/registration", name="open_registration")
def open_registration(site: AtSite, by: By, form: Sent) -> Response:
    """Let people make accounts of their own, or no longer."""
    is_open = field(form, "open") == "yes"
    with site.acting(by.account, "registration", open=is_open) as session:
        session.merge(Setting(name="registration", value={"is_open": is_open}))
    return see("/people")


def _people_page(request: Request, site: Site, by: Visitor, link: str = "") -> Response:
    with site.database.reading() as session:
        everybody = session.scalars(select(Account).order_by(Account.created_at))
        unused = select(Invitation).where(
            Invitation.used_at.is_(None), Invitation.expires_at > now()
        )
        values = {
            "accounts": list(everybody),
            "links": list(session.scalars(unused.order_by(Invitation.created_at))),
        }
    is_open = is_registration_open(site)
    return rendered(
        request, "people.html", link=link, roles=GIVEN, own=by.account, is_open=is_open, **values
    )
