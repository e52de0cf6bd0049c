"""Encrypt files by AES-256-GCM under a key that a secret unwraps.

A vault has one random data key. It is encrypted ("wrapped") under a key derived from the secret and
stored in ``vault.json``. Sealed files and the codes of the audit log use keys derived from it by
HKDF. Files are sealed in segments of 1 MiB by the STREAM construction (Hoang, Reyhanitabar, Rogaway
and Vizár 2015): the nonce of a segment holds its number and whether it is the last, so changed,
moved, repeated and cut-off segments are all rejected.
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.optional_packages import needs
from nodulebench.security.keys import (
    PrivateKey,
    PublicKey,
    key_content,
    parse_public_key,
    require_private_file,
)

SCHEMA = "nodulebench/vault@1"
SEGMENT_BYTES = 1 << 20
SCRYPT_COST = 1 << 17
"""128 MiB and about half a second for each guess at a passphrase."""

_MAGIC = b"nodulebench-sealed-1\n"
_NEW_KEY = "Make one with: nodulebench seal --new-vault-key vault.key"
_KEY_FILE_WORD = "nodulebench-vault-key-1"
_TAG_BYTES, _SALT_BYTES, _PREFIX_BYTES = 16, 32, 7
_MOST_SCRYPT_COST = 1 << 20


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that opens a vault."""

    kind: Literal["passphrase", "key file", "key of a person"]
    value: bytes = field(repr=False)
    key: "PrivateKey | None" = field(default=None, repr=False)
    """A person's key: opens what is wrapped for that person, and identifies the person."""


@dataclass(frozen=True, slots=True)
class Vault:
    """An open vault; its key is only in memory."""

    data_key: bytes = field(repr=False)

    def key_for(self, purpose: str, salt: bytes = b"") -> bytes:
        """A separate key for one purpose (HKDF with SHA-256, RFC 5869)."""
        extracted = hmac.digest(salt or b"\0" * 32, self.data_key, "sha256")
        return hmac.digest(extracted, purpose.encode() + b"\1", "sha256")

    def authenticator(self, content: bytes, purpose: str) -> str:
        """A code for this content that only people who can open the vault can make."""
        return "hmac-sha256:" + hmac.digest(self.key_for(purpose), content, "sha256").hex()

    def seal(self, plain: bytes, name: str) -> bytes:
        """Encrypt bytes; they can only be opened under the same name."""
        parts = (plain[at : at + SEGMENT_BYTES] for at in range(0, len(plain), SEGMENT_BYTES))
        return b"".join(self._sealed_parts(parts, name))

    def open(self, sealed: bytes, name: str, where: str) -> bytes:
        """Decrypt bytes.

        Args:
            sealed: the result of ``seal``.
            name: the name under which it was sealed.
            where: the file, for messages.

        Raises:
            InputError: if a byte was changed, or it was sealed under another name or vault.
        """
        start = len(_MAGIC) + _SALT_BYTES + _PREFIX_BYTES
        if not sealed.startswith(_MAGIC) or len(sealed) < start + _TAG_BYTES:
            raise InputError.at(where, "is not a sealed file, or was cut off.")
        salt = sealed[len(_MAGIC) : len(_MAGIC) + _SALT_BYTES]
        prefix = sealed[start - _PREFIX_BYTES : start]
        cipher, step = self._cipher(name, salt), SEGMENT_BYTES + _TAG_BYTES
        starts = range(start, len(sealed), step)
        try:
            return b"".join(
                cipher.decrypt(
                    _nonce(prefix, number, at + step >= len(sealed)),
                    sealed[at : at + step],
                    name.encode(),
                )
                for number, at in enumerate(starts)
            )
        except _invalid_tag() as error:
            raise InputError.at(
                where, "was changed after it was sealed, or was sealed in another vault."
            ) from error

    def seal_file(self, source: Path, target: BinaryIO, name: str) -> str:
        """Seal a file of any size into another; return the digest of the plain bytes."""
        whole = hashlib.sha256()

        def parts() -> Iterator[bytes]:
            with source.open("rb") as file:
                while part := file.read(SEGMENT_BYTES):
                    whole.update(part)
                    yield part

        for sealed in self._sealed_parts(parts(), name):
            target.write(sealed)
        return "sha256:" + whole.hexdigest()

    def _sealed_parts(self, parts: Iterator[bytes], name: str) -> Iterator[bytes]:
        salt, prefix = secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_PREFIX_BYTES)
        cipher = self._cipher(name, salt)
        yield _MAGIC + salt + prefix
        number, part = 0, next(parts, b"")
        for following in parts:
            yield cipher.encrypt(_nonce(prefix, number, False), part, name.encode())
            number, part = number + 1, following
        yield cipher.encrypt(_nonce(prefix, number, True), part, name.encode())

    def _cipher(self, name: str, salt: bytes) -> Any:
        return _aes(self.key_for(f"sealed file {name}", salt))


