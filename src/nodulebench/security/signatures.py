"""Sign folders with a manifest by Ed25519 keys, and check the signatures.

The signature is the raw 64 bytes over the unchanged ``manifest.json``, so that other programs can
check it: ``openssl pkeyutl -verify -rawin -pubin -inkey key.pub.pem -in manifest.json
-sigfile manifest.sig``.
"""

import base64
import binascii
import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.optional_packages import needs
from nodulebench.io.atomic import create_once, replace_whole, staged_folder
from nodulebench.io.manifests import (
    MANIFEST,
    SIGNATURE,
    Manifest,
    Signed,
    manifest_problems,
    read_manifest,
)
from nodulebench.security.keys import (
    KIND,
    PrivateKey,
    PublicKey,
    has_passphrase,
    is_person_key,
    key_content,
    loaded_key,
    read_private_key,
    read_public_key,
    require_private_file,
    wire,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )


_NEW_KEY = "Make one with: nodulebench keys new key.pem --pem"


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature that is valid for every byte of a folder."""

    signed: Signed
    is_known: bool
    """Whether it was checked with a given public key, not the one in the folder."""


def new_key(path: Path, passphrase: str = "") -> tuple[Path, str]:
    """Write a new key pair into two PEM files; return the public one and the key's digest."""
    with needs("sign", "signing"):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    public = path.with_suffix(f".pub{path.suffix or '.pem'}")
    if path.is_file() and not public.exists():  # a killed run may have left only one
        with suppress(InputError):
            return _write_public(_private_key(path, passphrase).public_key(), public)
    existing = [file for file in (path, public) if file.exists()]
    raise_problems(
        Problem(str(file), "already exists; a key is never overwritten.", "Choose a new name.")
        for file in existing
    )
    key = Ed25519PrivateKey.generate()
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        encryption = serialization.BestAvailableEncryption(passphrase.encode())
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
    try:
        if not create_once(path, secret, mode=0o600):
            raise InputError.at(path, "already exists; a key is never overwritten.")
        return _write_public(key.public_key(), public)
    except OSError as error:
        raise InputError.at(path, f"cannot be written: {error.strerror or error}.") from error


def _write_public(key: "Ed25519PublicKey", path: Path) -> tuple[Path, str]:
    from cryptography.hazmat.primitives import serialization

    content = key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    replace_whole(path, content)
    return path, _key_digest(key)


def is_encrypted(path: Path) -> bool:
    return (
        has_passphrase(path) if is_person_key(path) else b"ENCRYPTED" in key_content(path, _NEW_KEY)
    )


def sign_folder(
    folder: Path, key: Path, *, passphrase: str = "", by: str = "", at: datetime | None = None
) -> Signed:
    """Sign a folder: its manifest states signer and time. The key is PEM or OpenSSH."""
    raise_problems(manifest_problems(folder))
    return sign_manifest(folder, read_manifest(folder), signing_key(key, passphrase), by=by, at=at)


