"""Read and write OpenSSH Ed25519 keys, public and private."""

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.optional_packages import needs
from nodulebench.io.atomic import create_once, replace_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def key_content(path: Path, remedy: str = "") -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror or error}.", remedy) from error


def require_private_file(path: Path) -> None:
    """Reject a file with a secret that other users can read."""
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise InputError.at(path, "can be read by other users.", f"Run first: chmod 600 {path}")


KIND = "ssh-ed25519"
_OPENSSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_NEW_KEY = "Make one with: ssh-keygen -t ed25519 -f KEY, or: nodulebench keys new KEY"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An Ed25519 public key, which identifies a signer."""

    raw: bytes

    @property
    def blob(self) -> bytes:
        """The key in OpenSSH's wire format."""
        return wire(KIND.encode()) + wire(self.raw)

    @property
    def line(self) -> str:
        """The key as in a ``.pub`` file, without its comment."""
        return f"{KIND} {base64.b64encode(self.blob).decode()}"

    @property
    def fingerprint(self) -> str:
        """The fingerprint that ``ssh-keygen -l`` prints."""
        digest = hashlib.sha256(self.blob).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")

    def is_signer_of(self, content: bytes, signature: bytes) -> bool:
        with needs("keys", "checking signatures"):
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, content)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A person's private key, only in memory."""

    public: PublicKey
    ed25519: "Ed25519PrivateKey" = field(repr=False)

    def sign(self, content: bytes) -> bytes:
        return self.ed25519.sign(content)

    def opened_pem(self) -> bytes:
        """The unencrypted key in OpenSSH's format: for age, never for a file."""
        from cryptography.hazmat.primitives import serialization

        return self.ed25519.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )


def wire(content: bytes) -> bytes:
    """Bytes with their length in front, as in OpenSSH (RFC 4251, section 5)."""
    return len(content).to_bytes(4, "big") + content


def parse_public_key(text: str) -> PublicKey:
    """Parse a line ``ssh-ed25519 AAAA… comment``; ValueError with the reason."""
    words = text.split()
    if len(text.strip().splitlines()) != 1 or len(words) < 2 or words[0] != KIND:
        raise ValueError(f"is not a line '{KIND} AAAA…', as in a .pub file of ssh-keygen")
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("is not an OpenSSH key: its second word is not base64") from error
    key = PublicKey(blob[-32:])
    if len(blob) != 51 or key.blob != blob:
        raise ValueError("is not an OpenSSH Ed25519 key, or was cut off")
    return key


def read_public_key(path: Path) -> PublicKey:
    try:
        return parse_public_key(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        problem = str(error) if not isinstance(error, UnicodeDecodeError) else "is not text"
        raise InputError.at(path, f"{problem}.", _NEW_KEY) from error


def is_person_key(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_OPENSSH)) == _OPENSSH
    except OSError:
        return False


def has_passphrase(path: Path) -> bool:
    body = re.sub(rb"-----[A-Z ]+-----|\s", b"", key_content(path, _NEW_KEY))
    try:
        start = base64.b64decode(body)[:64]
    except binascii.Error:
        return False
    return not start.startswith(b"openssh-key-v1\0" + wire(b"none"))


def read_private_key(path: Path, passphrase: str = "") -> PrivateKey:
    with needs("keys", "a person's key"):
        import bcrypt  # noqa: F401  # opens keys that have a passphrase
        from cryptography.hazmat.primitives import serialization
    content = key_content(path, _NEW_KEY)
    if content.lstrip().startswith(KIND.encode()):
        raise InputError.at(
            path, "is a public key; signing and opening need the private key next to it."
        )
    if not content.startswith(_OPENSSH):
        raise InputError.at(path, "is not an OpenSSH private key.", _NEW_KEY)
    require_private_file(path)
    key = loaded_key(
        path,
        lambda secret: serialization.load_ssh_private_key(content, secret),
        passphrase if has_passphrase(path) else None,
        option="--key-passphrase-file",
        remedy=_NEW_KEY,
    )
    return PrivateKey(PublicKey(key.public_key().public_bytes_raw()), key)


def loaded_key(
    path: Path,
    load: Callable[[bytes | None], object],
    passphrase: str | None,
    *,
    option: str,
    remedy: str,
) -> "Ed25519PrivateKey":
    """Load a private key; its passphrase is None if it needs none, empty if not given."""
    with needs("sign", "signing"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    if passphrase == "":
        raise InputError.at(
            path,
            "has a passphrase, but none was given.",
            f"Give it with {option}, or call from a terminal to be asked.",
        )
    try:
        key = load(None if passphrase is None else passphrase.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if passphrase is not None:
            raise InputError.at(path, "does not open with this passphrase.") from error
        raise InputError.at(path, "is not a private key, or is damaged.", remedy) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError.at(path, "is not an Ed25519 key.", remedy)
    return key


def new_person_key(path: Path, passphrase: str = "", comment: str = "") -> PublicKey:
    """Write a new private key, and the public key next to it, like ssh-keygen."""
    with needs("keys", "a person's key"):
        import bcrypt  # noqa: F401
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    public_file = path.with_name(f"{path.name}.pub")
    if path.is_file() and not public_file.exists():  # a killed run may have left only one
        with suppress(InputError):
            known = read_private_key(path, passphrase).public
            return _write_public(known, public_file, comment)
    raise_problems(
        Problem(str(file), "already exists; a key is never overwritten.", "Choose a new name.")
        for file in (path, public_file)
        if file.exists()
    )
    key = Ed25519PrivateKey.generate()
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        encryption = serialization.BestAvailableEncryption(passphrase.encode())
    content = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, encryption
    )
    if not create_once(path, content, mode=0o600):
        raise InputError.at(path, "already exists; a key is never overwritten.")
    public = PublicKey(key.public_key().public_bytes_raw())
    return _write_public(public, public_file, comment)


def _write_public(key: PublicKey, path: Path, comment: str) -> PublicKey:
    replace_whole(path, f"{key.line} {' '.join(comment.split())}".rstrip().encode() + b"\n")
    return key
