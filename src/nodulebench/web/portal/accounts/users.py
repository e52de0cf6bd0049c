"""The user of a request: by session cookie, by token, or anonymous."""

from dataclasses import dataclass

from sqlalchemy import select, update
from starlette.requests import HTTPConnection

from nodulebench.web.portal.accounts.credentials import digest_of
from nodulebench.web.portal.accounts.service import IDLE, WHOLE
from nodulebench.web.portal.database.models import Session, Token, now
from nodulebench.web.portal.site import Site

SEEN_EVERY_S = 60
"""The time of last use is stored at most this often."""


@dataclass(frozen=True, slots=True)
class User:
    """The user who makes a request."""

    account: str = ""
    """The id of the account; empty: not signed in."""
    login: str = ""
    name: str = ""
    roles: frozenset[str] = frozenset({"public"})
    session: str = ""
    """Digest of the session; empty: a token, or not signed in."""
    csrf: str = ""
    """The form secret of this session."""
    has_totp: bool = False

    @property
    def is_signed_in(self) -> bool:
        return bool(self.account)

    @property
    def is_organiser(self) -> bool:
        return "organiser" in self.roles


ANONYMOUS = User()


def cookie_name(site: Site, what: str = "") -> str:
    """Name of a cookie of the site; with https, ``__Host-`` prevents that other hosts set it."""
    name = f"nodulebench-{what}" if what else "nodulebench"
    return f"__Host-{name}" if site.settings.is_secure else name


def find_user(site: Site, request: HTTPConnection) -> User:
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return _by_token(site, secret.strip())
    secret = request.cookies.get(cookie_name(site), "")
    return _by_session(site, secret) if secret else ANONYMOUS


def _by_session(site: Site, secret: str) -> User:
    digest, at = digest_of(secret), now()
    with site.database.reading() as session:
        stored = session.get(Session, digest)
        if stored is None or stored.account.closed_at is not None:
            return ANONYMOUS
        if stored.seen_at < at - IDLE or stored.created_at < at - WHOLE:
            return ANONYMOUS
        account = stored.account
        seen = (at - stored.seen_at).total_seconds()
        user = User(
            account.id,
            account.login,
            account.name,
            frozenset({*account.roles, "public"}),
            digest,
            stored.csrf,
            account.totp_secret is not None,
        )
    if seen > SEEN_EVERY_S:
        with site.database.writing() as session:
            session.execute(update(Session).where(Session.digest == digest).values(seen_at=at))
    return user


def _by_token(site: Site, secret: str) -> User:
    with site.database.reading() as session:
        of_secret = select(Token).where(Token.digest == digest_of(secret))
        token = session.scalar(of_secret.where(Token.ended_at.is_(None)))
        if token is None or token.account.closed_at is not None:
            return ANONYMOUS
        account = token.account
        roles = frozenset({*account.roles, "public"})
        return User(account.id, account.login, account.name, roles)
