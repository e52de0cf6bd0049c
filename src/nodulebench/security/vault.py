"""Encrypt files by AES-256-GCM under keys that are wrapped for people; encrypt for people by age.

A vault has a random data key for each of its compartments. They are wrapped by age for the SSH keys
of people and stored in ``vault.json``. Files are sealed in segments of 1 MiB by the STREAM
construction (Hoang, Reyhanitabar, Rogaway and Vizár 2015) with keys derived by HKDF: the nonce of a
segment holds its number and whether it is the last, so changed, moved, repeated and cut-off
segments are all rejected.
"""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.optional_packages import needs
from nodulebench.security.keys import PrivateKey, PublicKey, parse_public_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SCHEMA = "nodulebench/vault@2"
SHARED_SECRET_SCHEMA = "nodulebench/vault@1"  # noqa: S105
"""Of vaults that opened with one secret for all people; they are refused."""
OPENS_WITH = "keys of people"
SEGMENT_BYTES = 1 << 20

_MAGIC = b"nodulebench-sealed-1\n"
_TAG_BYTES, _SALT_BYTES, _PREFIX_BYTES = 16, 32, 7


@dataclass(frozen=True, slots=True)
class Holder:
    """A person who may open some compartments."""

    person: str
    key: PublicKey
    compartments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vault:
    """An open vault of compartments; its keys are only in memory."""

    identity: str
    keys: Mapping[str, bytes] = field(repr=False)
    """The data keys of the compartments that the person's key opens."""
    compartment_of: Callable[[str], str] = field(repr=False)
    """Returns the compartment of a name."""

    def data_key(self, compartment: str) -> bytes:
        if compartment not in self.keys:
            what = f"this key does not open the compartment '{compartment}'."
            remedy = f"It opens: {', '.join(sorted(self.keys)) or 'nothing'}."
            raise InputError.at("vault", what, remedy)
        return self.keys[compartment]

    def authenticator(self, content: bytes, purpose: str) -> str:
        """A code for this content that only people with the key of its compartment can make."""
        key = _derived(self.data_key(self.compartment_of(purpose)), purpose)
        return "hmac-sha256:" + hmac.digest(key, content, "sha256").hex()

    def seal(self, plain: bytes, name: str) -> bytes:
        """Encrypt bytes; they can only be opened under the same name."""
        parts = (plain[at : at + SEGMENT_BYTES] for at in range(0, len(plain), SEGMENT_BYTES))
        return b"".join(self._sealed_parts(parts, name))

    def open(self, sealed: bytes, name: str, where: str) -> bytes:
        from cryptography.exceptions import InvalidTag

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
        except InvalidTag as error:
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

    def _cipher(self, name: str, salt: bytes) -> "AESGCM":
        with needs("sign", "a vault"):
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        data_key = self.data_key(self.compartment_of(name))
        return AESGCM(_derived(data_key, f"sealed file {name}", salt))


def _derived(data_key: bytes, purpose: str, salt: bytes = b"") -> bytes:
    """A separate key for one purpose (HKDF with SHA-256, RFC 5869)."""
    extracted = hmac.digest(salt or b"\0" * 32, data_key, "sha256")
    return hmac.digest(extracted, purpose.encode() + b"\1", "sha256")


def _nonce(prefix: bytes, number: int, is_last: bool) -> bytes:
    return prefix + number.to_bytes(4, "big") + bytes([is_last])


def new_vault(compartments: Iterable[str], compartment_of: Callable[[str], str]) -> Vault:
    keys = {name: secrets.token_bytes(32) for name in compartments}
    return Vault(secrets.token_hex(16), keys, compartment_of)


def vault_header(
    vault: Vault, holders: Iterable[Holder], older_header: Mapping[str, Any] | None = None
) -> JsonObject:
    """The header of a vault: each holder's compartment keys, encrypted only for that holder."""
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
        "schema": SCHEMA,
        "opens_with": OPENS_WITH,
        "vault": vault.identity,
        "people": list(people.values()),
    }


def _wrapped(vault: Vault, holder: Holder) -> str:
    payload = {
        "vault": vault.identity,
        "key": holder.key.line,
        "compartments": {name: vault.data_key(name).hex() for name in holder.compartments},
    }
    content = json.dumps(payload, sort_keys=True).encode()
    return base64.b64encode(encrypted_for(content, holder.key)).decode()


def without_holder(header: Mapping[str, Any], person: str) -> JsonObject:
    return {**header, "people": [entry for entry in header["people"] if entry["person"] != person]}


def holders_of(header: Any, where: str) -> list[Holder]:
    try:
        if header["schema"] != SCHEMA or not isinstance(header["vault"], str):
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


def open_vault(
    header: Any, key: PrivateKey, where: str, compartment_of: Callable[[str], str]
) -> Vault:
    holders = holders_of(header, where)
    place = next((at for at, holder in enumerate(holders) if holder.key == key.public), None)
    if place is None:
        known = ", ".join(holder.person for holder in holders)
        what = f"wraps nothing for the key {key.public.fingerprint}."
        raise InputError.at(where, what, f"It opens for the keys of: {known}.")
    try:
        sealed = base64.b64decode(header["people"][place]["wrapped"], validate=True)
        payload = json.loads(decrypted_by(sealed, key, where))
        keys = {str(name): bytes.fromhex(value) for name, value in payload["compartments"].items()}
        is_ours = (payload["vault"], payload["key"]) == (header["vault"], key.public.line)
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise InputError.at(where, "was changed: its wrapped keys cannot be read.") from error
    is_whole = all(len(data_key) == 32 for data_key in keys.values())
    if not is_ours or set(keys) != set(holders[place].compartments) or not is_whole:
        raise InputError.at(
            where, "was changed: its keys were wrapped for another vault or person."
        )
    return Vault(str(header["vault"]), keys, compartment_of)


def encrypted_for(content: bytes, *keys: PublicKey) -> bytes:
    with needs("keys", "keys of people"):
        import pyrage
    owners = [pyrage.ssh.Recipient.from_str(key.line) for key in keys]
    return bytes(pyrage.encrypt(content, owners))


def decrypted_by(sealed: bytes, key: PrivateKey, where: str, remedy: str = "") -> bytes:
    with needs("keys", "keys of people"):
        import pyrage
    try:
        return bytes(pyrage.decrypt(sealed, [pyrage.ssh.Identity.from_buffer(key.opened_pem())]))
    except pyrage.DecryptError as error:
        what = "does not open with this key: its content was changed or is for another key."
        raise InputError.at(where, what, remedy) from error
