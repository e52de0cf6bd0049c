"""Data keys + who shall have which -> the header of a vault, each person's keys wrapped by age.

A vault of rooms has one random key for each room. What a person may open is encrypted, as an age
file, for that person's OpenSSH key: ``age -d -i KEY`` opens it too.
"""

import base64
import binascii
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nodulebench.core.errors import InputError
from nodulebench.security.age_file import decrypted_by, encrypted_for
from nodulebench.security.keys import PrivateKey, PublicKey, parse_public_key
from nodulebench.security.vault import Vault

SCHEMA = "nodulebench/vault@2"
OPENS_WITH = "keys of people"


@dataclass(frozen=True, slots=True)
class Holder:
    """Somebody who shall be able to open some rooms."""

    person: str
    key: PublicKey
    rooms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoomVault(Vault):
    """A vault of rooms, open as far as somebody's key opens it; a name tells its room.

    It seals and opens as any vault does.
    """

    identity: str
    keys: Mapping[str, bytes] = field(repr=False)
    room_of: Callable[[str], str] = field(repr=False)

    def key_for(self, purpose: str, salt: bytes = b"") -> bytes:
        """A key of its own for one purpose, made of the key of the room where it belongs."""
        return self.room(self.room_of(purpose)).key_for(purpose, salt)

    def _cipher(self, name: str, salt: bytes) -> Any:
        return self.room(self.room_of(name))._cipher(name, salt)

    def room(self, name: str) -> Vault:
        """One room.

        Raises:
            InputError: if the key does not open it.
        """
        if name not in self.keys:
            raise InputError.at(
                "vault",
                f"this key does not open what lies in '{name}'.",
                f"It opens: {', '.join(sorted(self.keys)) or 'nothing'}.",
            )
        return Vault(self.keys[name])


def new_rooms(names: Iterable[str], room_of: Callable[[str], str]) -> RoomVault:
    """A new vault, every room open, with new random keys."""
    keys = {name: secrets.token_bytes(32) for name in names}
    return RoomVault(b"", secrets.token_hex(16), keys, room_of)


def wrapped_rooms(
    vault: RoomVault, holders: Iterable[Holder], kept: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The header of a vault: for each holder, their rooms' keys, encrypted for them alone.

    Args:
        vault: an open vault.
        holders: those for whom keys are wrapped.
        kept: an older header; what it wraps for others stays as it is.

    Raises:
        InputError: if the vault is not open as far as a holder shall open it.
    """
    wrapped = {
        one.person: {
            "person": one.person,
            "key": one.key.line,
            "rooms": list(one.rooms),
            "wrapped": _wrapped(vault, one),
        }
        for one in holders
    }
    older = [] if kept is None else kept["people"]
    people = {one["person"]: one for one in older} | wrapped
    return {
        "schema": SCHEMA,
        "opens_with": OPENS_WITH,
        "vault": vault.identity,
        "people": list(people.values()),
    }


def without_holder(header: Mapping[str, Any], person: str) -> dict[str, Any]:
    """A header that wraps nothing for somebody any more."""
    return {**header, "people": [one for one in header["people"] if one["person"] != person]}


def is_roomed(header: Any) -> bool:
    """Whether a header is that of a vault of rooms."""
    return isinstance(header, dict) and header.get("schema") == SCHEMA


def holders_of(header: Any, where: str) -> list[Holder]:
    """Those for whom a header wraps keys.

    Raises:
        InputError: if it is no header of a vault of rooms.
    """
    try:
        if header["schema"] != SCHEMA or not isinstance(header["vault"], str):
            raise ValueError("another schema")
        return [
            Holder(str(one["person"]), parse_public_key(one["key"]), tuple(map(str, one["rooms"])))
            for one in header["people"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError.at(where, "is no vault that opens with keys of people.") from error


def open_rooms(
    header: Any, key: PrivateKey, where: str, room_of: Callable[[str], str]
) -> RoomVault:
    """Open a vault as far as a key opens it.

    Raises:
        InputError: if nothing is wrapped for this key, or what is wrapped was changed or is not
            this vault's.
    """
    holders = holders_of(header, where)
    place = next((at for at, one in enumerate(holders) if one.key == key.public), None)
    if place is None:
        known = ", ".join(one.person for one in holders)
        raise InputError.at(
            where,
            f"wraps nothing for the key {key.public.fingerprint}.",
            f"It opens for the keys of: {known}.",
        )
    try:
        sealed = base64.b64decode(header["people"][place]["wrapped"], validate=True)
        payload = json.loads(decrypted_by(sealed, key, where))
        keys = {str(name): bytes.fromhex(value) for name, value in payload["rooms"].items()}
        is_ours = (payload["vault"], payload["key"]) == (header["vault"], key.public.line)
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise InputError.at(where, "was changed: what it wraps cannot be read.") from error
    if not is_ours or set(keys) != set(holders[place].rooms) or _is_short(keys):
        raise InputError.at(where, "was changed: what it wraps was wrapped for something else.")
    return RoomVault(b"", str(header["vault"]), keys, room_of)


def _is_short(keys: Mapping[str, bytes]) -> bool:
    return any(len(key) != 32 for key in keys.values())


def _wrapped(vault: RoomVault, holder: Holder) -> str:
    payload = {
        "vault": vault.identity,
        "key": holder.key.line,
        "rooms": {name: vault.room(name).data_key.hex() for name in holder.rooms},
    }
    content = json.dumps(payload, sort_keys=True).encode()
    return base64.b64encode(encrypted_for(content, holder.key)).decode()
