"""Secrets that are given to people once and kept as digests only."""

import hashlib
import hmac
from secrets import token_urlsafe

BYTES = 32


def new_secret() -> str:
    """A secret that nobody guesses."""
    return token_urlsafe(BYTES)


def digest_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two secrets are the same; it takes as long if they are not."""
    return bool(one) and hmac.compare_digest(one.encode(), other.encode())
