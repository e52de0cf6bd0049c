"""TOTP codes follow RFC 6238, and each is valid once."""

import base64
from datetime import UTC, datetime

import pytest

from nodulebench.web.portal.accounts.credentials import (
    STEP_S,
    code_at,
    new_totp_secret,
    step_at,
    used_step,
)

SECRET = base64.b32encode(b"12345678901234567890").decode()


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "94287082"),
        (1111111109, "07081804"),
        (1111111111, "14050471"),
        (1234567890, "89005924"),
        (2000000000, "69279037"),
        (20000000000, "65353130"),
    ],
)
def test_the_vectors_of_rfc_6238(seconds: int, code: str) -> None:
    assert code_at(SECRET, seconds // STEP_S, digits=8) == code


def test_a_code_counts_once_and_only_near_its_time() -> None:
    secret = new_totp_secret()
    at = datetime(2026, 1, 1, tzinfo=UTC)
    step = step_at(at)
    code = code_at(secret, step)
    assert used_step(secret, f" {code[:3]} {code[3:]}", at, 0) == step
    assert used_step(secret, code, at, step) is None
    assert used_step(secret, code_at(secret, step - 1), at, 0) == step - 1
    assert used_step(secret, code_at(secret, step + 1), at, 0) == step + 1
    assert used_step(secret, code_at(secret, step - 2), at, 0) is None
    assert used_step(secret, "", at, 0) is None
