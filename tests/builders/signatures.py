"""Signatures as others keep them: ssh-keygen's files, and those beside anchors of version 0.1."""

import textwrap
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from nodulebench.storage.keys.sshsig import PREFIX


def armored(code: str) -> str:
    """A signature as the file that ``ssh-keygen -Y verify -s FILE`` reads."""
    lines = textwrap.wrap(code.removeprefix(PREFIX), 70)
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""])


def raw_signature(content: bytes, key: Path) -> bytes:
    """The 64 bytes that stood beside an anchor."""
    private = load_pem_private_key(key.read_bytes(), None)
    assert isinstance(private, Ed25519PrivateKey)
    return private.sign(content)
