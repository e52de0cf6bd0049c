"""Failed attempts -> whether one more may be made: per name and per address, within a while."""

from datetime import timedelta
from ipaddress import ip_address, ip_network

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session as Transaction

from nodulebench.web.portal.accounts.secrets import digest_of
from nodulebench.web.portal.database.models import Attempt, now

WHILE = timedelta(minutes=15)
MOST_PER_NAME, MOST_PER_ADDRESS = 10, 60
OF_ONE = 64
"""The prefix of IPv6 that one customer has."""


def is_throttled(session: Transaction, login: str, address: str) -> bool:
    """Whether too many attempts failed of late on a name or from an address."""
    since = now() - WHILE
    most = {_aim("login", login): MOST_PER_NAME, _from(address): MOST_PER_ADDRESS}
    return any(
        (session.scalar(select(func.count()).where(Attempt.aim == aim, Attempt.at > since)) or 0)
        >= limit
        for aim, limit in most.items()
    )


def count_failure(session: Transaction, login: str, address: str) -> None:
    """One more attempt failed; those of long ago are forgotten."""
    session.execute(delete(Attempt).where(Attempt.at <= now() - WHILE))
    session.add_all([Attempt(aim=_aim("login", login)), Attempt(aim=_from(address))])


def forget_failures(session: Transaction, login: str) -> None:
    """Somebody signed in: what failed on the name counts no more."""
    session.execute(delete(Attempt).where(Attempt.aim == _aim("login", login)))


def _from(address: str) -> str:
    """Where an attempt came from; of IPv6 the network, for whoever has one address has them all."""
    try:
        known = ip_address(address)
    except ValueError:
        return _aim("address", address)
    network = ip_network((known, OF_ONE), strict=False) if known.version == 6 else known
    return _aim("address", str(network))


def _aim(kind: str, value: str) -> str:
    return digest_of(f"{kind} {value}")
