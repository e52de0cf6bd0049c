"""Personal keys of made-up people: the same in every run, and known by the person's name."""

import hashlib
from pathlib import Path

import pytest

pytest.importorskip("cryptography")
pytest.importorskip("pyrage")

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from nodulebench.security.keys import PrivateKey, PublicKey


def person_key(name: str) -> PrivateKey:
    key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())
    return PrivateKey(PublicKey(key.public_key().public_bytes_raw()), key)


def person_entry(name: str, *roles: str) -> str:
    """A person of a policy."""
    listed = ", ".join(f'"{role}"' for role in roles)
    key = person_key(name).public.line
    return f'[[people]]\nname = "{name}"\nroles = [{listed}]\nkey = "{key}"\n\n'


def write_key(name: str, folder: Path) -> Path:
    """Write a person's key into ``name.key``, and the public one next to it."""
    path, key = folder / f"{name.lower()}.key", person_key(name)
    path.write_bytes(key.opened_pem())
    path.chmod(0o600)
    path.with_name(f"{path.name}.pub").write_text(f"{key.public.line} {name}\n")
    return path
