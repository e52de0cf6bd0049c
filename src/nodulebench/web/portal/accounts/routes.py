"""Pages for signing in and out, links, accounts, and the people of a site."""

from datetime import timedelta

from fastapi import APIRouter, Request
from sqlalchemy import delete, select
from sqlalchemy.orm import Session as Transaction
from starlette.datastructures import FormData
from starlette.responses import Response

from nodulebench.web.portal.accounts import service as accounts
from nodulebench.web.portal.accounts.credentials import address_of, new_totp_secret, used_step
from nodulebench.web.portal.accounts.identities import identities_of
from nodulebench.web.portal.accounts.roles import ASSIGNABLE_ROLES
from nodulebench.web.portal.accounts.service import WHOLE, DeniedError, Signed, find_link, new_token
from nodulebench.web.portal.accounts.users import User, cookie_name
from nodulebench.web.portal.database.models import Account, Invitation, Session, Setting, Token, now
from nodulebench.web.portal.guard import CurrentSite, CurrentUser, SentForm, exact_field, field
from nodulebench.web.portal.page import redirect, render_page
from nodulebench.web.portal.site import Site

router = APIRouter(include_in_schema=False)
MAX_PASSWORD = 1000


@router.get("/sign-in", name="sign_in_page")
def sign_in_page(request: Request, site: CurrentSite, next: str = "/") -> Response:  # noqa: A002
    return render_page(request, "sign_in.html", to=next, is_open=is_registration_open(site))


