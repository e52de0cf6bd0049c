"""Secret + policy -> the vault of a set that is being sealed, who seals it, and how it is kept."""

import json
from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError, Problem
from nodulebench.custody import layout
from nodulebench.custody.people import PolicySeal
from nodulebench.custody.policy import CustodyPolicy
from nodulebench.custody.roles import ROOMS, rooms_of
from nodulebench.custody.state import opened_vault, vault_seal
from nodulebench.io.durable import replace_whole
from nodulebench.io.json_files import read_json
from nodulebench.security.event_log.signers import Seal
from nodulebench.security.keys import parse_public_key
from nodulebench.security.rooms import Holder, holders_of, is_roomed, new_rooms, wrapped_rooms
from nodulebench.security.vault import Secret, Vault, create_vault

STORAGE = (
    "Reference and all other tables encrypted with AES-256-GCM; images {images}; every file "
    "listed with its SHA-256; the list signed with Ed25519; a hash-chained log of every use. {keys}"
)
WITH_KEYS = (
    "Each person has a key of their own, which signs what they do and opens what their role needs."
)
WITHOUT_KEYS = (
    "One secret opens everything for everybody: the log's names are as given by those who share "
    "it, and any of them can decrypt the reference without a trace."
)


def storage_words(policy: CustodyPolicy, *, encrypts_images: bool) -> str:
    """How a set is kept, for its datasheet: what is protected, and what is not."""
    return STORAGE.format(
        images="encrypted as well" if encrypts_images else "in plain form",
        keys=WITH_KEYS if policy.has_keys else WITHOUT_KEYS,
    )


def sealer(policy: CustodyPolicy, secret: Secret, named: str, where: str) -> str:
    """Who seals: by their key where the policy knows keys, else by their word.

    Raises:
        InputError: if the key is nobody's in the policy, or somebody else's.
    """
    key = secret.key
    if key is None:
        if policy.has_keys:
            raise InputError.at(
                where,
                "names people's keys, and no such key was given.",
                "Give your own with --key, and neither --vault-key nor --passphrase-file.",
            )
        return named
    person = next((one.name for one in policy.people if one.key == key.public.line), None)
    if person is None:
        what = f"knows nobody with the key {key.public.fingerprint}."
        raise InputError.at(where, what, f'Write there: key = "{key.public.line}"')
    if named and named != person:
        raise InputError.at("key", f"is that of '{person}', who cannot act as '{named}'.")
    return person


def log_seal(secret: Secret, policy: CustodyPolicy, vault: Vault) -> Seal:
    """What makes the codes of a set's first events."""
    return PolicySeal(policy, secret.key) if policy.has_keys else vault_seal(vault)


def vault_of(stage: Path, secret: Secret, policy: CustodyPolicy) -> Vault:
    """The vault that an interrupted run began, or a new one.

    Raises:
        InputError: if that run had another secret, or wrapped keys for others.
    """
    path = stage / layout.VAULT
    if not path.is_file():
        vault, header = _new_vault(secret, policy)
        replace_whole(path, (json.dumps(header, indent=1, ensure_ascii=False) + "\n").encode())
        return vault
    try:
        header = read_json(path)
        if is_roomed(header) and holders_of(header, str(path)) != holders(policy):
            raise InputError.at(path, "is wrapped for others than the policy now names.")
        return opened_vault(header, secret, str(path))
    except InputError as error:
        raise InputError(
            [
                *error.problems,
                Problem(
                    str(stage),
                    "was left by an interrupted run with another secret.",
                    "Give the same secret, or remove that folder to begin anew.",
                ),
            ]
        ) from error


def holders(policy: CustodyPolicy) -> list[Holder]:
    """For whom a set's keys are wrapped: everybody with a key, as far as their roles need."""
    return [
        Holder(one.name, parse_public_key(one.key), rooms_of(one.roles))
        for one in policy.people
        if one.key
    ]


def _new_vault(secret: Secret, policy: CustodyPolicy) -> tuple[Vault, dict[str, Any]]:
    if secret.key is None:
        return create_vault(secret)
    vault = new_rooms(ROOMS, layout.room_of)
    return vault, wrapped_rooms(vault, holders(policy))
