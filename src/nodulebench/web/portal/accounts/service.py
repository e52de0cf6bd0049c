"""Accounts: made by links that work once, signed in to, ended. Each is an action of the log."""

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
"""How long a session lasts that nobody uses, and one that is used."""
MOST_NAME = 80
LOGIN = re.compile(r"[a-z0-9][a-z0-9._@+-]{2,63}", re.ASCII)


class DeniedError(Exception):
    """Something that is not allowed or not right, by the code of its words."""

    def __init__(self, code: str, status: int = 400) -> None:
        super().__init__(code)
        self.code = code
        self.status = status


@dataclass(frozen=True, slots=True)
class Signed:
    """Somebody who just signed in: the secret of the cookie, which is kept nowhere else."""

    secret: str
    account: str


def make_link(site: Site, roles: tuple[Role, ...], made_by: str, account: str | None = None) -> str:
    """A link's secret: for a new account with these roles, or a new password of an old one."""
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
    """The link of a secret, if it can still be used.

    Raises:
        DeniedError: if it cannot.
    """
    invitation = session.get(Invitation, digest_of(secret))
    if invitation is None or invitation.used_at is not None or invitation.expires_at <= now():
        raise DeniedError("link_ended", 404)
    return invitation


def use_link(site: Site, secret: str, login: str, name: str, password: str) -> str:
    """Make the account of a link, or set the password that it is for; the account's id.

    Raises:
        DeniedError: if the link has ended, the login is taken, or the password may not be one.
    """
    with site.database.reading() as session:  # hashing takes long: nobody waits for it
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
        account.totp_secret = None  # who lost both gets in by the organiser's link
        session.execute(delete(Session).where(Session.account_id == account.id))
        site.record(session, account.id, "password_reset", link=link.id)
        return account.id


def register(site: Site, login: str, name: str, password: str) -> str:
    """An account that somebody makes alone, as a participant, where an organiser opened that."""
    login = login.strip().lower()
    _require_free_name(login, name)
    _require_strong_password(password, login)
    password_hash = site.settings.passwords.hash(password)
    with site.database.writing() as session:
        return new_account(site, session, login, name, password_hash, ["participant"], "")


def sign_in(
    site: Site, login: str, password: str, code: str, *, address: str, agent: str
) -> Signed:
    """Begin a session.

    Raises:
        DeniedError: if name, password and code do not fit, in the same words whichever does not.
    """
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
    """A new session of an account; its secret, which is kept nowhere else."""
    secret = new_secret()
    session.add(
        Session(digest=digest_of(secret), account_id=account, csrf=new_secret(), agent=agent[:200])
    )
    return secret


def set_password(site: Site, account: str, old: str, new: str, keep: str) -> None:
    """Change one's own password; all other sessions end.

    Args:
        site: the site.
        account: whose.
        old: the password so far.
        new: the one from now on.
        keep: digest of the session that goes on.
    """
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
    """A token by which programs act for an account; it is kept nowhere but with whom it is for."""
    secret = new_secret()
    with site.acting(account, "token_made", token=digest_of(secret)[:16]) as session:
        session.add(Token(digest=digest_of(secret), account_id=account, name=name))
    return secret


def close_account(site: Site, account: str, by: str) -> None:
    """End an account: its name and password go, its entries are shown as withdrawn by nobody."""
    with site.acting(by, "account_closed", of=account) as session:
        closing = session.get_one(Account, account)
        _require_another_organiser(session, closing, [])
        closing.closed_at, closing.password, closing.totp_secret = now(), None, None
        closing.login, closing.name, closing.roles = f"closed-{closing.id}", "", []
        _forget_certificates(session, account)
        session.execute(delete(Identity).where(Identity.account_id == account))
        _end_all(session, account)


def _forget_certificates(session: Transaction, account: str) -> None:
    """Empty the certificates that name somebody; their numbers are not given again."""
    results = select(Result.id).join(Entry).where(Entry.account_id == account)
    named = select(Certificate).where(Certificate.result_id.in_(results))
    for certificate in session.scalars(named):
        certificate.content = {}


def change_roles(site: Site, account: str, roles: tuple[str, ...], by: str) -> None:
    """Give an account other roles; its sessions end, so that none goes on with the old ones."""
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
    """An account, written down; its id.

    Raises:
        DeniedError: if the login is taken.
    """
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
    """Whether the code of the second factor counts, which it does once."""
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
    if not name.strip() or len(name) > MOST_NAME or not name.isprintable():
        raise DeniedError("name_form")


def _require_strong_password(password: str, login: str) -> None:
    problem = password_problem(password, login)
    if problem:
        raise DeniedError(problem)


def _require_another_organiser(session: Transaction, account: Account, roles: list[str]) -> None:
    """Somebody has to be able to open the site to others."""
    if "organiser" not in account.roles or "organiser" in roles:
        return
    open_ones = session.scalars(select(Account).where(Account.closed_at.is_(None)))
    if not any("organiser" in other.roles for other in open_ones if other.id != account.id):
        raise DeniedError("last_organiser", 409)


def _end_all(session: Transaction, account: str) -> None:
    session.execute(delete(Session).where(Session.account_id == account))
    ended = update(Token).where(Token.account_id == account, Token.ended_at.is_(None))
    session.execute(ended.values(ended_at=now()))
