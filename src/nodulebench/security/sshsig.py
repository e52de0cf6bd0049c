"""Bytes + a person's key -> a signature that ``ssh-keygen -Y verify`` confirms, and back.

The form is OpenSSH's SSHSIG (PROTOCOL.sshsig): the key, a namespace that says what was signed, and
the signature of the SHA-512 digest of the bytes.
"""

import base64
import binascii
import hashlib

from nodulebench.security.keys import KIND, PrivateKey, PublicKey, wire

NAMESPACE = "nodulebench"
PREFIX = "sshsig:"
"""What a signature begins with where other kinds of codes may stand."""
_MAGIC, _VERSION, _HASH = b"SSHSIG", (1).to_bytes(4, "big"), b"sha512"


def signature_code(content: bytes, key: PrivateKey) -> str:
    """The signature of some bytes, in one line."""
    signed = wire(KIND.encode()) + wire(key.sign(_signed_bytes(content)))
    return PREFIX + base64.b64encode(_head(key.public) + wire(signed)).decode()


def is_code_of(code: str, content: bytes, key: PublicKey) -> bool:
    """Whether a code is the signature of some bytes by this key, and nothing more."""
    try:
        blob = base64.b64decode(code.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return False
    signature = blob[-64:]
    expected = _head(key) + wire(wire(KIND.encode()) + wire(signature))
    return (
        code.startswith(PREFIX)
        and blob == expected
        and key.is_signer_of(_signed_bytes(content), signature)
    )


def _head(key: PublicKey) -> bytes:
    return _MAGIC + _VERSION + wire(key.blob) + wire(NAMESPACE.encode()) + wire(b"") + wire(_HASH)


def _signed_bytes(content: bytes) -> bytes:
    digest = hashlib.sha512(content).digest()
    return _MAGIC + wire(NAMESPACE.encode()) + wire(b"") + wire(_HASH) + wire(digest)