def sign_manifest(
    folder: Path, manifest: Manifest, key: PrivateKey, *, by: str = "", at: datetime | None = None
) -> Signed:
    """Write a signed manifest whose digests were just computed; see ``sign_folder``."""
    time = (at or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds")
    public = key.ed25519.public_key()
    signed = Signed(time, by, _key_digest(public), public.public_bytes_raw().hex())
    content = replace(manifest, signed=signed).to_bytes()
    with staged_folder(folder, last=MANIFEST) as stage:
        (stage / SIGNATURE).write_bytes(key.sign(content))
        (stage / MANIFEST).write_bytes(content)
    return signed


def check_signature(folder: Path, public_key: Path | None = None) -> Signature | None:
    """Check the signature of a folder; None if there is none and no key is given.

    ``public_key`` is the expected signer's; None: the key that the folder names, which proves that
    nothing was changed since, but not who signed.
    """
    manifest, file = read_manifest(folder), folder / SIGNATURE
    if manifest.signed is None or not file.is_file():
        if public_key is None and manifest.signed is None and not file.exists():
            return None
        raise InputError(_missing(folder, manifest.signed))
    known = None if public_key is None else _public_key(public_key)
    if known is not None and _key_digest(known) != manifest.signed.key:
        raise InputError.at(
            folder / MANIFEST,
            f"says that it was signed with the key {manifest.signed.key}, which is not "
            f"{public_key} ({_key_digest(known)}).",
            "Ask the signer for the public key.",
        )
    if not _holds(known, manifest.signed, file.read_bytes(), manifest.to_bytes()):
        raise InputError.at(
            file,
            f"does not belong to {MANIFEST}: one of the two was changed after signing, or the "
            "signature was made with another key.",
        )
    return Signature(manifest.signed, known is not None)


def signing_key(path: Path, passphrase: str = "") -> PrivateKey:
    key = _private_key(path, passphrase)
    return PrivateKey(PublicKey(key.public_key().public_bytes_raw()), key)


def is_signature_of(content: bytes, signature: bytes, public_key: Path) -> bool:
    key = _public_key(public_key)
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, content)
    except InvalidSignature:
        return False
    return True


def _missing(folder: Path, signed: Signed | None) -> Problem:
    file = folder / SIGNATURE
    if signed is not None:
        return Problem(str(file), f"does not exist, but {MANIFEST} names a signer.")
    if file.exists():
        return Problem(str(file), f"exists, but {MANIFEST} names no signer.")
    return Problem(
        str(folder), "is not signed.", "Sign it with: nodulebench sign DIR --key key.pem"
    )


def _holds(
    key: "Ed25519PublicKey | None", signed: Signed, signature: bytes, content: bytes
) -> bool:
    with needs("sign", "signing"):
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    try:
        used = key or Ed25519PublicKey.from_public_bytes(bytes.fromhex(signed.public_key))
        used.verify(signature, content)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return _key_digest(used) == signed.key


def _private_key(path: Path, passphrase: str) -> "Ed25519PrivateKey":
    with needs("sign", "signing"):
        from cryptography.hazmat.primitives import serialization
    if is_person_key(path):
        return read_private_key(path, passphrase).ed25519
    pem = key_content(path, _NEW_KEY)
    if b"PUBLIC KEY" in pem:
        raise InputError.at(path, "is a public key; signing needs the private one.")
    if b"PRIVATE KEY" in pem:
        require_private_file(path)
    return loaded_key(
        path,
        lambda secret: serialization.load_pem_private_key(pem, secret),
        passphrase if b"ENCRYPTED" in pem else None,
        option="--key-passphrase-file",
        remedy=_NEW_KEY,
    )


def _public_key(path: Path) -> "Ed25519PublicKey":
    with needs("sign", "signing"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    pem = key_content(path, _NEW_KEY)
    if b"PRIVATE KEY" in pem:
        raise InputError.at(
            path, "is a private key.", "Check with the public key; keep this one secret."
        )
    if pem.startswith(KIND.encode()):
        return Ed25519PublicKey.from_public_bytes(read_public_key(path).raw)
    try:
        key = serialization.load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InputError.at(path, "is not a public key in PEM or OpenSSH format.") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InputError.at(path, "is not an Ed25519 key.")
    return key


def _key_digest(key: "Ed25519PublicKey") -> str:
    from cryptography.hazmat.primitives import serialization

    der = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return "sha256:" + hashlib.sha256(der).hexdigest()


NAMESPACE = "nodulebench"
PREFIX = "sshsig:"
_MAGIC, _VERSION, _HASH = b"SSHSIG", (1).to_bytes(4, "big"), b"sha512"


def signature_code(content: bytes, key: PrivateKey) -> str:
    signed = wire(KIND.encode()) + wire(key.sign(_signed_bytes(content)))
    return PREFIX + base64.b64encode(_head(key.public) + wire(signed)).decode()


def is_code_of(code: str, content: bytes, key: PublicKey) -> bool:
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
