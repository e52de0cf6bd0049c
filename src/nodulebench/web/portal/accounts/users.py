"""A request -> who makes it: by the cookie of a session, by a token, or nobody who is known."""

from dataclasses import dataclass

from sqlalchemy import select, update
from starlette.requests import HTTPConnection

from nodulebench.web.portal.accounts.credentials import digest_of
from nodulebench.web.portal.accounts.service import IDLE, WHOLE
from nodulebench.web.portal.database.models import Session, Token, now
from nodulebench.web.portal.site import Site

SEEN_EVERY_S = 60
"""A session is written down as seen no more often than this."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who makes a request."""

    account: str = ""
    """The id of the account; nothing: nobody who is signed in."""
    login: str = ""
    name: str = ""
    roles: frozenset[str] = frozenset({"public"})
    session: str = ""
    """Digest of the session; nothing: a token, or nobody."""
    csrf: str = ""
    """What the forms of this session hold."""
    has_factor: bool = False

    @property
    def is_signed_in(self) -> bool:
        """Whether it is known who it is."""
        return bool(self.account)

    @property
    def is_organiser(self) -> bool:
        """Whether everything of the desk is theirs."""
        return "organiser" in self.roles


NOBODY = Visitor()


def cookie_name(site: Site, what: str = "") -> str:
    """A cookie of the site, that of the session where nothing is said.

    By https one that no other host can set.
    """
    name = f"nodulebench-{what}" if what else "nodulebench"
    return f"__Host-{name}" if site.settings.is_secure else name


def find_visitor(site: Site, request: HTTPConnection) -> Visitor:
    """Who makes a request."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return _by_token(site, secret.strip())
    secret = request.cookies.get(cookie_name(site), "")
    return _by_session(site, secret) if secret else NOBODY


def _by_session(site: Site, secret: str) -> Visitor:
    digest, at = digest_of(secret), now()
    with site.database.reading() as session:
        found = session.get(Session, digest)
        if found is None or found.account.closed_at is not None:
            return NOBODY
        if found.seen_at < at - IDLE or found.created_at < at - WHOLE:
            return NOBODY
        account = found.account
        seen = (at - found.seen_at).total_seconds()
        visitor = Visitor(
            account.id,
            account.login,
            account.name,
            frozenset({*account.roles, "public"}),
            digest,
            found.csrf,
            account.factor is not None,
        )
    if seen > SEEN_EVERY_S:
        with site.database.writing() as session:
            session.execute(update(Session).where(Session.digest == digest).values(seen_at=at))
    return visitor


def _by_token(site: Site, secret: str) -> Visitor:
    with site.database.reading() as session:
        of_secret = select(Token).where(Token.digest == digest_of(secret))
        found = session.scalar(of_secret.where(Token.ended_at.is_(None)))
        if found is None or found.account.closed_at is not None:
            return NOBODY
        account = found.account
        roles = frozenset({*account.roles, "public"})
        return Visitor(account.id, account.login, account.name, roles)
