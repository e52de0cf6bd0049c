"""Passwords, secrets, TOTP codes, and limits on failed attempts."""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from ipaddress import ip_address, ip_network
from secrets import token_bytes, token_urlsafe
from threading import BoundedSemaphore, Lock
from time import monotonic
from urllib.parse import quote, urlencode

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session as Transaction

from nodulebench.web.portal.database.models import Attempt, now

SHORTEST, LONGEST, AT_ONCE = 12, 256, 4
"""Lengths, and the number of simultaneous hashes, each of which needs 64 MiB for a moment."""
WORDS = (
    *("nodulebench", "benchmark", "leaderboard", "nodule", "radiology", "portal", "luna16"),
    *("organiser", "participant", "password", "qwerty", "asdfgh", "letmein", "welcome", "admin"),
    *("12345", "67890", "54321", "abcde"),
)
"""What an attacker tries first; a password must contain more than these."""
_PLACES = BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True)
class Passwords:
    """The cost of hashing a password."""

    time_cost: int = 3
    memory_kib: int = 65536

    @cached_property
    def _hash(self) -> PasswordHash:
        hasher = Argon2Hasher(time_cost=self.time_cost, memory_cost=self.memory_kib)
        return PasswordHash((hasher,))

    @cached_property
    def _unknown_account_hash(self) -> str:
        """A hash that no password matches, so that unknown logins take as long as known ones."""
        return self._hash.hash("of no account")

    def hash(self, password: str) -> str:
        with _PLACES:
            return self._hash.hash(password)

    def is_correct(self, password: str, stored_hash: str | None) -> bool:
        """Whether a password matches a hash; None never matches and takes as long."""
        with _PLACES:
            is_correct = self._hash.verify(
                password[: LONGEST + 1], stored_hash or self._unknown_account_hash
            )
        return is_correct and stored_hash is not None


def password_problem(password: str, login: str) -> str:
    """The code of the problem of a new password; empty if it is acceptable."""
    if len(password) < SHORTEST:
        return "password_short"
    if len(password) > LONGEST:
        return "password_long"
    rest = password.lower()
    for word in (login.lower(), *WORDS):
        rest = rest.replace(word, "")
    if len(set(rest)) < 5 or login.lower() in password.lower():
        return "password_easy"
    return ""


BYTES = 32


def new_secret() -> str:
    return token_urlsafe(BYTES)


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_same_secret(secret: str, other: str) -> bool:
    return bool(secret) and hmac.compare_digest(secret.encode(), other.encode())


STEP_S, DIGITS, SECRET_BYTES = 30, 6, 20
ISSUER = "NoduleBench"


def new_totp_secret() -> str:
    """A new TOTP secret in base32, as authenticator apps expect it."""
    return base64.b32encode(token_bytes(SECRET_BYTES)).decode()


def code_at(secret: str, step: int, digits: int = DIGITS) -> str:
    mac = hmac.new(base64.b32decode(secret), step.to_bytes(8, "big"), hashlib.sha1).digest()
    start = mac[-1] & 0xF
    number = int.from_bytes(mac[start : start + 4], "big") & 0x7FFFFFFF
    return str(number % 10**digits).zfill(digits)


def step_at(at: datetime) -> int:
    return int(at.timestamp()) // STEP_S


def used_step(secret: str, code: str, at: datetime, last: int) -> int | None:
    """The time step of a valid code that is later than the last used one, or None.

    The current step and its neighbours count.
    """
    given = "".join(code.split())
    now = step_at(at)
    for step in (now, now - 1, now + 1):
        if step > last and hmac.compare_digest(code_at(secret, step).encode(), given.encode()):
            return step
    return None


def address_of(secret: str, login: str) -> str:
    label = quote(f"{ISSUER}:{login}")
    return f"otpauth://totp/{label}?" + urlencode({"secret": secret, "issuer": ISSUER})


WHILE = timedelta(minutes=15)
MAX_PER_NAME, MAX_PER_ADDRESS = 10, 60
IPV6_PREFIX = 64
"""The IPv6 prefix that one customer usually has."""


def is_throttled(session: Transaction, login: str, address: str) -> bool:
    """Whether too many recent attempts failed for a login or from an address."""
    since = now() - WHILE
    most = {_aim("login", login): MAX_PER_NAME, _from(address): MAX_PER_ADDRESS}
    return any(
        (session.scalar(select(func.count()).where(Attempt.aim == aim, Attempt.at > since)) or 0)
        >= limit
        for aim, limit in most.items()
    )


def count_failure(session: Transaction, login: str, address: str) -> None:
    session.execute(delete(Attempt).where(Attempt.at <= now() - WHILE))
    session.add_all([Attempt(aim=_aim("login", login)), Attempt(aim=_from(address))])


def forget_failures(session: Transaction, login: str) -> None:
    session.execute(delete(Attempt).where(Attempt.aim == _aim("login", login)))


def _from(address: str) -> str:
    """The source of an attempt; for IPv6 the network, whose addresses belong to one customer."""
    try:
        known = ip_address(address)
    except ValueError:
        return _aim("address", address)
    network = ip_network((known, IPV6_PREFIX), strict=False) if known.version == 6 else known
    return _aim("address", str(network))


def _aim(kind: str, value: str) -> str:
    return digest_of(f"{kind} {value}")


EVERY_S = 60.0
"""Maximum rate: one event per account and reason in this time."""


class Refusals:
    """Recent refusals by account and reason."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._recorded: dict[tuple[str, str], tuple[float, int]] = {}

    def due(self, account: str, code: str) -> int:
        """Count a refusal; return how many refusals to log now, 0: none yet."""
        at = monotonic()
        with self._lock:
            last_recorded, count = self._recorded.get((account, code), (float("-inf"), 0))
            is_due = at - last_recorded >= EVERY_S
            self._recorded[account, code] = (at, 0) if is_due else (last_recorded, count + 1)
        return count + 1 if is_due else 0
