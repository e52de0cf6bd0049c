"""Bytes -> an age file for owners of OpenSSH keys, and back; ``age -d -i KEY`` opens it."""

from nodulebench.core.errors import InputError
from nodulebench.core.optional_packages import needs
from nodulebench.security.keys import PrivateKey, PublicKey


def encrypted_for(content: bytes, *keys: PublicKey) -> bytes:
    """Content that the owner of a key alone can read; of several keys, each owner."""
    with needs("keys", "keys of people"):
        import pyrage
    owners = [pyrage.ssh.Recipient.from_str(key.line) for key in keys]
    return bytes(pyrage.encrypt(content, owners))


def decrypted_by(sealed: bytes, key: PrivateKey, where: str) -> bytes:
    """What was encrypted for the owner of a key.

    Raises:
        InputError: if it was for another, or was changed.
    """
    with needs("keys", "keys of people"):
        import pyrage
    try:
        return bytes(pyrage.decrypt(sealed, [pyrage.ssh.Identity.from_buffer(key.opened_pem())]))
    except pyrage.DecryptError as error:
        raise InputError.at(
            where, "does not open with this key: what it wraps was changed or is another's."
        ) from error
