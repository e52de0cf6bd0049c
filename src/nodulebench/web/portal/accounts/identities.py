"""Links between users of an OpenID provider and accounts: by issuer and subject, never by name."""

from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench.web.portal.accounts.credentials import count_failure, is_throttled
from nodulebench.web.portal.accounts.oidc import ProviderPerson
from nodulebench.web.portal.accounts.service import (
    MAX_NAME,
    DeniedError,
    Signed,
    begin_session,
    new_account,
)
from nodulebench.web.portal.database.models import Account, Identity, new_id
from nodulebench.web.portal.site import Site


def sign_in_as(site: Site, person: ProviderPerson, agent: str, *, is_open: bool) -> Signed:
    """Begin a session of a provider's user; with ``is_open`` a new account may be made.

    An account is never found by login, name or mail.
    """
    with site.database.writing() as session:
        account = _account_of(session, person)
        if account is None and is_open:
            account = _made(site, session, person)
        if account is not None and account.closed_at is None:
            secret = begin_session(session, account.id, agent)
            site.record(session, account.id, "signed_in", by=person.issuer)
            return Signed(secret, account.id)
        site.record(session, "", "sign_in_failed", of=None, by=person.issuer)
    raise DeniedError("oidc_unknown", 403)


def record_refusal(site: Site, address: str, why: str) -> None:
    with site.database.writing() as session:
        count_failure(session, _aim(address), address)
    site.refuse("", "oidc_wrong", why=why[:80])


def require_not_throttled(site: Site, address: str) -> None:
    """Refuse responses from an address with many failures: each causes provider requests."""
    with site.database.reading() as session:
        if is_throttled(session, _aim(address), address):
            raise DeniedError("too_many_attempts", 429)


def _aim(address: str) -> str:
    return f"by a provider, from {address}"


def connect(site: Site, account: str, person: ProviderPerson) -> None:
    """Connect a user of the provider with an account; refused if they have another one."""
    with site.acting(account, "identity_connected", by=person.issuer) as session:
        if _account_of(session, person) is not None:
            raise DeniedError("oidc_taken", 409)
        session.add(_identity(person, account))


def disconnect(site: Site, account: str) -> None:
    """Disconnect an account from the provider; refused if no way to sign in would remain."""
    with site.acting(account, "identity_ended") as session:
        if session.get_one(Account, account).password is None:
            raise DeniedError("password_first", 409)
        for identity in identities_of(session, account):
            session.delete(identity)


def identities_of(session: Transaction, account: str) -> list[Identity]:
    return list(session.scalars(select(Identity).where(Identity.account_id == account)))


def _account_of(session: Transaction, person: ProviderPerson) -> Account | None:
    identity = session.get(Identity, (person.issuer, person.subject))
    return None if identity is None else session.get(Account, identity.account_id)


def _made(site: Site, session: Transaction, person: ProviderPerson) -> Account:
    """A participant with a random login, because users can change their name at the provider."""
    login = f"oidc-{new_id()}"
    is_name = bool(person.name.strip()) and person.name.isprintable()
    name = person.name.strip()[:MAX_NAME] if is_name else login
    account = new_account(site, session, login, name, None, ["participant"], "")
    session.add(_identity(person, account))
    return session.get_one(Account, account)


def _identity(person: ProviderPerson, account: str) -> Identity:
    return Identity(issuer=person.issuer, subject=person.subject, account_id=account)
