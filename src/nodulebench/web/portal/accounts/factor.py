"""The second factor: codes of six digits that change with time (TOTP, RFC 6238)."""

import base64
import hashlib
import hmac
from datetime import datetime
from secrets import token_bytes
from urllib.parse import quote, urlencode

STEP_S, DIGITS, SECRET_BYTES = 30, 6, 20
ISSUER = "NoduleBench"


def new_factor() -> str:
    """A secret, as apps for codes take it."""
    return base64.b32encode(token_bytes(SECRET_BYTES)).decode()


def code_at(secret: str, step: int, digits: int = DIGITS) -> str:
    """The code of a step of time (RFC 4226, section 5.3)."""
    mac = hmac.new(base64.b32decode(secret), step.to_bytes(8, "big"), hashlib.sha1).digest()
    start = mac[-1] & 0xF
    number = int.from_bytes(mac[start : start + 4], "big") & 0x7FFFFFFF
    return str(number % 10**digits).zfill(digits)


def step_at(at: datetime) -> int:
    """The step of time in which a moment lies."""
    return int(at.timestamp()) // STEP_S


def used_step(secret: str, code: str, at: datetime, last: int) -> int | None:
    """The step that a code belongs to: this one or a neighbour, but none that was used before.

    Returns:
        The step, to be kept as the last one used; None: the code does not count.
    """
    given = "".join(code.split())
    now = step_at(at)
    for step in (now, now - 1, now + 1):
        if step > last and hmac.compare_digest(code_at(secret, step).encode(), given.encode()):
            return step
    return None


def address_of(secret: str, login: str) -> str:
    """The address by which apps take the secret over."""
    label = quote(f"{ISSUER}:{login}")
    return f"otpauth://totp/{label}?" + urlencode({"secret": secret, "issuer": ISSUER})