@router.post("/sign-in", name="sign_in")
def sign_in(request: Request, site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    to = field(form, "next") or "/"
    try:
        signed = _signed_in(request, site, form)
    except DeniedError as error:
        values = {"to": to, "is_open": is_registration_open(site), "code": error.code}
        return render_page(request, "sign_in.html", error.status, **values)
    if by.session:
        with site.acting(by.account, "signed_out") as session:
            session.execute(delete(Session).where(Session.digest == by.session))
    is_ours = to.startswith("/") and not to.startswith(("//", "/\\"))
    return with_cookie(site, signed, to if is_ours else "/")


@router.post("/sign-out", name="sign_out")
def sign_out(site: CurrentSite, by: CurrentUser) -> Response:
    with site.acting(by.account, "signed_out") as session:
        session.execute(delete(Session).where(Session.digest == by.session))
    answer = redirect("/")
    answer.delete_cookie(cookie_name(site), path="/", secure=site.settings.is_secure)
    return answer


@router.get("/link/{secret}", name="link_page")
def link_page(request: Request, site: CurrentSite, secret: str) -> Response:
    with site.database.reading() as session:
        link = find_link(session, secret)
        account = None if link.account_id is None else session.get(Account, link.account_id)
    return render_page(
        request, "link.html", account=account, roles=link.roles, action=f"/link/{secret}"
    )


@router.post("/link/{secret}", name="use_link")
def use_link(request: Request, site: CurrentSite, form: SentForm, secret: str) -> Response:
    login, name = field(form, "login"), field(form, "name")
    try:
        _require_equal(form)
        account = accounts.use_link(
            site, secret, login, name, exact_field(form, "password", MAX_PASSWORD)
        )
    except DeniedError as error:
        if error.code == "link_ended":
            raise
        with site.database.reading() as session:
            link = find_link(session, secret)
            known = None if link.account_id is None else session.get(Account, link.account_id)
        values = {"account": known, "roles": link.roles, "action": f"/link/{secret}"}
        return render_page(
            request, "link.html", error.status, code=error.code, login=login, name=name, **values
        )
    with site.database.reading() as session:
        login = session.get_one(Account, account).login
    return with_cookie(site, _signed_in(request, site, form, login), "/account")


@router.get("/register", name="register_page")
def register_page(request: Request, site: CurrentSite) -> Response:
    _require_open_registration(site)
    return render_page(
        request, "link.html", account=None, roles=["participant"], action="/register"
    )


@router.post("/register", name="register")
def register(request: Request, site: CurrentSite, form: SentForm) -> Response:
    _require_open_registration(site)
    login, name = field(form, "login"), field(form, "name")
    try:
        _require_equal(form)
        accounts.register(site, login, name, exact_field(form, "password", MAX_PASSWORD))
    except DeniedError as error:
        values = {"account": None, "roles": ["participant"], "action": "/register"}
        return render_page(
            request, "link.html", error.status, code=error.code, login=login, name=name, **values
        )
    return with_cookie(site, _signed_in(request, site, form, login), "/account")


@router.get("/account", name="account")
def account(request: Request, site: CurrentSite, by: CurrentUser) -> Response:
    return _account_page(request, site, by)


@router.post("/account/password", name="change_password")
def change_password(
    request: Request, site: CurrentSite, by: CurrentUser, form: SentForm
) -> Response:
    try:
        _require_equal(form)
        old, new = (exact_field(form, name, MAX_PASSWORD) for name in ("old", "password"))
        accounts.set_password(site, by.account, old, new, by.session)
    except DeniedError as error:
        return _account_page(request, site, by, error.status, code=error.code)
    return _account_page(request, site, by, done="password_changed")


@router.post("/account/sessions/{session_id}/end", name="end_session")
def end_session(site: CurrentSite, by: CurrentUser, session_id: str) -> Response:
    with site.acting(by.account, "session_ended", session=session_id) as session:
        own = (Session.id == session_id) & (Session.account_id == by.account)
        session.execute(delete(Session).where(own))
    return redirect("/account")


@router.post("/account/totp/begin", name="begin_totp")
def begin_totp(request: Request, site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    """Show a new TOTP secret; it becomes active when a code confirms it.

    Requires the password, so that no one can set it up at an unattended computer.
    """
    if not _is_own_password(site, by, form):
        return _account_page(request, site, by, 403, code="password_wrong")
    secret = new_totp_secret()
    return _account_page(
        request, site, by, totp_secret=secret, totp_address=address_of(secret, by.login)
    )


@router.post("/account/totp/confirm", name="confirm_totp")
def confirm_totp(request: Request, site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    secret, at = field(form, "totp_secret", 64), now()
    try:
        step = used_step(secret, field(form, "code", 16), at, 0)
    except ValueError:  # not a base32 secret
        step = None
    if step is None:
        shown = {"totp_secret": secret, "totp_address": address_of(secret, by.login)}
        return _account_page(request, site, by, 400, code="code_wrong", **shown)
    with site.acting(by.account, "factor_set") as session:
        _end_others(session, by)
        account = session.get_one(Account, by.account)
        account.totp_secret, account.totp_step = secret, step
    return redirect("/account")


@router.post("/account/totp/remove", name="remove_totp")
def remove_totp(request: Request, site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    if not _is_own_password(site, by, form):
        return _account_page(request, site, by, 403, code="password_wrong")
    with site.acting(by.account, "factor_removed") as session:
        _end_others(session, by)
        session.get_one(Account, by.account).totp_secret = None
    return redirect("/account")


@router.post("/account/tokens", name="make_token")
def make_token(request: Request, site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    name = field(form, "name", 80) or "token"
    return _account_page(request, site, by, token=new_token(site, by.account, name))


@router.post("/account/tokens/{token_id}/end", name="end_token")
def end_token(site: CurrentSite, by: CurrentUser, token_id: str) -> Response:
    with site.acting(by.account, "token_ended", token=token_id) as session:
        own = (Token.id == token_id) & (Token.account_id == by.account)
        token = session.scalar(select(Token).where(own))
        if token is None:
            raise DeniedError("not_found", 404)
        token.ended_at = now()
    return redirect("/account")


@router.post("/account/close", name="close_own_account")
def close_own_account(
    request: Request, site: CurrentSite, by: CurrentUser, form: SentForm
) -> Response:
    if not _is_own_password(site, by, form):
        return _account_page(request, site, by, 403, code="password_wrong")
    accounts.close_account(site, by.account, by.account)
    return redirect("/")


def is_registration_open(site: Site) -> bool:
    with site.database.reading() as session:
        setting = session.get(Setting, "registration")
    return setting is not None and bool(setting.value.get("is_open"))


def _require_open_registration(site: Site) -> None:
    if not is_registration_open(site):
        raise DeniedError("not_found", 404)


def _is_own_password(site: Site, by: User, form: FormData) -> bool:
    with site.database.reading() as session:
        stored_hash = session.get_one(Account, by.account).password
    return site.settings.passwords.is_correct(exact_field(form, "old", MAX_PASSWORD), stored_hash)


def _end_others(session: Transaction, by: User) -> None:
    """End the other sessions after a change of how the account signs in."""
    others = (Session.account_id == by.account) & (Session.digest != by.session)
    session.execute(delete(Session).where(others))


def _require_equal(form: FormData) -> None:
    if form.get("password") != form.get("again"):
        raise DeniedError("passwords_differ")


def _signed_in(request: Request, site: Site, form: FormData, login: str = "") -> Signed:
    return accounts.sign_in(
        site,
        login or field(form, "login"),
        exact_field(form, "password", MAX_PASSWORD),
        field(form, "code", 16),
        address=request.client.host if request.client else "",
        agent=request.headers.get("user-agent", ""),
    )


def with_cookie(site: Site, signed: Signed, to: str) -> Response:
    answer = redirect(to)
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
    request: Request, site: Site, by: User, status: int = 200, **shown: str
) -> Response:
    with site.database.reading() as session:
        account = session.get_one(Account, by.account)
        own = select(Session).where(Session.account_id == by.account).order_by(Session.seen_at)
        tokens = select(Token).where(Token.account_id == by.account, Token.ended_at.is_(None))
        values = {
            "account": account,
            "sessions": [
                (own_session, own_session.digest == by.session)
                for own_session in session.scalars(own)
            ],
            "tokens": list(session.scalars(tokens.order_by(Token.created_at))),
            "identities": identities_of(session, by.account),
        }
    empty = dict.fromkeys(("code", "done", "totp_secret", "totp_address", "token"), "")
    return render_page(request, "account.html", status, **{**empty, **shown}, **values)


@router.get("/people", name="people")
def people(request: Request, site: CurrentSite, by: CurrentUser) -> Response:
    return _people_page(request, site, by)


@router.post("/people/invite", name="invite")
def invite(request: Request, site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    roles = tuple(role for role in ASSIGNABLE_ROLES if role in form.getlist("roles"))
    if not roles:
        raise DeniedError("roles_missing")
    secret = accounts.make_link(site, roles, by.account)
    return _people_page(request, site, by, link=f"{site.settings.address}/link/{secret}")


@router.post("/people/links/{link_id}/end", name="end_link")
def end_link(site: CurrentSite, by: CurrentUser, link_id: str) -> Response:
    with site.acting(by.account, "link_ended", link=link_id) as session:
        invitation = session.scalar(select(Invitation).where(Invitation.id == link_id))
        if invitation is None:
            raise DeniedError("not_found", 404)
        invitation.expires_at = now()
    return redirect("/people")


@router.post("/people/{account_id}/reset", name="reset_link")
def reset_link(request: Request, site: CurrentSite, by: CurrentUser, account_id: str) -> Response:
    secret = accounts.make_link(site, (), by.account, account_id)
    return _people_page(request, site, by, link=f"{site.settings.address}/link/{secret}")


@router.post("/people/{account_id}/roles", name="change_roles")
def change_roles(site: CurrentSite, by: CurrentUser, form: SentForm, account_id: str) -> Response:
    roles = tuple(str(role) for role in form.getlist("roles"))
    accounts.change_roles(site, account_id, roles, by.account)
    return redirect("/people")


@router.post("/people/{account_id}/close", name="close_account")
def close_account(site: CurrentSite, by: CurrentUser, account_id: str) -> Response:
    with site.database.reading() as session:
        if session.get(Account, account_id) is None:
            raise DeniedError("not_found", 404)
    accounts.close_account(site, account_id, by.account)
    return redirect("/people")


@router.post("/people/registration", name="open_registration")
def open_registration(site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    is_open = field(form, "open") == "yes"
    with site.acting(by.account, "registration", open=is_open) as session:
        session.merge(Setting(name="registration", value={"is_open": is_open}))
    return redirect("/people")


def _people_page(request: Request, site: Site, by: User, link: str = "") -> Response:
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
    return render_page(
        request,
        "people.html",
        link=link,
        roles=ASSIGNABLE_ROLES,
        own=by.account,
        is_open=is_open,
        **values,
    )
