"""Accounts: made by links, signed in to, closed. Each action is an event of the log."""

import re
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session as Transaction

from nodulebench.web.portal.accounts.credentials import (
    LONGEST,
    count_failure,
    digest_of,
    forget_failures,
    is_throttled,
    new_secret,
    password_problem,
    used_step,
)
from nodulebench.web.portal.accounts.roles import ASSIGNABLE_ROLES, Role
from nodulebench.web.portal.database.models import (
    Account,
    Certificate,
    Entry,
    Identity,
    Invitation,
    Result,
    Session,
    Token,
    new_id,
    now,
)
from nodulebench.web.portal.site import Site

LINK_LASTS = timedelta(days=7)
IDLE, WHOLE = timedelta(hours=12), timedelta(days=7)
"""Lifetime of a session that is not used, and of any session."""
MAX_NAME = 80
LOGIN = re.compile(r"[a-z0-9][a-z0-9._@+-]{2,63}", re.ASCII)


class DeniedError(Exception):
    """An action that is refused; ``code`` selects the message."""

    def __init__(self, code: str, status: int = 400) -> None:
        super().__init__(code)
        self.code = code
        self.status = status


@dataclass(frozen=True, slots=True)
class Signed:
    """A new session; its secret is stored only in the cookie."""

    secret: str
    account: str


def make_link(site: Site, roles: tuple[Role, ...], made_by: str, account: str | None = None) -> str:
    """Make a link for a new account with these roles, or for a new password; return its secret."""
    secret, link = new_secret(), new_id()
    action = "invited" if account is None else "reset_offered"
    with site.acting(made_by, action, link=link, of=account, roles=" ".join(roles)) as session:
        if account is not None and session.get(Account, account) is None:
            raise DeniedError("not_found", 404)
        session.add(
            Invitation(
                digest=digest_of(secret),
                id=link,
                roles=list(roles),
                account_id=account,
                made_by=made_by,
                expires_at=now() + LINK_LASTS,
            )
        )
    return secret


def find_link(session: Transaction, secret: str) -> Invitation:
    invitation = session.get(Invitation, digest_of(secret))
    if invitation is None or invitation.used_at is not None or invitation.expires_at <= now():
        raise DeniedError("link_ended", 404)
    return invitation


def use_link(site: Site, secret: str, login: str, name: str, password: str) -> str:
    """Make the account of a link, or set its new password; return the id of the account."""
    with site.database.reading() as session:  # hashing takes long: keep it out of the transaction
        link = find_link(session, secret)
        known = None if link.account_id is None else session.get(Account, link.account_id)
    login = login.strip().lower() if known is None else known.login
    _require_free_name(login, name if known is None else known.name)
    _require_strong_password(password, login)
    password_hash = site.settings.passwords.hash(password)
    with site.database.writing() as session:
        link = find_link(session, secret)
        link.used_at = now()
        if link.account_id is None:
            return new_account(site, session, login, name, password_hash, link.roles, link.id)
        account = session.get_one(Account, link.account_id)
        account.password = password_hash
        account.totp_secret = None  # an organiser's link helps people who lost both
        session.execute(delete(Session).where(Session.account_id == account.id))
        site.record(session, account.id, "password_reset", link=link.id)
        return account.id


def register(site: Site, login: str, name: str, password: str) -> str:
    login = login.strip().lower()
    _require_free_name(login, name)
    _require_strong_password(password, login)
    password_hash = site.settings.passwords.hash(password)
    with site.database.writing() as session:
        return new_account(site, session, login, name, password_hash, ["participant"], "")


def sign_in(
    site: Site, login: str, password: str, code: str, *, address: str, agent: str
) -> Signed:
    """Begin a session; a refusal does not say whether login, password or code is wrong."""
    login = login.strip().lower()[:LONGEST]
    with site.database.reading() as session:
        throttled = is_throttled(session, login, address)
        account = session.scalar(select(Account).where(Account.login == login))
    if throttled:
        if site.refusals.due(account.id if account else "", "throttled"):
            with site.acting("", "sign_in_throttled", of=account.id if account else None):
                pass
        raise DeniedError("too_many_attempts", 429)
    is_open = account is not None and account.closed_at is None
    stored_hash = account.password if account is not None and is_open else None
    is_right = site.settings.passwords.is_correct(password, stored_hash)
    with site.database.writing() as session:
        current = None if account is None else session.get_one(Account, account.id)
        if (
            current is None
            or not is_right
            or current.password != stored_hash
            or not _is_totp_valid(current, code)
        ):
            count_failure(session, login, address)
            site.record(session, "", "sign_in_failed", of=current.id if current else None)
            refused = True
        else:
            forget_failures(session, login)
            secret, refused = begin_session(session, current.id, agent), False
            site.record(session, current.id, "signed_in")
    if refused or current is None:
        raise DeniedError("sign_in_wrong", 401)
    return Signed(secret, current.id)