def person_secret(key: "PrivateKey") -> Secret:
    return Secret("key of a person", b"", key)


def passphrase_secret(passphrase: str) -> Secret:
    return Secret("passphrase", passphrase.encode())


def new_key_file(path: Path) -> None:
    """Write a new random key that opens vaults; only its owner may read it.

    Raises:
        InputError: if the file exists; a key is never overwritten.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise InputError.at(
            path, "already exists; a key is never overwritten.", "Choose a new name."
        ) from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{_KEY_FILE_WORD} {secrets.token_hex(32)}\n")


def read_key_file(path: Path) -> Secret:
    """Read the secret in a key file.

    Raises:
        InputError: if it cannot be read, holds no key, or other users may read it.
    """
    try:
        words = key_content(path, _NEW_KEY).decode("ascii").split()
    except UnicodeDecodeError as error:
        raise InputError.at(path, f"cannot be read as a key file: {error}.") from error
    if len(words) != 2 or words[0] != _KEY_FILE_WORD or len(words[1]) != 64:
        raise InputError.at(path, "is not a key file of a vault.", _NEW_KEY)
    require_private_file(path)
    return Secret("key file", bytes.fromhex(words[1]))


def create_vault(secret: Secret) -> tuple[Vault, JsonObject]:
    """A new vault, and what has to be older_header of it to open it again with the same secret.

    Raises:
        InputError: if the secret is a person's key.
    """
    if secret.key is not None:
        raise InputError.at(
            "vault", "is shared, so a person's key cannot open it.", "Give --vault-key."
        )
    vault, salt = Vault(secrets.token_bytes(32)), secrets.token_bytes(_SALT_BYTES)
    cost = SCRYPT_COST if secret.kind == "passphrase" else 0
    nonce = secrets.token_bytes(12)
    header: JsonObject = {
        "schema": SCHEMA,
        "opens_with": secret.kind,
        "scrypt": {"n": cost, "r": 8, "p": 1} if cost else None,
        "salt": salt.hex(),
        "nonce": nonce.hex(),
    }
    wrapped = _aes(_wrapping_key(secret, salt, cost)).encrypt(nonce, vault.data_key, _bound(header))
    return vault, {**header, "wrapped_key": wrapped.hex()}


def open_vault(header: Any, secret: Secret, where: str) -> Vault:
    """Open a vault.

    Raises:
        InputError: if the header is not that of a vault, or the secret is wrong.
    """
    cost, salt, nonce, wrapped = _parsed(header, where)
    if header["opens_with"] != secret.kind:
        raise InputError.at(
            where, f"opens with a {header['opens_with']}, not with a {secret.kind}."
        )
    bound = {name: value for name, value in header.items() if name != "wrapped_key"}
    try:
        key = _aes(_wrapping_key(secret, salt, cost)).decrypt(nonce, wrapped, _bound(bound))
    except _invalid_tag() as error:
        raise InputError.at(
            where, f"does not open with this {secret.kind}, or was changed."
        ) from error
    return Vault(key)


def _parsed(header: Any, where: str) -> tuple[int, bytes, bytes, bytes]:
    schema = header.get("schema") if isinstance(header, dict) else None
    if schema != SCHEMA:
        raise InputError.at(where, f"has the schema '{schema}', not '{SCHEMA}'.")
    try:
        cost = header["scrypt"]["n"] if header["opens_with"] == "passphrase" else 0
        salt, nonce, wrapped = (
            bytes.fromhex(header[name]) for name in ("salt", "nonce", "wrapped_key")
        )
        if not isinstance(cost, int) or not 0 <= cost <= _MOST_SCRYPT_COST or len(nonce) != 12:
            raise ValueError("a value is out of range")
    except (KeyError, TypeError, ValueError) as error:
        raise InputError.at(where, "is not a vault: its values were changed.") from error
    return cost, salt, nonce, wrapped


def _wrapping_key(secret: Secret, salt: bytes, cost: int) -> bytes:
    if secret.kind == "key file":
        return Vault(secret.value).key_for("wrapping key", salt)
    try:
        memory = 256 * 8 * cost
        return hashlib.scrypt(secret.value, salt=salt, n=cost, r=8, p=1, maxmem=memory, dklen=32)
    except ValueError as error:
        raise InputError.at("vault", f"its scrypt cost {cost} cannot be used.") from error


def _bound(header: JsonObject) -> bytes:
    return json.dumps(header, sort_keys=True).encode()


def _nonce(prefix: bytes, number: int, is_last: bool) -> bytes:
    return prefix + number.to_bytes(4, "big") + bytes([is_last])


def _aes(key: bytes) -> Any:
    with needs("sign", "a vault"):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _invalid_tag() -> type[Exception]:
    from cryptography.exceptions import InvalidTag

    return InvalidTag


def encrypted_for(content: bytes, *keys: PublicKey) -> bytes:
    """Encrypt content so that only the owners of these keys can read it."""
    with needs("keys", "keys of people"):
        import pyrage
    owners = [pyrage.ssh.Recipient.from_str(key.line) for key in keys]
    return bytes(pyrage.encrypt(content, owners))


def decrypted_by(sealed: bytes, key: PrivateKey, where: str) -> bytes:
    """Decrypt content for the owner of a key.

    Raises:
        InputError: if it is for another key, or was changed.
    """
    with needs("keys", "keys of people"):
        import pyrage
    try:
        return bytes(pyrage.decrypt(sealed, [pyrage.ssh.Identity.from_buffer(key.opened_pem())]))
    except pyrage.DecryptError as error:
        raise InputError.at(
            where, "does not open with this key: its content was changed or is for another key."
        ) from error


COMPARTMENTS_SCHEMA = "nodulebench/vault@2"
OPENS_WITH = "keys of people"


@dataclass(frozen=True, slots=True)
class Holder:
    """A person who may open some compartments."""

    person: str
    key: PublicKey
    compartments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompartmentVault(Vault):
    """A vault of compartments, of which one person's key opens some; a name gives its compartment.

    It seals and opens like any vault.
    """

    identity: str
    keys: Mapping[str, bytes] = field(repr=False)
    compartment_of: Callable[[str], str] = field(repr=False)

    def key_for(self, purpose: str, salt: bytes = b"") -> bytes:
        """A separate key for one purpose, derived from the key of its compartment."""
        return self.compartment(self.compartment_of(purpose)).key_for(purpose, salt)

    def _cipher(self, name: str, salt: bytes) -> Any:
        return self.compartment(self.compartment_of(name))._cipher(name, salt)

    def compartment(self, name: str) -> Vault:
        """Return one compartment.

        Raises:
            InputError: if the key does not open it.
        """
        if name not in self.keys:
            raise InputError.at(
                "vault",
                f"this key does not open the compartment '{name}'.",
                f"It opens: {', '.join(sorted(self.keys)) or 'nothing'}.",
            )
        return Vault(self.keys[name])


def new_compartments(
    names: Iterable[str], compartment_of: Callable[[str], str]
) -> CompartmentVault:
    """Make a new vault with new random keys, every compartment open."""
    keys = {name: secrets.token_bytes(32) for name in names}
    return CompartmentVault(b"", secrets.token_hex(16), keys, compartment_of)


def wrapped_compartments(
    vault: CompartmentVault,
    holders: Iterable[Holder],
    older_header: Mapping[str, Any] | None = None,
) -> JsonObject:
    """The header of a vault: each holder's compartment keys, encrypted only for that holder.

    Args:
        vault: an open vault.
        holders: the people for whom keys are wrapped.
        older_header: an older header; its keys for other people stay.

    Raises:
        InputError: if a compartment of a holder is not open.
    """
    wrapped = {
        holder.person: {
            "person": holder.person,
            "key": holder.key.line,
            "compartments": list(holder.compartments),
            "wrapped": _wrapped(vault, holder),
        }
        for holder in holders
    }
    older = [] if older_header is None else older_header["people"]
    people = {entry["person"]: entry for entry in older} | wrapped
    return {
        "schema": COMPARTMENTS_SCHEMA,
        "opens_with": OPENS_WITH,
        "vault": vault.identity,
        "people": list(people.values()),
    }


def without_holder(header: Mapping[str, Any], person: str) -> JsonObject:
    """The header without the keys of one person."""
    return {**header, "people": [entry for entry in header["people"] if entry["person"] != person]}


def has_compartments(header: Any) -> bool:
    """Whether a header is that of a vault with compartments."""
    return isinstance(header, dict) and header.get("schema") == COMPARTMENTS_SCHEMA


def holders_of(header: Any, where: str) -> list[Holder]:
    """The people for whom a header wraps keys.

    Raises:
        InputError: if it is not the header of a vault with compartments.
    """
    try:
        if header["schema"] != COMPARTMENTS_SCHEMA or not isinstance(header["vault"], str):
            raise ValueError("another schema")
        return [
            Holder(
                str(person["person"]),
                parse_public_key(person["key"]),
                tuple(map(str, person["compartments"])),
            )
            for person in header["people"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError.at(where, "is not a vault that opens with keys of people.") from error


def open_compartments(
    header: Any, key: PrivateKey, where: str, compartment_of: Callable[[str], str]
) -> CompartmentVault:
    """Open the compartments of a vault that a key opens.

    Raises:
        InputError: if nothing is wrapped for this key, or the wrapped keys were changed or are
            those of another vault.
    """
    holders = holders_of(header, where)
    place = next((at for at, holder in enumerate(holders) if holder.key == key.public), None)
    if place is None:
        known = ", ".join(holder.person for holder in holders)
        raise InputError.at(
            where,
            f"wraps nothing for the key {key.public.fingerprint}.",
            f"It opens for the keys of: {known}.",
        )
    try:
        sealed = base64.b64decode(header["people"][place]["wrapped"], validate=True)
        payload = json.loads(decrypted_by(sealed, key, where))
        keys = {str(name): bytes.fromhex(value) for name, value in payload["compartments"].items()}
        is_ours = (payload["vault"], payload["key"]) == (header["vault"], key.public.line)
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise InputError.at(where, "was changed: its wrapped keys cannot be read.") from error
    if not is_ours or set(keys) != set(holders[place].compartments) or _is_short(keys):
        raise InputError.at(
            where, "was changed: its keys were wrapped for another vault or person."
        )
    return CompartmentVault(b"", str(header["vault"]), keys, compartment_of)


def _is_short(keys: Mapping[str, bytes]) -> bool:
    return any(len(key) != 32 for key in keys.values())


def _wrapped(vault: CompartmentVault, holder: Holder) -> str:
    payload = {
        "vault": vault.identity,
        "key": holder.key.line,
        "compartments": {
            name: vault.compartment(name).data_key.hex() for name in holder.compartments
        },
    }
    content = json.dumps(payload, sort_keys=True).encode()
    return base64.b64encode(encrypted_for(content, holder.key)).decode()