def begin_session(session: Transaction, account: str, agent: str) -> str:
    secret = new_secret()
    session.add(
        Session(digest=digest_of(secret), account_id=account, csrf=new_secret(), agent=agent[:200])
    )
    return secret


def set_password(site: Site, account: str, old: str, new: str, keep: str) -> None:
    """Change the password of an account and end its sessions except ``keep`` (a digest)."""
    with site.database.reading() as session:
        stored = session.get_one(Account, account)
    if not site.settings.passwords.is_correct(old, stored.password):
        raise DeniedError("password_wrong", 403)
    _require_strong_password(new, stored.login)
    password_hash = site.settings.passwords.hash(new)
    with site.acting(account, "password_changed") as session:
        session.get_one(Account, account).password = password_hash
        others = (Session.account_id == account) & (Session.digest != keep)
        session.execute(delete(Session).where(others))


def new_token(site: Site, account: str, name: str) -> str:
    secret = new_secret()
    with site.acting(account, "token_made", token=digest_of(secret)[:16]) as session:
        session.add(Token(digest=digest_of(secret), account_id=account, name=name))
    return secret


def close_account(site: Site, account: str, by: str) -> None:
    """Close an account: delete its name and password; its entries appear without a name."""
    with site.acting(by, "account_closed", of=account) as session:
        closing = session.get_one(Account, account)
        _require_another_organiser(session, closing, [])
        closing.closed_at, closing.password, closing.totp_secret = now(), None, None
        closing.login, closing.name, closing.roles = f"closed-{closing.id}", "", []
        _forget_certificates(session, account)
        session.execute(delete(Identity).where(Identity.account_id == account))
        _end_all(session, account)


def _forget_certificates(session: Transaction, account: str) -> None:
    """Empty the certificates that contain the name of an account; their numbers stay in use."""
    results = select(Result.id).join(Entry).where(Entry.account_id == account)
    named = select(Certificate).where(Certificate.result_id.in_(results))
    for certificate in session.scalars(named):
        certificate.content = {}


def change_roles(site: Site, account: str, roles: tuple[str, ...], by: str) -> None:
    """Change the roles of an account and end its sessions, which still have the old roles."""
    chosen: list[str] = [role for role in ASSIGNABLE_ROLES if role in roles]
    with site.acting(by, "roles_changed", of=account, roles=" ".join(chosen)) as session:
        stored = session.get(Account, account)
        if stored is None or stored.closed_at is not None:
            raise DeniedError("not_found", 404)
        _require_another_organiser(session, stored, chosen)
        stored.roles = chosen
        if account != by:
            session.execute(delete(Session).where(Session.account_id == account))


def new_account(
    site: Site,
    session: Transaction,
    login: str,
    name: str,
    password_hash: str | None,
    roles: list[str],
    link: str,
) -> str:
    if session.scalar(select(Account.id).where(Account.login == login)) is not None:
        raise DeniedError("login_taken", 409)
    account = Account(
        id=new_id(), login=login, name=name.strip(), roles=roles, password=password_hash
    )
    session.add(account)
    session.flush()
    site.record(session, account.id, "account_made", link=link or None, roles=" ".join(roles))
    return account.id


def _is_totp_valid(account: Account, code: str) -> bool:
    if account.totp_secret is None:
        return True
    step = used_step(account.totp_secret, code, now(), account.totp_step)
    if step is None:
        return False
    account.totp_step = step
    return True


def _require_free_name(login: str, name: str) -> None:
    if not LOGIN.fullmatch(login):
        raise DeniedError("login_form")
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise DeniedError("name_form")


def _require_strong_password(password: str, login: str) -> None:
    problem = password_problem(password, login)
    if problem:
        raise DeniedError(problem)


def _require_another_organiser(session: Transaction, account: Account, roles: list[str]) -> None:
    if "organiser" not in account.roles or "organiser" in roles:
        return
    open_ones = session.scalars(select(Account).where(Account.closed_at.is_(None)))
    if not any("organiser" in other.roles for other in open_ones if other.id != account.id):
        raise DeniedError("last_organiser", 409)


def _end_all(session: Transaction, account: str) -> None:
    session.execute(delete(Session).where(Session.account_id == account))
    ended = update(Token).where(Token.account_id == account, Token.ended_at.is_(None))
    session.execute(ended.values(ended_at=now()))
